"""Changes of expressions that a suite ought to notice, one at a time.

Operators work on the expression as it was written (macros are not expanded): guards are dropped, conditions
negated, paths swapped, constants changed; whole mutations and match conditions are dropped from a policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from policygen.admission.policy import NamedExpression, Policy
from policygen.cel import parser
from policygen.cel.ast import (
    Call,
    Entry,
    Expr,
    FieldInit,
    ListExpr,
    Literal,
    MapExpr,
    Parsed,
    Select,
    StructExpr,
)
from policygen.cel.unparse import unparse

_SWAPPED_CALLS = {
    "_==_": "_!=_",
    "_!=_": "_==_",
    "_<_": "_>=_",
    "_>=_": "_<_",
    "_>_": "_<=_",
    "_<=_": "_>_",
    "_&&_": "_||_",
    "_||_": "_&&_",
    "exists": "all",
    "all": "exists",
}
_SWAPPED_FIELDS = {
    "annotations": "labels",
    "claims": "limits",
    "containers": "initContainers",
    "env": "envFrom",
    "initContainers": "containers",
    "labels": "annotations",
    "limits": "requests",
    "nodeSelector": "tolerations",
    "podAffinity": "podAntiAffinity",
    "podAntiAffinity": "podAffinity",
    "requests": "limits",
    "tolerations": "volumes",
    "volumeMounts": "volumeDevices",
    "volumes": "tolerations",
}
_BINDING = frozenset(
    {"all", "exists", "exists_one", "filter", "map", "transformList", "transformMap", "transformMapEntry"}
)
"""Macros whose first argument is the name of a variable."""


@dataclass(frozen=True)
class Mutant:
    """A policy with one change; `title` says which."""

    title: str
    policy: Policy


def mutants(policy: Policy) -> Iterator[Mutant]:
    """Every change of a policy by every operator."""
    for index, mutation in enumerate(policy.mutations):
        if len(policy.mutations) > 1:
            rest = (*policy.mutations[:index], *policy.mutations[index + 1 :])
            yield Mutant(f"mutation {index} dropped", replace(policy, mutations=rest))
        for title, text in changes(mutation.expression):
            changed = replace(mutation, expression=text)
            rest = (*policy.mutations[:index], changed, *policy.mutations[index + 1 :])
            yield Mutant(f"mutation {index}: {title}", replace(policy, mutations=rest))
    for index, condition in enumerate(policy.conditions):
        rest = (*policy.conditions[:index], *policy.conditions[index + 1 :])
        yield Mutant(f"condition {condition.name} dropped", replace(policy, conditions=rest))
    yield from _named(policy, policy.conditions, lambda items: replace(policy, conditions=items))
    yield from _named(policy, policy.variables, lambda items: replace(policy, variables=items))
    for index, validation in enumerate(policy.validations):
        for key in ("expression", "message_expression"):
            for title, text in changes(getattr(validation, key)):
                changed = replace(validation, **{key: text})
                rest = (*policy.validations[:index], changed, *policy.validations[index + 1 :])
                yield Mutant(f"validation {index}: {title}", replace(policy, validations=rest))


def _named(
    policy: Policy,
    items: tuple[NamedExpression, ...],
    put: Callable[[tuple[NamedExpression, ...]], Policy],
) -> Iterator[Mutant]:
    for index, item in enumerate(items):
        for title, text in changes(item.expression):
            changed = replace(item, expression=text)
            yield Mutant(f"{item.name}: {title}", put((*items[:index], changed, *items[index + 1 :])))


def changes(text: str) -> Iterator[tuple[str, str]]:
    """(what was done, new text) for every change of one expression."""
    if not text:
        return
    parsed = parser.parse(text, {}, optional_syntax=True)
    for title, expr in _everywhere(parsed.expr):
        yield title, unparse(Parsed(expr, parsed.info, parsed.depth + 2))


def _everywhere(expr: Expr) -> Iterator[tuple[str, Expr]]:
    """The tree with one of its nodes changed."""
    yield from _here(expr)
    match expr:
        case Select(operand=operand):
            for title, below in _everywhere(operand):
                yield title, replace(expr, operand=below)
        case Call():
            yield from _inside(expr)
        case ListExpr(elements=elements):
            for title, changed in _one_of(elements, _everywhere):
                yield title, replace(expr, elements=changed)
        case MapExpr(entries=entries):
            for title, changed in _one_of(entries, _entries):
                yield title, replace(expr, entries=changed)
        case StructExpr(fields=fields):
            for title, changed in _one_of(fields, _fields):
                yield title, replace(expr, fields=changed)
        case _:
            return


def _one_of(
    items: tuple[Any, ...], change: Callable[[Any], Iterator[tuple[str, Any]]]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The items with one of them changed."""
    for index, item in enumerate(items):
        for title, changed in change(item):
            yield title, (*items[:index], changed, *items[index + 1 :])


