"""`format` and `strings.quote` (cel-go `ext/strings.go` from its version 1 on, `ext/formatting.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import first_text_cost
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import CostLimitExceededError, EvalError
from policygen.cel.goformat import ACCEPTED, Clause, FormatError, fixed, interpolate, refusal, scientific
from policygen.cel.gotext import parse_double
from policygen.cel.lib.conversions import string_of
from policygen.cel.values import Duration, Timestamp, Value, type_name
from policygen.kube.gotext import quote as go_quote

_QUOTED: Final = str.maketrans({
    "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\v": "\\v",
    "\\": "\\\\", '"': '\\"',
})  # fmt: skip
_DEEPEST = 100
_LONGEST: Final = 1 << 22
"""Characters of a list or map: more than the largest object has."""


def format_text(text: str, args: Sequence[Value]) -> str:
    """The text with its clauses replaced by the arguments."""

    def write(index: int, clause: Clause) -> str:
        return _written(args[index], clause)

    try:
        return interpolate(text, len(args), write)
    except FormatError as error:
        raise EvalError(str(error)) from None


def _written(value: Value, clause: Clause) -> str:
    name = type_name(value)
    if name not in ACCEPTED[clause.verb]:
        raise refusal(clause, name)
    match clause.verb:
        case "s":
            return _text(value, 0)
        case "d":
            return str(int(value))
        case "f" | "e":
            number = _double(value, clause)
            return (
                fixed(number, clause.precision)
                if clause.verb == "f"
                else scientific(number, clause.precision)
            )
        case "x" | "X":
            return _hex(value, clause.verb)
        case verb:
            return format(int(value), verb)


def _double(value: Value, clause: Clause) -> float:
    if type(value) is str:
        number = parse_double(value) if value in ("NaN", "Infinity", "-Infinity") else None
        if number is None:
            raise refusal(clause, "string")
        return number
    return float(value)


def _hex(value: Value, verb: str) -> str:
    if isinstance(value, int):
        return format(int(value), verb)
    data = value.encode("utf-8", "replace") if isinstance(value, str) else bytes(value)
    return data.hex().upper() if verb == "X" else data.hex()


def _text(value: Value, depth: int) -> str:
    """The `%s` form: what `string` gives, lists and maps as CEL literals."""
    if depth > _DEEPEST:
        raise FormatError("error during formatting: value is nested too deeply")
    if isinstance(value, list):
        return _bounded(f"[{', '.join(_literal(item, depth + 1) for item in value)}]")
    if isinstance(value, Mapping):
        pairs = [(_key(key), _literal(item, depth + 1)) for key, item in value.items()]
        pairs.sort(key=lambda pair: pair[0])
        return _bounded(f"{{{', '.join(f'{key}:{item}' for key, item in pairs)}}}")
    if value is None:
        return "null"
    text = string_of(value)
    if text is None:
        raise refusal(Clause("s", None), type_name(value))
    return text


def _bounded(text: str) -> str:
    """The text, unless it only grows because the same lists stand in each other many times."""
    if len(text) > _LONGEST:
        raise CostLimitExceededError
    return text


def _key(key: Value) -> str:
    match key:
        case str():
            return go_quote(key)
        case bool():
            return "true" if key else "false"
        case int():
            return str(int(key))
        case _:
            raise FormatError(
                f"error during formatting: no formatting function for map key of type {type_name(key)}"
            )


def _literal(value: Value, depth: int) -> str:
    """A value inside a list or map."""
    match value:
        case str():
            return go_quote(value)
        case bytes():
            return f"b{go_quote(_text(value, depth))}"
        case float():
            return _literal_double(value)
        case Timestamp():
            return f"timestamp({go_quote(_text(value, depth))})"
        case Duration():
            return f"duration({go_quote(_text(value, depth))})"
        case _ if type_name(value) not in ACCEPTED["s"]:
            raise FormatError(f"error during formatting: no formatting function for {type_name(value)}")
        case _:
            return _text(value, depth)


def _literal_double(value: float) -> str:
    if value != value:  # noqa: PLR0124
        return '"NaN"'
    if value in (float("inf"), float("-inf")):
        return '"+Inf"' if value > 0 else '"-Inf"'
    return f"{value:.6f}"


def quote(text: str) -> str:
    """The text in double quotes, with CEL's escapes."""
    return f'"{text.encode("utf-8", "replace").decode().translate(_QUOTED)}"'


def _estimate_quote(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(0.1), size * Range(1, 2) + Range(2, 2))


def _estimate_format(args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(args[0].size_or_any.scaled(0.1))


FUNCTIONS: Final = (
    FunctionDecl(
        "format",
        (
            Overload(
                "string_format",
                (types.STRING, types.LIST_DYN),
                types.STRING,
                format_text,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_format,
                doc="the text with `%s`, `%d`, `%f`, `%e`, `%b`, `%o`, `%x`, `%X` filled from a list",
                examples=(
                    Example("'%s has %d'.format(['a', 2]) == 'a has 2'"),
                    Example("'%.2f'.format([1.005]) == '1.00'"),
                    Example("'%s'.format([{'b': [1.5, null]}]) == '{\"b\":[1.500000, null]}'"),
                    Example("'100%% %x'.format([255]) == '100% ff'"),
                    Example(
                        "'%d'.format(['x'])",
                        error="decimal clause can only be used on integers, was given string",
                    ),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "strings.quote",
        (
            Overload(
                "strings_quote",
                (types.STRING,),
                types.STRING,
                quote,
                cost=first_text_cost,
                estimate=_estimate_quote,
                doc="the text in double quotes, with escapes as CEL reads them",
                examples=(Example("strings.quote('a\"b\\n') == '\"a\\\\\"b\\\\n\"'"),),
            ),
        ),
    ),
)
