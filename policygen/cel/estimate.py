"""Static bounds of what an expression may cost: cel-go `checker/cost.go` with Kubernetes' estimator.

The API server refuses DRA selectors whose greatest cost is above the limit, so the bounds are followed to the
number. Sizes come from literals, from calls, and from what the environment declares for its variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from policygen.cel import ast
from policygen.cel.ast import Expr
from policygen.cel.cost import LIST_COST, MAP_COST, STRING_FACTOR, STRUCT_COST
from policygen.cel.decls import MAX, CallEstimate, Estimated, Overload, Range
from policygen.cel.macros import ACCU
from policygen.cel.recursion import room_for

if TYPE_CHECKING:
    from policygen.cel.checker import Checked
    from policygen.cel.types import Type

_ZERO: Final = Range(0, 0)
_ONE: Final = Range(1, 1)
_ANY: Final = Range(0, MAX)
_SCALARS: Final = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})
_TEXT_ORDER: Final = frozenset(
    f"{word}_{kind}"
    for word in ("less", "less_equals", "greater", "greater_equals")
    for kind in ("string", "bytes")
)


@dataclass(frozen=True, slots=True)
class SizeDecl:
    """How large a declared value may be (apiserver `cel.DeclType.MaxElements`)."""

    greatest: int
    fields: Mapping[str, SizeDecl] = field(default_factory=dict)
    key: SizeDecl | None = None
    element: SizeDecl | None = None
    is_attribute_map: bool = False
    """Names that are not declared have the size of the elements (DRA's attributes)."""

    def at(self, step: str) -> SizeDecl | None:
        """What is behind a step of a path."""
        if step in {"@items", "@values"}:
            return self.element
        if step == "@keys":
            return self.key
        found = self.fields.get(step)
        return self.element if found is None and self.is_attribute_map else found


@dataclass(frozen=True, slots=True)
class _Entry:
    """Sizes of the keys and values of a container."""

    is_list: bool
    key: Range
    value: Range


@dataclass(frozen=True, slots=True)
class _Local:
    path: tuple[str, ...]
    size: Range | None
    entry: _Entry | None


def estimate_cost(checked: Checked) -> Range:
    """The least and greatest cost of an expression."""
    with room_for(checked.depth):
        return _Estimator(checked).cost(checked.expr)


class _Estimator:
    def __init__(self, checked: Checked) -> None:
        self._types = checked.types
        self._references = checked.references
        self._declared = checked.sizes
        self._paths: dict[int, tuple[str, ...]] = {}
        self._sizes: dict[int, Range] = {}
        self._entries: dict[int, _Entry] = {}
        self._locals: dict[str, list[_Local]] = {}

    def cost(self, expr: Expr) -> Range:
        match expr:
            case ast.Literal():
                return _ZERO
            case ast.Ident():
                self._paths[expr.id] = self._path(expr) or (expr.name,)
                return _ONE
            case ast.Select():
                return self._select(expr)
            case ast.Call():
                return self._call(expr)
            case ast.ListExpr():
                return self._list(expr)
            case ast.MapExpr():
                return self._map(expr)
            case ast.StructExpr():
                return self._sum([init.value for init in expr.fields]) + Range(STRUCT_COST, STRUCT_COST)
            case ast.Comprehension():
                return self._bind(expr) if _is_bind(expr) else self._comprehension(expr)

    def _sum(self, exprs: Sequence[Expr]) -> Range:
        total = _ZERO
        for expr in exprs:
            total += self.cost(expr)
        return total

    def _select(self, expr: ast.Select) -> Range:
        if expr.id in self._references:
            self._paths[expr.id] = (self._references[expr.id].name,)
            return _ONE
        total = self.cost(expr.operand)
        if expr.test_only:
            return total
        self._paths[expr.id] = (*self._path(expr.operand), expr.field)
        if self._types[expr.operand.id].kind in {"map", "struct", "param"}:
            total += _ONE
        return total

    # --- calls ----------------------------------------------------------------------------------------

    def _call(self, expr: ast.Call) -> Range:
        if expr.function == "dyn" and len(expr.args) == 1:
            inner = self.cost(expr.args[0])
            self._copy_sizes(expr, expr.args[0])
            return _ONE + inner
        reference = self._references[expr.id]
        costs = [self.cost(arg) for arg in expr.args]
        total, operands = _ZERO, list(expr.args)
        if expr.target is not None and not reference.is_namespaced:
            total = self.cost(expr.target)
            operands.insert(0, expr.target)
        if expr.function == "_?._":
            return total + _added(costs) + _ONE
        arguments = [self._estimated(operand) for operand in operands]
        least, greatest, result = MAX, 0, None
        for overload in reference.overloads:
            found = self._overload(expr, overload, arguments, operands, costs)
            least, greatest = min(least, found.cost.least), max(greatest, found.cost.greatest)
            if found.result_size is not None:
                result = found.result_size if result is None else result.union(found.result_size)
            if overload.id in {"index_list", "index_map"}:
                entry = self._entry(expr.args[0])
                result = entry.value if entry is not None else None
                step = "@items" if overload.id == "index_list" else "@values"
                self._paths[expr.id] = (*self._path(expr.args[0]), step)
            if result is None:
                result = self._size(expr)
        if result is not None:
            self._sizes[expr.id] = result
        return total + Range(least, greatest)

    def _estimated(self, expr: Expr) -> Estimated:
        literal = expr.value if isinstance(expr, ast.Literal) else None
        return Estimated(self._types[expr.id], self._size(expr), literal)

    def _overload(
        self,
        expr: ast.Call,
        overload: Overload,
        arguments: Sequence[Estimated],
        operands: Sequence[Expr],
        costs: Sequence[Range],
    ) -> CallEstimate:
        paid = _added(costs)
        if overload.estimate is not None:
            found = overload.estimate(arguments)
            return CallEstimate(found.cost + paid, found.result_size)
        match overload.id:
            case "logical_and" | "logical_or":
                return CallEstimate(Range(costs[0].least, paid.greatest))
            case "conditional":
                return self._conditional(expr, operands, costs)
            case "add_string" | "add_bytes" | "add_list":
                return self._concatenation(expr, overload.id, operands, paid)
            case "in_list":
                return CallEstimate(arguments[1].size_or_any + paid)
            case "equals" if _is_own_type(arguments):
                return CallEstimate(_ONE + paid)
            case "equals" | "not_equals":
                return CallEstimate(_comparison(arguments) + paid)
            case name if name in _TEXT_ORDER:
                return CallEstimate(_comparison(arguments) + paid)
            case _:
                return CallEstimate(_ONE + paid)

    def _conditional(self, expr: ast.Call, operands: Sequence[Expr], costs: Sequence[Range]) -> CallEstimate:
        size = self._size_or_any(operands[1]).union(self._size_or_any(operands[2]))
        self._join_entries(expr, operands[1], operands[2])
        return CallEstimate(costs[0] + costs[1].union(costs[2]), size)

    def _concatenation(
        self, expr: ast.Call, overload: str, operands: Sequence[Expr], paid: Range
    ) -> CallEstimate:
        size = self._size_or_any(operands[0]) + self._size_or_any(operands[1])
        self._join_entries(expr, operands[0], operands[1])
        cost = _ONE if overload == "add_list" else size.scaled(STRING_FACTOR)
        return CallEstimate(cost + paid, size)

    def _join_entries(self, expr: Expr, left: Expr, right: Expr) -> None:
        one, two = self._entry(left), self._entry(right)
        if one is not None and two is not None:
            self._entries[expr.id] = _Entry(one.is_list, one.key.union(two.key), one.value.union(two.value))

    # --- literals and loops ---------------------------------------------------------------------------

    def _list(self, expr: ast.ListExpr) -> Range:
        total = self._sum(expr.elements)
        self._entries[expr.id] = _Entry(True, _ONE, self._joined(expr.elements))
        return total + Range(LIST_COST, LIST_COST)

    def _map(self, expr: ast.MapExpr) -> Range:
        total = self._sum([part for entry in expr.entries for part in (entry.key, entry.value)])
        keys = self._joined([entry.key for entry in expr.entries])
        values = self._joined([entry.value for entry in expr.entries])
        self._entries[expr.id] = _Entry(False, keys, values)
        return total + Range(MAP_COST, MAP_COST)

    def _joined(self, exprs: Sequence[Expr]) -> Range:
        joined = Range(MAX if exprs else 0, 0)
        for expr in exprs:
            joined = joined.union(self._size_or_any(expr))
        return joined

    def _comprehension(self, expr: ast.Comprehension) -> Range:
        total = self.cost(expr.range) + self.cost(expr.init)
        self._push(expr.accu, self._path(expr.init), self._size(expr.init), self._entry(expr.init))
        entry, path = self._entry(expr.range), self._path(expr.range)
        is_list = entry.is_list if entry is not None else self._types[expr.range.id].kind == "list"
        keys, values = ("@indices", "@items") if is_list else ("@keys", "@values")
        key_size = entry.key if entry is not None else None
        value_size = entry.value if entry is not None else None
        if expr.var2 is not None:
            self._push(expr.var, (*path, keys), key_size, None)
            self._push(expr.var2, (*path, values), value_size, None)
        elif is_list:
            self._push(expr.var, (*path, values), value_size, None)
        else:
            self._push(expr.var, (*path, keys), key_size, None)
        loop = self.cost(expr.condition)
        step = self.cost(expr.step)
        self._locals[expr.var].pop()
        if expr.var2 is not None:
            self._locals[expr.var2].pop()
        total += self.cost(expr.result)
        self._locals[expr.accu].pop()
        count = self._size_or_any(expr.range)
        self._result_size(expr, count)
        return total + count * (step + loop)

    def _result_size(self, expr: ast.Comprehension, count: Range) -> None:
        match expr.init:
            case ast.Literal():
                size = self._size(expr.init)
                if size is not None:
                    self._sizes[expr.id] = size
            case ast.ListExpr() | ast.MapExpr():
                self._sizes[expr.id] = count
                entry = self._entry(expr.step)
                if entry is not None:
                    self._entries[expr.id] = entry
            case _:
                return

    def _bind(self, expr: ast.Comprehension) -> Range:
        total = self.cost(expr.range) + self.cost(expr.init)
        self._push(expr.accu, self._path(expr.init), self._size(expr.init), self._entry(expr.init))
        total += self.cost(expr.result)
        self._locals[expr.accu].pop()
        self._copy_sizes(expr, expr.result)
        return total

    # --- sizes and paths ------------------------------------------------------------------------------

    def _push(self, name: str, path: tuple[str, ...], size: Range | None, entry: _Entry | None) -> None:
        self._locals.setdefault(name, []).append(_Local(path, size, entry))

    def _local(self, expr: Expr) -> _Local | None:
        if isinstance(expr, ast.Ident) and self._locals.get(expr.name):
            return self._locals[expr.name][-1]
        return None

    def _path(self, expr: Expr) -> tuple[str, ...]:
        local = self._local(expr)
        return local.path if local is not None else self._paths.get(expr.id, ())

    def _copy_sizes(self, target: Expr, source: Expr) -> None:
        size, entry = self._size(source), self._entry(source)
        if size is not None:
            self._sizes[target.id] = size
        if entry is not None:
            self._entries[target.id] = entry

    def _entry(self, expr: Expr) -> _Entry | None:
        found = self._entries.get(expr.id)
        if found is None and (local := self._local(expr)) is not None:
            return local.entry
        return found

    def _size_or_any(self, expr: Expr) -> Range:
        return self._size(expr) or _ANY

    def _size(self, expr: Expr) -> Range | None:
        known = self._sizes.get(expr.id)
        if known is not None:
            return known
        literal = _literal_size(expr)
        if literal is not None:
            return Range(literal, literal)
        declared = self._declared_size(self._path(expr))
        if declared is not None:
            self._sizes[expr.id] = declared
            return declared
        if _is_scalar(self._types[expr.id]):
            return _ONE
        local = self._local(expr)
        return local.size if local is not None else None

    def _declared_size(self, path: tuple[str, ...]) -> Range | None:
        if not path or path[0] == ACCU:
            return None
        found = self._declared.get(path[0])
        for step in path[1:]:
            if found is None:
                return None
            found = found.at(step)
        return None if found is None else Range(0, found.greatest)


def _added(costs: Sequence[Range]) -> Range:
    total = _ZERO
    for cost in costs:
        total += cost
    return total


def _comparison(arguments: Sequence[Estimated]) -> Range:
    greatest = min(arguments[0].size_or_any.greatest, arguments[1].size_or_any.greatest)
    return Range(1 if greatest > 0 else 0, greatest).scaled(STRING_FACTOR)


def _is_own_type(arguments: Sequence[Estimated]) -> bool:
    """Kubernetes charges 1 for comparing two of its own values."""
    left, right = arguments[0].type, arguments[1].type
    return left == right and left.name.startswith(("kubernetes.", "net.")) and left.kind != "list"


def _literal_size(expr: Expr) -> int | None:
    match expr:
        case ast.Literal(value=value):
            return len(value) if isinstance(value, (str, bytes)) else 1
        case ast.ListExpr(elements=elements):
            return len(elements)
        case ast.MapExpr(entries=entries):
            return len(entries)
        case _:
            return None


def _is_scalar(found: Type) -> bool:
    if found.kind == "opaque" and found.name == "optional_type":
        return _is_scalar(found.params[0])
    return found.kind in _SCALARS


def _is_bind(expr: ast.Comprehension) -> bool:
    return (
        isinstance(expr.range, ast.ListExpr)
        and not expr.range.elements
        and isinstance(expr.condition, ast.Literal)
        and expr.condition.value is False
        and expr.accu != ACCU
    )
