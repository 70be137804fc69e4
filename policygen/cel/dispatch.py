"""Which binding a call runs: cel-go's type guards (`common/decls`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from policygen.cel.decls import Cost, FunctionDecl, Overload
from policygen.cel.errors import NoSuchOverloadError
from policygen.cel.types import Type
from policygen.cel.values import Value, type_name


def binding(function: FunctionDecl, overloads: Sequence[Overload]) -> Callable[..., Any]:
    """A function that runs the first overload whose parameters fit the values."""
    if function.bind is not None:
        return function.bind
    if len(overloads) == 1 and all(param.kind in {"dyn", "param"} for param in overloads[0].params):
        bind = overloads[0].bind
        assert bind is not None, f"{overloads[0].id} has no binding"
        return bind
    candidates = tuple(overload for overload in overloads if overload.bind is not None)

    def dispatch(*args: Value) -> Value:
        for overload in candidates:
            if fits_all(overload.params, args):
                assert overload.bind is not None
                return overload.bind(*args)
        shown = ", ".join(map(type_name, args))
        raise NoSuchOverloadError(f"no such overload: {function.name}({shown})")

    return dispatch


def call_cost(function: FunctionDecl, overloads: Sequence[Overload]) -> Cost:
    """The cost of a call of one of several overloads."""
    if len(overloads) == 1:
        return overloads[0].cost
    if function.cost is not None:
        return function.cost
    first = overloads[0].cost if overloads else 1
    return first if all(overload.cost == first for overload in overloads) else 1


def fits_all(params: Sequence[Type], args: Sequence[Value]) -> bool:
    """Whether each value fits its parameter."""
    return len(params) == len(args) and all(map(fits, params, args))


def fits(param: Type, value: Value) -> bool:
    """Whether a value has a type; lists and maps are judged by their first element."""
    kind = param.kind
    if kind in {"dyn", "any", "param"}:
        return True
    if kind == "list":
        return isinstance(value, list) and (not value or fits(param.params[0], value[0]))
    if kind == "map":
        if not isinstance(value, Mapping):
            return False
        for key in value:
            return fits(param.params[0], key) and fits(param.params[1], value[key])
        return True
    if kind == "wrapper":
        return value is None or fits(param.params[0], value)
    return type_name(value) == param.name
