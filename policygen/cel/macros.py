"""The macros: calls that the parser turns into folds, presence tests and conditionals.

Expansions are those of cel-go (`parser/macro.go`, `cel/library.go`, `ext/comprehensions.go`,
`ext/lists.go`, `ext/bindings.go`): their shape decides the cost. Which macro exists since when is in
`policygen.cel.lib`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from policygen.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select
from policygen.cel.parser import Macro, MacroError, MacroTable, Parser

ACCU: Final = "@result"
_UNUSED: Final = "#unused"
_SORT_INPUT: Final = "@__sortBy_input__"
_SORT_BY_TARGET: Final = (
    "sortBy can only be applied to a list, identifier, comprehension, call or select expression"
)


class _Builder:
    """Makes nodes that stand where the macro call stands."""

    def __init__(self, parser: Parser, offset: int) -> None:
        self._parser, self._offset = parser, offset

    def id(self) -> int:
        return self._parser.new_id(self._offset)

    def literal(self, value: object) -> Expr:
        return Literal(self.id(), value)

    def ident(self, name: str) -> Expr:
        return Ident(self.id(), name)

    def accu(self) -> Expr:
        return self.ident(ACCU)

    def call(self, function: str, *args: Expr) -> Expr:
        return Call(self.id(), function, args)

    def member(self, target: Expr, function: str, *args: Expr) -> Expr:
        return Call(self.id(), function, args, target)

    def list_of(self, *elements: Expr) -> Expr:
        return ListExpr(self.id(), elements)

    def fold(
        self, over: Expr, names: tuple[str, ...], init: Expr, condition: Expr, step: Expr, result: Expr
    ) -> Expr:
        var2 = names[1] if len(names) > 1 else None
        return Comprehension(self.id(), over, names[0], var2, ACCU, init, condition, step, result)

    def bind(self, name: str, init: Expr, result: Expr) -> Expr:
        """`cel.bind`: a fold over nothing whose accumulator is the variable."""
        return Comprehension(
            self.id(),
            self.list_of(),
            _UNUSED,
            None,
            name,
            init,
            self.literal(False),
            self.ident(name),
            result,
        )


def _simple_name(expr: Expr, message: str) -> str:
    if not isinstance(expr, Ident) or expr.name.startswith("."):
        raise MacroError(expr.id, message)
    return expr.name


def _has(parser: Parser, offset: int, _target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`has(e.f)`."""
    operand = args[0]
    if not isinstance(operand, Select):
        raise MacroError(operand.id, "invalid argument to has() macro")
    return Select(parser.new_id(offset), operand.operand, operand.field, test_only=True)


def _iteration_name(expr: Expr) -> str:
    name = _simple_name(expr, "argument must be a simple name")
    if name == ACCU:
        raise MacroError(expr.id, "iteration variable overwrites accumulator variable")
    return name


