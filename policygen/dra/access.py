"""Which attributes and capacities a selector reads, how, and under which conditions.

Works on the parsed tree alone, so that it also serves expressions that do not compile. A read is *guarded*
when the expression can only matter where the value is there: CEL's `&&` and `||` absorb an error of one side
when the other decides, in either order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Literal as OneOf

from policygen.cel import macros
from policygen.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    Literal,
    Parsed,
    Select,
    children,
)
from policygen.cel.errors import CompileError
from policygen.cel.parser import MacroTable, parse

Kind = OneOf["attributes", "capacity"]
Mode = OneOf["plain", "optional", "test"]


@dataclass(frozen=True, slots=True)
class Name:
    """A domain, or a name in one, of a device's attributes or capacities."""

    kind: Kind
    domain: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What holds where an expression stands: names that are there, attributes with known values."""

    present: frozenset[Name] = frozenset()
    values: tuple[tuple[Name, str], ...] = ()

    def __or__(self, other: Facts) -> Facts:
        return Facts(self.present | other.present, self.values + other.values)


NO_FACTS = Facts()


@dataclass(frozen=True, slots=True)
class Access:
    """One read. `start` and `end` are offsets in the expression; `parent` is the call around it, if any."""

    name: Name
    mode: Mode
    start: int
    end: int
    facts: Facts = NO_FACTS
    parent: Expr | None = None
    node: Expr | None = None

    @property
    def is_guarded(self) -> bool:
        """Whether nothing fails when the value is not there."""
        return self.mode != "plain" or self.name in self.facts.present


@cache
def device_macros() -> MacroTable:
    """The macros of DRA selectors."""
    every = (*macros.STANDARD, *macros.OPTIONAL, *macros.TWO_VARIABLES, *macros.SORT_BY, *macros.BIND)
    return macros.table(every)


def parse_selector(expression: str) -> Parsed | None:
    """The tree, or nothing when the text is no expression."""
    try:
        return parse(expression, device_macros())
    except CompileError:
        return None


def accesses(parsed: Parsed, facts: Facts = NO_FACTS) -> tuple[Access, ...]:
    """Every read of the expression. `facts` is what is known already, such as what the class demands."""
    walker = _Walker(parsed)
    walker.visit(parsed.expr, facts, None)
    return tuple(walker.found)


def facts_of(parsed: Parsed) -> Facts:
    """What holds on every device on which the expression is true."""
    return _positive(parsed.expr, {})


@dataclass(slots=True)
class _Walker:
    parsed: Parsed
    found: list[Access] = field(default_factory=list)
    bound: dict[str, Expr] = field(default_factory=dict)

    def visit(self, expr: Expr, facts: Facts, parent: Expr | None) -> None:
        access = self._access(expr)
        if access is not None:
            self.found.append(replace(access, facts=facts, parent=parent, node=expr))
            return
        match expr:
            case Call(function="_&&_", args=(left, right)):
                self.visit(left, facts | _positive(right, self.bound), expr)
                self.visit(right, facts | _positive(left, self.bound), expr)
            case Call(function="_||_", args=(left, right)):
                self.visit(left, facts | _negative(right, self.bound), expr)
                self.visit(right, facts | _negative(left, self.bound), expr)
            case Call(function="_?_:_", args=(condition, yes, no)):
                self.visit(condition, facts, expr)
                self.visit(yes, facts | _positive(condition, self.bound), expr)
                self.visit(no, facts | _negative(condition, self.bound), expr)
            case Comprehension(accu=name, init=init, result=result) if _is_bind(expr):
                self.visit(init, facts, expr)
                self.bound[name] = init
                self.visit(result, facts, expr)
                del self.bound[name]
            case _:
                for child in children(expr):
                    self.visit(child, facts, expr)

    def _access(self, expr: Expr) -> Access | None:
        step = _step(expr, self.bound)
        if step is None:
            return None
        name, mode = step
        offsets = self.parsed.info.offsets
        start = offsets.get(_root(expr).id, 0)
        return Access(name, mode, start, self._end(expr, start))

    def _end(self, expr: Expr, start: int) -> int:
        offsets, text = self.parsed.info.offsets, self.parsed.info.text
        match expr:
            case Select(id=node, field=name):
                at = offsets.get(node, start)
                return at + len(name) + 1 if text[at : at + 1] == "." else text.find(name, at) + len(name)
            case Call(function="_?._", args=(_, Literal(id=node, value=name))):
                return offsets.get(node, start) + len(str(name))
            case Call(args=(_, Literal(id=node))):
                close = text.find("]", offsets.get(node, start))
                return close + 1 if close >= 0 else len(text)
            case _:
                return len(text)


def _is_bind(expr: Comprehension) -> bool:
    """`cel.bind` is a fold over nothing whose accumulator is the variable."""
    return expr.var.startswith("#") and expr.accu[:1].isalpha()


def _step(expr: Expr, bound: Mapping[str, Expr]) -> tuple[Name, Mode] | None:
    """`device.attributes['a'].b` in all its spellings; only whole reads, with a domain and a name."""
    taken = _taken(expr)
    if taken is None:
        return None
    operand, key, mode = taken
    domain = _domain(operand, bound)
    return None if domain is None else (replace(domain, name=key), mode)


def _taken(expr: Expr) -> tuple[Expr, str, Mode] | None:
    match expr:
        case Select(operand=operand, field=key, test_only=test):
            return operand, key, "test" if test else "plain"
        case Call(function="_[_]", args=(operand, Literal(value=str() as key)), target=None):
            return operand, key, "plain"
        case Call(function="_?._" | "_[?_]", args=(operand, Literal(value=str() as key)), target=None):
            return operand, key, "optional"
        case Call(function="@in", args=(Literal(value=str() as key), operand), target=None):
            return operand, key, "test"
        case _:
            return None


def _domain(expr: Expr, bound: Mapping[str, Expr]) -> Name | None:
    """`device.attributes['a']`, or a variable bound to it."""
    if isinstance(expr, Ident) and expr.name in bound:
        return _domain(bound[expr.name], {})
    taken = _taken(expr)
    if taken is None or taken[2] == "test":
        return None
    operand, key, _ = taken
    match operand:
        case Select(operand=Ident(name="device"), field="attributes"):
            return Name("attributes", key)
        case Select(operand=Ident(name="device"), field="capacity"):
            return Name("capacity", key)
        case _:
            return None


def _root(expr: Expr) -> Expr:
    while True:
        match expr:
            case Select(operand=operand):
                expr = operand
            case Call(function="@in", args=(_, operand)):
                expr = operand
            case Call(args=(operand, *_), target=None):
                expr = operand
            case _:
                return expr


def _positive(expr: Expr, bound: Mapping[str, Expr]) -> Facts:
    """What holds when the expression is true."""
    match expr:
        case Call(function="_&&_", args=(left, right)):
            return _positive(left, bound) | _positive(right, bound)
        case Call(function="!_", args=(inner,)):
            return _negative(inner, bound)
        case Call(function="_==_", args=(left, Literal(value=str() as value))):
            step = _step(left, bound)
            return Facts(frozenset((step[0],)), ((step[0], value),)) if step else Facts()
        case Call(function="hasValue", target=Call() as target):
            step = _step(target, bound)
            return Facts(frozenset((step[0],))) if step else Facts()
        case _:
            step = _step(expr, bound)
            return Facts(frozenset((step[0],))) if step else Facts()


def _negative(expr: Expr, bound: Mapping[str, Expr]) -> Facts:
    """What holds when the expression is false."""
    match expr:
        case Call(function="_||_", args=(left, right)):
            return _negative(left, bound) | _negative(right, bound)
        case Call(function="!_", args=(inner,)):
            return _positive(inner, bound)
        case _:
            return Facts()


def calls(expr: Expr) -> Iterator[Call]:
    """Every call of the expression."""
    pending = [expr]
    while pending:
        node = pending.pop()
        if isinstance(node, Call):
            yield node
        pending.extend(children(node))
