"""What an expression reads, compares and writes, as paths: an abstract run that follows values.

A value is abstracted to the set of places that it may have been read from. `variables` are followed into
their expressions, iteration variables into the lists that they run over. The result is an over-approximation
of what is read and of what a patch can write; a dynamic part of a path is the wildcard `*`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from policygen.cel.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)

Path: TypeAlias = tuple[str, ...]
Places: TypeAlias = frozenset[Path]

ROOTS: Final = frozenset({"object", "oldObject", "params", "request", "namespaceObject"})
ANY: Final = "*"
"""A list element, or a key that is not known before run time."""

_NOWHERE: Final[Places] = frozenset()
_PASSING: Final = frozenset(
    {"orValue", "or", "value", "optional.of", "optional.ofNonZeroValue", "dyn", "first", "last"}
)
_PASSING_LISTS: Final = frozenset(
    {"distinct", "reverse", "sort", "slice", "flatten", "@sortByAssociatedKeys"}
)
_COMPARED: Final = frozenset(
    {
        "_==_",
        "_!=_",
        "_<_",
        "_<=_",
        "_>_",
        "_>=_",
        "@in",
        "_in_",
        "startsWith",
        "endsWith",
        "contains",
        "matches",
    }
)


@dataclass(slots=True)
class Effects:
    """What one expression, or several, read and write. Paths of reads begin with their root (`object`)."""

    reads: set[Path] = field(default_factory=set)
    tested: set[Path] = field(default_factory=set)
    """Read with `has()` or `?.`, so that absence is expected."""
    writes: set[Path] = field(default_factory=set)
    """Paths below the object that a patch may set or remove."""
    constants: dict[Path, set[tuple[str, Any]]] = field(default_factory=dict)
    """(operator, literal) that the value at a path is compared with."""

    def add(self, other: Effects) -> None:
        """Take in the effects of another expression."""
        self.reads |= other.reads
        self.tested |= other.tested
        self.writes |= other.writes
        for path, values in other.constants.items():
            self.constants.setdefault(path, set()).update(values)


def analyse(expr: Expr, variables: Mapping[str, Expr] | None = None) -> Effects:
    """The effects of one expression; `variables` are those of its policy, with their expressions."""
    run = _Run(variables or {})
    run.places(expr, {})
    return run.effects


def meets(left: Iterable[Path], right: Iterable[Path]) -> set[Path]:
    """Paths of `left` that lie above, at or below one of `right`.

    Wildcards are passed over: a patch names the items of a list by key, not by a step of the path.
    """
    others = [_named(other) for other in right]
    return {path for path in left if any(_overlap(_named(path), other) for other in others)}


def _named(path: Path) -> Path:
    return tuple(step for step in path if step != ANY)


def _overlap(left: Path, right: Path) -> bool:
    return all(a == b for a, b in zip(left, right, strict=False))


def object_reads(effects: Effects) -> set[Path]:
    """What is read from `object`, as paths below it."""
    return {path[1:] for path in effects.reads if path[0] == "object" and len(path) > 1}


class _Run:
    """One abstract run. `scope` maps names of comprehensions to the places of their values."""

    def __init__(self, variables: Mapping[str, Expr]) -> None:
        self.effects = Effects()
        self._variables = variables
        self._known: dict[str, Places] = {}
        self._inside: set[str] = set()

    def places(self, expr: Expr, scope: Mapping[str, Places]) -> Places:
        match expr:
            case Literal():
                return _NOWHERE
            case Ident(name=name):
                name = name.removeprefix(".")
                if name in scope:
                    return scope[name]
                return frozenset({(name,)}) if name in ROOTS else _NOWHERE
            case Select():
                return self._select(expr, scope)
            case Call():
                return self._call(expr, scope)
            case ListExpr(elements=elements):
                inner = [self.places(element, scope) for element in elements]
                return frozenset(path[:-1] for found in inner for path in found if path[-1] == ANY)
            case MapExpr(entries=entries):
                for entry in entries:
                    self.places(entry.key, scope)
                    self.places(entry.value, scope)
                return _NOWHERE
            case StructExpr():
                return self._struct(expr, scope)
            case Comprehension():
                return self._fold(expr, scope)

    def _select(self, expr: Select, scope: Mapping[str, Places]) -> Places:
        if isinstance(expr.operand, Ident) and expr.operand.name == "variables":
            return self._variable(expr.field)
        found = frozenset((*path, expr.field) for path in self.places(expr.operand, scope))
        self._read(found, tested=expr.test_only)
        return _NOWHERE if expr.test_only else found

    def _variable(self, name: str) -> Places:
        if name not in self._known and name in self._variables and name not in self._inside:
            self._inside.add(name)
            self._known[name] = self.places(self._variables[name], {})
            self._inside.discard(name)
        return self._known.get(name, _NOWHERE)

    def _read(self, paths: Places, *, tested: bool = False) -> None:
        self.effects.reads |= paths
        if tested:
            self.effects.tested |= paths

    def _call(self, expr: Call, scope: Mapping[str, Places]) -> Places:
        name, args = expr.function, expr.args
        if name in ("_[_]", "_?._", "_[?_]"):
            return self._index(expr, scope)
        target = self.places(expr.target, scope) if expr.target is not None else _NOWHERE
        found = [self.places(arg, scope) for arg in args]
        if name in _COMPARED:
            self._compare(name, expr, (target, *found) if expr.target is not None else tuple(found))
            return _NOWHERE
        if name == "_?_:_":
            return found[1] | found[2]
        if name in ("_+_", *_PASSING):
            return target.union(*found)
        return target if name in _PASSING_LISTS else _NOWHERE

    def _index(self, expr: Call, scope: Mapping[str, Places]) -> Places:
        base, key = self.places(expr.args[0], scope), expr.args[1]
        self.places(key, scope)
        step = key.value if isinstance(key, Literal) and isinstance(key.value, str) else ANY
        found = frozenset((*path, step) for path in base)
        self._read(found, tested=expr.function != "_[_]")
        return found

    def _compare(self, name: str, expr: Call, places: tuple[Places, ...]) -> None:
        sides = (expr.target, *expr.args) if expr.target is not None else expr.args
        for index, side in enumerate(sides):
            literals = _literals(side)
            for other, paths in enumerate(places):
                if other == index:
                    continue
                for path in paths:
                    self.effects.constants.setdefault(path, set()).update((name, value) for value in literals)

    def _fold(self, expr: Comprehension, scope: Mapping[str, Places]) -> Places:
        over = frozenset((*path, ANY) for path in self.places(expr.range, scope))
        self._read(over)
        inner = dict(scope)
        inner[expr.var] = over if expr.var2 is None else _NOWHERE
        if expr.var2 is not None:
            inner[expr.var2] = over
        accumulated = self.places(expr.init, scope)
        inner[expr.accu] = accumulated
        self.places(expr.condition, inner)
        accumulated |= self.places(expr.step, inner)
        inner[expr.accu] = accumulated
        return self.places(expr.result, inner)

    def _struct(self, expr: StructExpr, scope: Mapping[str, Places]) -> Places:
        for init in expr.fields:
            self.places(init.value, scope)
        kind = expr.type_name.removeprefix(".")
        if kind == "JSONPatch":
            self._json_patch(expr)
        elif kind == "Object" or kind.startswith("Object."):
            above = tuple(kind.split(".")[1:])
            for init in expr.fields:
                if not _holds_object(init.value):
                    self.effects.writes |= {(*above, init.name, *key) for key in _keys(init.value)}
        return _NOWHERE

    def _json_patch(self, expr: StructExpr) -> None:
        for init in expr.fields:
            if init.name in ("path", "from"):
                for text in self._texts(init.value):
                    steps = [step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:]]
                    while steps and (steps[-1] == "-" or steps[-1].isdigit()):
                        steps.pop()
                    self.effects.writes.add(tuple(ANY if step.isdigit() else step for step in steps))

    def _texts(self, expr: Expr) -> set[str]:
        """What a string may be, `*` for each part that is not known."""
        match expr:
            case Literal(value=str() as text):
                return {text}
            case Call(function="_+_", args=(left, right)):
                return {a + b for a in self._texts(left) for b in self._texts(right)}
            case Call(function="_?_:_", args=(_, left, right)):
                return self._texts(left) | self._texts(right)
            case Call(function="escapeKey" | "jsonpatch.escapeKey", args=(key,)):
                return {text.replace("~", "~0").replace("/", "~1") for text in self._texts(key)}
            case Select(operand=Ident(name="variables"), field=name) if name in self._variables:
                return self._texts(self._variables[name])
            case _:
                return {ANY}


def _literals(expr: Expr | None) -> list[Any]:
    match expr:
        case Literal(value=value):
            return [value]
        case ListExpr(elements=elements):
            return [element.value for element in elements if isinstance(element, Literal)]
        case _:
            return []


def _holds_object(expr: Expr) -> bool:
    """Whether a field's value is made of further `Object` literals, which name what they write themselves."""
    match expr:
        case StructExpr():
            return True
        case ListExpr(elements=elements):
            return bool(elements) and all(_holds_object(element) for element in elements)
        case Comprehension(step=step):
            return _holds_object(step)
        case Call(function="_?_:_", args=(_, left, right)):
            return _holds_object(left) or _holds_object(right)
        case Call(function="_+_" | "optional.of", args=args):
            return any(_holds_object(arg) for arg in args)
        case _:
            return False


def _keys(expr: Expr) -> set[Path]:
    """The keys that a map literal sets below its field; the field as a whole for anything else."""
    match expr:
        case MapExpr(entries=entries):
            return {(entry.key.value if isinstance(entry.key, Literal) else ANY,) for entry in entries}
        case Call(function="_?_:_", args=(_, left, right)):
            return _keys(left) | _keys(right)
        case _:
            return {()}
