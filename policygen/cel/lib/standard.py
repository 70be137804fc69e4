"""CEL's standard functions: conversions, `size`, texts, times (cel-go `common/stdlib/standard.go`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import contains_cost, first_text_cost, regex_cost
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.lib import conversions, times
from policygen.cel.values import Value

_A, _B = types.param("A"), types.param("B")


def size(value: Value) -> int:
    """Characters, bytes, elements or entries."""
    if isinstance(value, (str, bytes, list, Mapping)):
        return len(value)
    raise NoSuchOverloadError("no such overload: size")


def contains(text: Value, part: Value) -> bool:
    """Whether a text holds another."""
    if type(text) is str and type(part) is str:
        return part in text
    raise NoSuchOverloadError


def starts_with(text: Value, prefix: Value) -> bool:
    """Whether a text begins with another."""
    if type(text) is str and type(prefix) is str:
        return text.startswith(prefix)
    raise NoSuchOverloadError


def ends_with(text: Value, suffix: Value) -> bool:
    """Whether a text ends with another."""
    if type(text) is str and type(suffix) is str:
        return text.endswith(suffix)
    raise NoSuchOverloadError


def matches(text: Value, pattern: Value) -> bool:
    """Whether a regular expression matches anywhere in a text."""
    if type(text) is not str:
        raise NoSuchOverloadError("no such overload: matches")
    if type(pattern) is not str:
        raise NoSuchOverloadError
    from policygen.cel.goregex import RegexError
    from policygen.cel.goregex_match import compile_regex

    try:
        return compile_regex(pattern).matches(text)
    except RegexError as error:
        raise EvalError(str(error)) from None


def _estimate_affix(args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(args[1].size_or_any.scaled(0.1))


def _estimate_contains(args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(args[0].size_or_any.scaled(0.1) * args[1].size_or_any.scaled(0.1))


def estimate_regex(args: Sequence[Estimated]) -> CallEstimate:
    """The static cost of matching a text against a pattern."""
    text = (args[0].size_or_any + Range(1, 1)).scaled(0.1)
    return CallEstimate(text * args[1].size_or_any.scaled(0.25))


_SIZED: Final = (
    ("bytes", types.BYTES),
    ("list", types.list_of(_A)),
    ("map", types.map_of(_A, _B)),
    ("string", types.STRING),
)
_SIZE_DOC = "the number of characters, bytes, elements or entries"

FUNCTIONS: Final = (
    *conversions.FUNCTIONS,
    FunctionDecl(
        "size",
        tuple(
            Overload(
                f"{prefix}size_{name}" if not prefix else f"{name}_size",
                (kind,),
                types.INT,
                size,
                member=bool(prefix),
                doc=_SIZE_DOC,
                examples=(Example("size('é') == 1"), Example("[1, 2].size() == 2"))
                if name == "bytes"
                else (),
            )
            for name, kind in _SIZED
            for prefix in ("", "member_")
        ),
        bind=size,
        doc=_SIZE_DOC,
    ),
    FunctionDecl(
        "contains",
        (
            Overload(
                "contains_string",
                (types.STRING, types.STRING),
                types.BOOL,
                contains,
                member=True,
                cost=contains_cost,
                estimate=_estimate_contains,
                doc="whether a text holds another",
                examples=(Example("'hello'.contains('ell')"),),
            ),
        ),
        bind=contains,
    ),
    FunctionDecl(
        "startsWith",
        (
            Overload(
                "starts_with_string",
                (types.STRING, types.STRING),
                types.BOOL,
                starts_with,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_affix,
                doc="whether a text begins with another",
                examples=(Example("'hello'.startsWith('he')"),),
            ),
        ),
        bind=starts_with,
    ),
    FunctionDecl(
        "endsWith",
        (
            Overload(
                "ends_with_string",
                (types.STRING, types.STRING),
                types.BOOL,
                ends_with,
                member=True,
                cost=first_text_cost,
                estimate=_estimate_affix,
                doc="whether a text ends with another",
                examples=(Example("'hello'.endsWith('lo')"),),
            ),
        ),
        bind=ends_with,
    ),
    FunctionDecl(
        "matches",
        (
            Overload(
                "matches",
                (types.STRING, types.STRING),
                types.BOOL,
                matches,
                doc="whether a regular expression of Go's syntax matches anywhere in a text",
                examples=(Example("matches('foobar', 'o+')"), Example("!'foobar'.matches('^o+$')")),
            ),
            Overload(
                "matches_string",
                (types.STRING, types.STRING),
                types.BOOL,
                matches,
                member=True,
                cost=regex_cost,
                estimate=estimate_regex,
            ),
        ),
        bind=matches,
    ),
    *times.FUNCTIONS,
)