def _inside(call: Call) -> Iterator[tuple[str, Expr]]:
    if call.target is not None:
        for title, below in _everywhere(call.target):
            yield title, replace(call, target=below)
    if call.function == "_?._":
        args, kept = call.args[:1], call.args[1:]
        for title, changed in _one_of(args, _everywhere):
            yield title, replace(call, args=(*changed, *kept))
        return
    bound = 1 if call.function in _BINDING and call.target is not None else 0
    for title, changed in _one_of(call.args[bound:], _everywhere):
        yield title, replace(call, args=(*call.args[:bound], *changed))


def _fields(init: FieldInit) -> Iterator[tuple[str, FieldInit]]:
    for title, below in _everywhere(init.value):
        yield title, replace(init, value=below)


def _entries(entry: Entry) -> Iterator[tuple[str, Entry]]:
    for title, below in _everywhere(entry.value):
        yield title, replace(entry, value=below)
    for title, below in _everywhere(entry.key):
        yield title, replace(entry, key=below)


def _here(expr: Expr) -> Iterator[tuple[str, Expr]]:
    match expr:
        case Literal(value=bool() as value):
            yield f"{value} changed", replace(expr, value=not value)
        case Literal(value=int() as value):
            yield f"{value} changed", replace(expr, value=value + 1)
        case Literal(value=str() as value):
            yield f"'{value}' changed", replace(expr, value=f"{value}x")
        case Select(field=field) if field in _SWAPPED_FIELDS:
            yield f".{field} swapped", replace(expr, field=_SWAPPED_FIELDS[field])
        case Call():
            yield from _calls(expr)
        case _:
            return


def _calls(call: Call) -> Iterator[tuple[str, Expr]]:
    args: tuple[Any, ...] = call.args
    match call.function:
        case "_&&_" | "_||_":
            yield f"left of {call.function} alone", args[0]
            yield f"right of {call.function} alone", args[1]
        case "!_":
            yield "negation dropped", args[0]
        case "_?:_":
            yield "condition negated", replace(call, args=(Call(call.id, "!_", (args[0],)), *args[1:]))
            yield "first arm alone", args[1]
            yield "second arm alone", args[2]
        case "_+_":
            yield "left of + alone", args[0]
            yield "right of + alone", args[1]
        case "filter" if call.target is not None and len(args) == 2:
            yield "filter dropped", call.target
        case "_?._":
            if isinstance(args[1], Literal) and args[1].value in _SWAPPED_FIELDS:
                other = replace(args[1], value=_SWAPPED_FIELDS[args[1].value])
                yield f".?{args[1].value} swapped", replace(call, args=(args[0], other))
        case "@in":
            yield "in negated", Call(call.id, "!_", (call,))
        case _:
            pass
    if call.function in _SWAPPED_CALLS:
        other = _SWAPPED_CALLS[call.function]
        yield f"{call.function} turned into {other}", replace(call, function=other)
