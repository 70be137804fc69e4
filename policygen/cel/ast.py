"""The tree that the parser makes. Every node has an id; `SourceInfo` says where it stands in the text.

Names follow cel-go `common/ast`. Positions are offsets in code points.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: null, bool, int, `Uint`, float, str or bytes."""

    id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Ident:
    """A name; a leading dot means that no container is searched."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or `has(operand.field)`."""

    id: int
    operand: Expr
    field: str
    test_only: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator (`_+_`); a member call has a target."""

    id: int
    function: str
    args: tuple[Expr, ...]
    target: Expr | None = None


@dataclass(frozen=True, slots=True)
class ListExpr:
    """`[a, ?b]`; `optional` holds the indices of elements with a question mark."""

    id: int
    elements: tuple[Expr, ...]
    optional: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Entry:
    """`key: value` of a map literal."""

    id: int
    key: Expr
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class MapExpr:
    """`{key: value}`."""

    id: int
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class FieldInit:
    """`name: value` of a struct literal."""

    id: int
    name: str
    value: Expr
    optional: bool = False


@dataclass(frozen=True, slots=True)
class StructExpr:
    """`Type{field: value}`."""

    id: int
    type_name: str
    fields: tuple[FieldInit, ...]


@dataclass(frozen=True, slots=True)
class Comprehension:
    """What macros expand to: a fold over a range. `var2` is None with one variable."""

    id: int
    range: Expr
    var: str
    var2: str | None
    accu: str
    init: Expr
    condition: Expr
    step: Expr
    result: Expr


Expr: TypeAlias = Literal | Ident | Select | Call | ListExpr | MapExpr | StructExpr | Comprehension


@dataclass(slots=True)
class SourceInfo:
    """Where nodes stand, and the macro calls that were expanded (id of the expansion -> call as written)."""

    text: str
    offsets: dict[int, int] = field(default_factory=dict)
    macro_calls: dict[int, Call] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed expression. `depth` bounds the height of the tree."""

    expr: Expr
    info: SourceInfo
    depth: int


def children(expr: Expr) -> Iterator[Expr]:
    """The sub-expressions of a node in evaluation order."""
    match expr:
        case Select(operand=operand):
            yield operand
        case Call(args=args, target=target):
            if target is not None:
                yield target
            yield from args
        case ListExpr(elements=elements):
            yield from elements
        case MapExpr(entries=entries):
            for entry in entries:
                yield entry.key
                yield entry.value
        case StructExpr(fields=fields):
            for init in fields:
                yield init.value
        case Comprehension():
            yield from (expr.range, expr.init, expr.condition, expr.step, expr.result)
        case _:
            return


def walk(expr: Expr) -> Iterator[Expr]:
    """Every node, without recursion."""
    pending = [expr]
    while pending:
        node = pending.pop()
        yield node
        pending.extend(children(node))


def qualified_name(expr: Expr) -> str | None:
    """`a.b.c` when the expression is nothing but names and selections."""
    names: list[str] = []
    while isinstance(expr, Select) and not expr.test_only:
        names.append(expr.field)
        expr = expr.operand
    if not isinstance(expr, Ident):
        return None
    names.append(expr.name)
    return ".".join(reversed(names))