def _all(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.all(x, predicate)`, `range.all(i, x, predicate)`."""
    assert target is not None
    names, make = _variables(args), _Builder(parser, offset)
    condition = make.call("@not_strictly_false", make.accu())
    step = make.call("_&&_", make.accu(), args[-1])
    return make.fold(target, names, make.literal(True), condition, step, make.accu())


def _exists(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.exists(x, predicate)`, `range.exists(i, x, predicate)`."""
    assert target is not None
    names, make = _variables(args), _Builder(parser, offset)
    condition = make.call("@not_strictly_false", make.call("!_", make.accu()))
    step = make.call("_||_", make.accu(), args[-1])
    return make.fold(target, names, make.literal(False), condition, step, make.accu())


def _exists_one(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.exists_one(x, predicate)`, `range.existsOne(i, x, predicate)`."""
    assert target is not None
    names, make = _variables(args), _Builder(parser, offset)
    added = make.call("_+_", make.accu(), make.literal(1))
    step = make.call("_?_:_", args[-1], added, make.accu())
    result = make.call("_==_", make.accu(), make.literal(1))
    return make.fold(target, names, make.literal(0), make.literal(True), step, result)


def _variables(args: tuple[Expr, ...]) -> tuple[str, ...]:
    names = tuple(_iteration_name(arg) for arg in args[:-1])
    if len(names) == 2 and names[0] == names[1]:
        raise MacroError(args[1].id, f"duplicate variable name: {names[0]}")
    return names


def _map(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.map(x, transform)`, `range.map(x, predicate, transform)`."""
    assert target is not None
    name, make = _simple_name(args[0], "argument is not an identifier"), _Builder(parser, offset)
    step = make.call("_+_", make.accu(), make.list_of(args[-1]))
    if len(args) == 3:
        step = make.call("_?_:_", args[1], step, make.accu())
    return make.fold(target, (name,), make.list_of(), make.literal(True), step, make.accu())


def _filter(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.filter(x, predicate)`."""
    assert target is not None
    name, make = _simple_name(args[0], "argument is not an identifier"), _Builder(parser, offset)
    added = make.call("_+_", make.accu(), make.list_of(args[0]))
    step = make.call("_?_:_", args[1], added, make.accu())
    return make.fold(target, (name,), make.list_of(), make.literal(True), step, make.accu())


def _transform_list(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.transformList(i, x, transform)`, `range.transformList(i, x, predicate, transform)`."""
    assert target is not None
    names, make = _variables(args[:3]), _Builder(parser, offset)
    step = make.call("_+_", make.accu(), make.list_of(args[-1]))
    if len(args) == 4:
        step = make.call("_?_:_", args[2], step, make.accu())
    return make.fold(target, names, make.list_of(), make.literal(True), step, make.accu())


def _transform_map(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`range.transformMap(k, v, transform)`, `range.transformMap(k, v, predicate, transform)`."""
    assert target is not None
    names, make = _variables(args[:3]), _Builder(parser, offset)
    step = make.call("cel.@mapInsert", make.accu(), make.ident(names[0]), args[-1])
    return _map_fold(make, target, names, step, args)


def _transform_map_entry(
    parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]
) -> Expr | None:
    """`range.transformMapEntry(k, v, {…})`, `range.transformMapEntry(k, v, predicate, {…})`."""
    assert target is not None
    names, make = _variables(args[:3]), _Builder(parser, offset)
    step = make.call("cel.@mapInsert", make.accu(), args[-1])
    return _map_fold(make, target, names, step, args)


def _map_fold(
    make: _Builder, target: Expr, names: tuple[str, ...], step: Expr, args: tuple[Expr, ...]
) -> Expr:
    if len(args) == 4:
        step = make.call("_?_:_", args[2], step, make.accu())
    empty = MapExpr(make.id(), ())
    return make.fold(target, names, empty, make.literal(True), step, make.accu())


def _opt_map(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`optional.optMap(x, transform)`."""
    assert target is not None
    make = _Builder(parser, offset)
    name = _simple_name(args[0], "optMap() variable name must be a simple identifier")
    bound = make.bind(name, make.member(target, "value"), args[1])
    some, none = make.call("optional.of", bound), make.call("optional.none")
    return make.call("_?_:_", make.member(target, "hasValue"), some, none)


def _opt_flat_map(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`optional.optFlatMap(x, optional)`."""
    assert target is not None
    make = _Builder(parser, offset)
    name = _simple_name(args[0], "optFlatMap() variable name must be a simple identifier")
    bound = make.bind(name, make.member(target, "value"), args[1])
    return make.call("_?_:_", make.member(target, "hasValue"), bound, make.call("optional.none"))


def _sort_by(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`list.sortBy(x, key)`."""
    assert target is not None
    make = _Builder(parser, offset)
    if not isinstance(target, (Select, ListExpr, Ident, Comprehension, Call)):
        raise MacroError(target.id, _SORT_BY_TARGET)
    keys = _map(parser, offset, make.ident(_SORT_INPUT), args)
    assert keys is not None
    sorted_list = make.member(make.ident(_SORT_INPUT), "@sortByAssociatedKeys", keys)
    return make.bind(_SORT_INPUT, target, sorted_list)


def _bind(parser: Parser, offset: int, target: Expr | None, args: tuple[Expr, ...]) -> Expr | None:
    """`cel.bind(name, init, result)`."""
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    name = _simple_name(args[0], "cel.bind() variable names must be simple identifiers")
    return _Builder(parser, offset).bind(name, args[1], args[2])


STANDARD: Final = (
    Macro("has", 1, False, _has),
    Macro("all", 2, True, _all),
    Macro("exists", 2, True, _exists),
    Macro("exists_one", 2, True, _exists_one),
    Macro("map", 2, True, _map),
    Macro("map", 3, True, _map),
    Macro("filter", 2, True, _filter),
)
OPTIONAL: Final = (Macro("optMap", 2, True, _opt_map), Macro("optFlatMap", 2, True, _opt_flat_map))
TWO_VARIABLES: Final = (
    Macro("all", 3, True, _all),
    Macro("exists", 3, True, _exists),
    Macro("existsOne", 3, True, _exists_one),
    Macro("exists_one", 3, True, _exists_one),
    Macro("transformList", 3, True, _transform_list),
    Macro("transformList", 4, True, _transform_list),
    Macro("transformMap", 3, True, _transform_map),
    Macro("transformMap", 4, True, _transform_map),
    Macro("transformMapEntry", 3, True, _transform_map_entry),
    Macro("transformMapEntry", 4, True, _transform_map_entry),
)
SORT_BY: Final = (Macro("sortBy", 2, True, _sort_by),)
BIND: Final = (Macro("bind", 3, True, _bind),)


def table(macros: Iterable[Macro]) -> MacroTable:
    """Macros by name, number of arguments and style."""
    return {(macro.name, macro.arity, macro.receiver): macro for macro in macros}
