"""Device selectors in words: `device.attributes['x'].model.contains('A100')` → model contains `A100`.

Forms that people and the compiler write are told; anything else is shown as the CEL that it is.
"""

from __future__ import annotations

from typing import Final

from policygen.cel.ast import Call, Expr, Ident, ListExpr, Literal, Select
from policygen.cel.errors import CompileError
from policygen.cel.macros import STANDARD, table
from policygen.cel.parser import parse
from policygen.cel.values import to_json

_COMPARISONS: Final = {
    "_==_": "is",
    "_!=_": "is not",
    "_>=_": "is at least",
    "_>_": "is more than",
    "_<=_": "is at most",
    "_<_": "is less than",
}
_OPPOSITE: Final = {
    "_==_": "_!=_",
    "_!=_": "_==_",
    "_>=_": "_<_",
    "_<_": "_>=_",
    "_>_": "_<=_",
    "_<=_": "_>_",
}
_TEXTS: Final = {
    "contains": "contains",
    "startsWith": "starts with",
    "endsWith": "ends with",
    "matches": "matches",
}


def tell(selector: str) -> list[str]:
    """The conditions of a selector, all of which must hold; the selector itself where it cannot be told."""
    flat = " ".join(selector.split())
    try:
        expr = parse(selector, table(STANDARD)).expr
        told = _all(expr)
    except (CompileError, _Untold):
        return [f"`{flat}`"]
    return list(dict.fromkeys(told)) or ["any device"]


class _Untold(Exception):  # noqa: N818 - not an error: the selector is shown as it is
    pass


def _all(expr: Expr) -> list[str]:
    """The parts of a conjunction; a guard of a name that another part tests adds nothing."""
    parts = list(_conjuncts(expr))
    tested = {name for part in parts if not _is_guard(part) for name in _names(part)}
    return [_one(part) for part in parts if not (_is_guard(part) and set(_names(part)) <= tested)]


def _conjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == "_&&_":
        return [part for side in expr.args for part in _conjuncts(side)]
    return [expr]


def _is_guard(expr: Expr) -> bool:
    """`has(device.attributes['x'].y)`, or `'x' in device.attributes`."""
    if isinstance(expr, Select) and expr.test_only:
        return True
    return isinstance(expr, Call) and expr.function == "@in" and _is_device_map(expr.args[1])


def _is_device_map(expr: Expr) -> bool:
    return (
        isinstance(expr, Select)
        and expr.field in ("attributes", "capacity")
        and isinstance(expr.operand, Ident)
        and expr.operand.name == "device"
    )


def _names(expr: Expr) -> list[str]:
    """What a part reads, by the last names."""
    name = _place(expr)
    if name is not None:
        return [name]
    if isinstance(expr, Call):
        if expr.function == "@in" and _is_device_map(expr.args[1]):
            return []
        sides = (*((expr.target,) if expr.target is not None else ()), *expr.args)
        return [name for side in sides for name in _names(side)]
    return []


def _place(expr: Expr) -> str | None:
    """The name of an attribute or a capacity, or `driver`."""
    if not isinstance(expr, Select):
        return None
    inner = expr.operand
    if isinstance(inner, Call) and inner.function == "_[_]" and _is_device_map(inner.args[0]):
        return expr.field
    if isinstance(inner, Ident) and inner.name == "device" and expr.field not in ("attributes", "capacity"):
        return expr.field
    return None


def _one(expr: Expr) -> str:
    match expr:
        case Select(test_only=True):
            return f"has `{_named(expr)}`"
        case Select():
            return f"{_named(expr)} is true"
        case Call(function="!_", args=(Call(function=function) as inner,)) if function in _OPPOSITE:
            opposite = Call(inner.id, _OPPOSITE[function], inner.args, inner.target)
            return _comparison(opposite)
        case Call(function="!_", args=(Select(test_only=True) as inner,)):
            return f"has no `{_named(inner)}`"
        case Call(function="!_", args=(inner,)):
            return f"not: {_one(inner)}"
        case Call(function="_||_"):
            return " or ".join(_one(side) for side in _disjuncts(expr))
        case Call(function="_&&_"):
            return " and ".join(_all(expr))
        case Call(function="@in", args=(left, ListExpr(elements=elements))):
            return f"{_named(left)} is one of {', '.join(_literal(item) for item in elements)}"
        case Call(function=function, target=target, args=(argument,)) if function in _TEXTS and target:
            return f"{_named(target)} {_TEXTS[function]} {_literal(argument)}"
        case Call(function=function) if function in _COMPARISONS:
            return _comparison(expr)
        case _:
            raise _Untold


def _disjuncts(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.function == "_||_":
        return [part for side in expr.args for part in _disjuncts(side)]
    return [expr]


def _comparison(expr: Call) -> str:
    """`x == 'a'`, `x.compareTo(quantity('80Gi')) >= 0`, `x.isGreaterThan(…)` is not told."""
    left, right = expr.args
    if isinstance(left, Call) and left.function == "compareTo" and left.target is not None:
        if isinstance(right, Literal) and right.value == 0 and len(left.args) == 1:
            return f"{_named(left.target)} {_COMPARISONS[expr.function]} {_literal(left.args[0])}"
        raise _Untold
    return f"{_named(left)} {_COMPARISONS[expr.function]} {_literal(right)}"


def _named(expr: Expr) -> str:
    name = _place(expr)
    if name is None:
        raise _Untold
    return name


def _literal(expr: Expr) -> str:
    if isinstance(expr, Literal):
        shown = to_json(expr.value)
        return f"`{shown if isinstance(shown, str) else str(shown).lower()}`"
    if isinstance(expr, Call) and expr.function in ("quantity", "semver") and len(expr.args) >= 1:
        return _literal(expr.args[0])
    raise _Untold
