"""Types for every node, and what names and calls refer to: cel-go `checker/checker.go`.

The tree is not changed: types and references are tables by node id.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from policygen.cel import ast, messages, types
from policygen.cel.ast import Expr
from policygen.cel.inference import Substitution, most_general
from policygen.cel.recursion import room_for
from policygen.cel.source_errors import SourceErrors
from policygen.cel.types import Type
from policygen.cel.values import Uint
from policygen.cel.wellknown import WELL_KNOWN

if TYPE_CHECKING:
    from policygen.cel.decls import FunctionDecl, Overload
    from policygen.cel.env import Env
    from policygen.cel.estimate import SizeDecl


@dataclass(frozen=True, slots=True)
class Reference:
    """What a node refers to: a variable or type by its full name, or a function with possible overloads."""

    name: str
    overloads: tuple[Overload, ...] = ()
    is_namespaced: bool = False
    """The call `a.b.c(…)` is the function `a.b.c`, not `c` with a receiver."""


@dataclass(frozen=True, slots=True)
class Checked:
    """A checked expression."""

    expr: Expr
    info: ast.SourceInfo
    types: Mapping[int, Type]
    references: Mapping[int, Reference]
    depth: int
    sizes: Mapping[str, SizeDecl]
    """How large the environment's variables may be (for `estimate`)."""

    @property
    def result_type(self) -> Type:
        """The type of the whole."""
        return self.types[self.expr.id]


def check(parsed: ast.Parsed, env: Env) -> Checked:
    """Check an expression or raise `CompileError` with every fault found."""
    errors = SourceErrors(parsed.info.text)
    checker = _Checker(parsed.info, env, errors)
    with room_for(parsed.depth):
        checker.check(parsed.expr)
        found = checker.final_types()
    errors.raise_if_any()
    return Checked(parsed.expr, parsed.info, found, checker.references, parsed.depth, env.sizes)


_LITERALS: dict[type, Type] = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}


_FLEXIBLE = frozenset({"any", "dyn", "error", "null", "param", "wrapper"})


def _may_fit(arg: Type, param: Type) -> bool:
    """A quick test that spares most overloads the full one."""
    return arg.kind == param.kind or arg.kind in _FLEXIBLE or param.kind in _FLEXIBLE


class _Checker:
    def __init__(self, info: ast.SourceInfo, env: Env, errors: SourceErrors) -> None:
        self._info = info
        self._env = env
        self._errors = errors
        self._types: dict[int, Type] = {}
        self._scopes: list[dict[str, Type]] = []
        self._substitution = Substitution()
        self.references: dict[int, Reference] = {}

    def final_types(self) -> dict[int, Type]:
        """All types with parameters replaced by what they stand for, or `dyn`."""
        apply = self._substitution.apply
        return {node: apply(found, to_dyn=True) for node, found in self._types.items()}

    def check(self, expr: Expr) -> Type:
        """Find the type of a node and everything below it."""
        match expr:
            case ast.Literal(value=value):
                found = _LITERALS[type(value)]
            case ast.Ident():
                found = self._ident(expr)
            case ast.Select():
                found = self._select(expr)
            case ast.Call():
                found = self._call(expr)
            case ast.ListExpr():
                found = self._list(expr)
            case ast.MapExpr():
                found = self._map(expr)
            case ast.StructExpr():
                found = self._struct(expr)
            case ast.Comprehension():
                found = self._comprehension(expr)
        self._types[expr.id] = found
        return found

    def _report(self, node: int, message: str) -> None:
        self._errors.report(self._info.offsets[node], message)

    # --- names and fields -----------------------------------------------------------------------------

    def _lookup(self, name: str) -> Type | None:
        """A comprehension variable, a declared variable, or a type's name."""
        if name.startswith("."):
            return self._env.ident_type(name[1:])
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return self._env.ident_type(name)

    def _is_local(self, name: str) -> bool:
        """Whether a name is a variable of a loop, which hides longer names that begin with it."""
        return any(name in scope for scope in self._scopes)

    def _ident(self, expr: ast.Ident) -> Type:
        found = self._lookup(expr.name)
        if found is None:
            self._report(expr.id, messages.undeclared_reference(expr.name))
            return types.ERROR
        self.references[expr.id] = Reference(expr.name)
        return found

    def _select(self, expr: ast.Select) -> Type:
        """A chain of selections: the longest beginning that is a name, then fields, one after the other."""
        chain: list[ast.Select] = []
        base: Expr = expr
        while isinstance(base, ast.Select):
            chain.append(base)
            base = base.operand
        chain.reverse()
        named = self._longest_name(base, chain)
        found = self._types[chain[named - 1].id] if named else self.check(base)
        for node in chain[named:]:
            found = self._substitution.apply(self._selected(node.id, found, node.field, optional=False))
            if node.test_only:
                found = types.BOOL
            self._types[node.id] = found
        return found

    def _longest_name(self, base: Expr, chain: Sequence[ast.Select]) -> int:
        """How many selections belong to the name of a variable or type; they get its type."""
        if not isinstance(base, ast.Ident) or self._is_local(base.name):
            return 0
        parts = [base.name, *(node.field for node in chain if not node.test_only)]
        for length in range(min(len(parts), self._env.longest_name(base.name)), 1, -1):
            name = ".".join(parts[:length])
            found = self._lookup(name)
            if found is not None:
                node = chain[length - 2]
                self._types[node.id] = found
                self.references[node.id] = Reference(name)
                return length - 1
        return 0

    def _field(self, node: int, operand: Expr, field: str, *, optional: bool) -> Type:
        return self._selected(node, self.check(operand), field, optional=optional)

    def _selected(self, node: int, operand: Type, field: str, *, optional: bool) -> Type:
        target = self._substitution.apply(operand)
        is_optional = types.is_optional(target)
        if is_optional:
            target = target.params[0]
        found = self._field_of(node, target, field)
        return types.optional_of(found) if is_optional or optional else found

    def _field_of(self, node: int, target: Type, field: str) -> Type:
        match target.kind:
            case "map":
                return target.params[1]
            case "struct":
                found = self._env.field_type(target.name, field)
                if found is None:
                    known = self._env.has_fields(target.name)
                    say = messages.undefined_field if known else messages.no_such_struct
                    offset = self._info.offsets[node]
                    text = say(field if known else target.name)
                    self._errors.report(offset, text, undefined_field=field if known else None, node=node)
                    return types.ERROR
                return found
            case "param":
                self._substitution.unify(types.DYN, target)
                return types.DYN
            case _:
                if not target.is_dyn:
                    self._report(node, messages.no_field_selection(target))
                    return types.ERROR
                return types.DYN

    # --- calls ----------------------------------------------------------------------------------------

    def _call(self, expr: ast.Call) -> Type:
        if expr.function == "_?._":
            return self._optional_select(expr)
        args = [self.check(arg) for arg in expr.args]
        if expr.target is None:
            return self._resolve_named(expr, expr.function, args, is_namespaced=False)
        prefix = ast.qualified_name(expr.target)
        if prefix is not None:
            name = f"{prefix}.{expr.function}"
            if self._env.function(name.removeprefix(".")) is not None:
                return self._resolve_named(expr, name, args, is_namespaced=True)
        args.insert(0, self.check(expr.target))
        return self._resolve_named(expr, expr.function, args, is_namespaced=False)

    def _optional_select(self, expr: ast.Call) -> Type:
        operand, field = expr.args
        if not isinstance(field, ast.Literal) or type(field.value) is not str:
            self._report(field.id, messages.not_an_optional_field(""))
            return types.ERROR
        self._types[field.id] = types.STRING
        found = self._field(expr.id, operand, field.value, optional=True)
        self.references[expr.id] = Reference("_?._")
        return self._substitution.apply(found)

    def _resolve_named(self, expr: ast.Call, name: str, args: list[Type], *, is_namespaced: bool) -> Type:
        function = self._env.function(name.removeprefix("."))
        if function is None:
            self._report(expr.id, messages.undeclared_reference(name))
            return types.ERROR
        is_member = expr.target is not None and not is_namespaced
        if function.name in {"_&&_", "_||_"}:
            return self._logic(expr, function, args)
        chosen, result = self._resolve(function, args, is_member=is_member)
        if result is None:
            shown = [self._substitution.apply(arg, to_dyn=True) for arg in args]
            self._report(expr.id, messages.no_matching_overload(function.name, shown, is_member))
            return types.ERROR
        self.references[expr.id] = Reference(function.name, tuple(chosen), is_namespaced)
        return result

    def _logic(self, expr: ast.Call, function: FunctionDecl, args: Sequence[Type]) -> Type:
        failed = False
        for arg, found in zip(expr.args, args, strict=True):
            if not self._substitution.unify(found, types.BOOL):
                self._report(arg.id, messages.type_mismatch(types.BOOL, self._shown(found)))
                failed = True
        if failed:
            return types.ERROR
        self.references[expr.id] = Reference(function.name, function.overloads[:1])
        return types.BOOL

    def _resolve(
        self, function: FunctionDecl, args: Sequence[Type], *, is_member: bool
    ) -> tuple[list[Overload], Type | None]:
        chosen: list[Overload] = []
        result: Type | None = None
        for overload in function.overloads:
            if overload.member != is_member or len(overload.params) != len(args):
                continue
            if not overload.is_parametric and not all(map(_may_fit, args, overload.params)):
                continue
            params, returned = self._instantiate(overload)
            if not self._substitution.unify_all(args, params):
                continue
            chosen.append(overload)
            found = self._substitution.apply(returned)
            if result is None:
                result = found
            elif result.kind not in {"dyn", "any"} and found != result:
                result = types.DYN
        return chosen, result

    def _instantiate(self, overload: Overload) -> tuple[tuple[Type, ...], Type]:
        """The signature with its type parameters replaced by fresh ones."""
        if not overload.is_parametric:
            return overload.params, overload.result
        fresh: dict[str, Type] = {}

        def rename(part: Type) -> Type:
            if part.kind == "param":
                if part.name not in fresh:
                    fresh[part.name] = self._substitution.fresh()
                return fresh[part.name]
            if not part.params:
                return part
            return Type(part.kind, part.name, tuple(map(rename, part.params)))

        return tuple(map(rename, overload.params)), rename(overload.result)

    def _shown(self, found: Type) -> Type:
        return self._substitution.apply(found, to_dyn=False)

    # --- literals -------------------------------------------------------------------------------------

    def _join(self, node: int, before: Type | None, found: Type) -> Type:
        """The common type of the elements of a literal; `dyn` when they have none."""
        if before is None:
            return found
        if self._substitution.unify(before, found):
            return most_general(before, found)
        return types.DYN

    def _list(self, expr: ast.ListExpr) -> Type:
        joined: Type | None = None
        for index, element in enumerate(expr.elements):
            found = self.check(element)
            if index in expr.optional:
                found = self._unwrapped(element.id, found)
            joined = self._join(element.id, joined, found)
        return types.list_of(joined if joined is not None else self._substitution.fresh())

    def _map(self, expr: ast.MapExpr) -> Type:
        key: Type | None = None
        value: Type | None = None
        for entry in expr.entries:
            key = self._join(entry.key.id, key, self.check(entry.key))
            found = self.check(entry.value)
            if entry.optional:
                found = self._unwrapped(entry.value.id, found)
            value = self._join(entry.value.id, value, found)
        if key is None or value is None:
            return types.map_of(self._substitution.fresh(), self._substitution.fresh())
        return types.map_of(key, value)

    def _unwrapped(self, node: int, found: Type) -> Type:
        """The inner type of an element written with a question mark."""
        if types.is_optional(found):
            return found.params[0]
        if found.kind not in {"dyn", "any"}:
            self._report(node, messages.type_mismatch(types.optional_of(found), found))
        return found

    def _struct(self, expr: ast.StructExpr) -> Type:
        name = expr.type_name.removeprefix(".")
        found = self._lookup(expr.type_name)
        if found is None:
            self._report(expr.id, messages.undeclared_reference(expr.type_name))
            return types.ERROR
        self.references[expr.id] = Reference(name)
        result = types.ERROR
        if found.kind != "type":
            self._report(expr.id, messages.not_a_type(found.name))
        elif found.params[0].kind != "struct" and name not in WELL_KNOWN:
            self._report(expr.id, messages.not_a_message_type(found.params[0].name))
        else:
            result = found.params[0]
        for field in expr.fields:
            self._struct_field(name if result != types.ERROR else None, field)
        return result

    def _struct_field(self, struct: str | None, field: ast.FieldInit) -> None:
        given = self.check(field.value)
        declared = self._env.field_type(struct, field.name) if struct is not None else types.ERROR
        if declared is None:
            self._report(field.id, messages.undefined_field(field.name))
        expected = declared or types.ERROR
        if field.optional:
            given = self._unwrapped(field.value.id, given)
        if not self._substitution.unify(expected, given):
            message = messages.field_type_mismatch(field.name, expected, self._shown(given))
            self._report(field.id, message)

    # --- comprehensions -------------------------------------------------------------------------------

    def _comprehension(self, expr: ast.Comprehension) -> Type:
        over = self._substitution.apply(self.check(expr.range))
        accu = self.check(expr.init)
        self._scopes.append({expr.accu: accu})
        first, second = self._variables(expr, over)
        self._scopes.append({expr.var: first} if expr.var2 is None else {expr.var: first, expr.var2: second})
        self._assert(expr.condition, types.BOOL)
        self._assert(expr.step, accu)
        self._scopes.pop()
        result = self.check(expr.result)
        self._scopes.pop()
        return self._substitution.apply(result)

    def _variables(self, expr: ast.Comprehension, over: Type) -> tuple[Type, Type]:
        two = expr.var2 is not None
        match over.kind:
            case "list":
                return (types.INT, over.params[0]) if two else (over.params[0], types.ERROR)
            case "map":
                return over.params[0], over.params[1]
            case "dyn" | "error" | "param" | "any":
                self._substitution.unify(types.DYN, over)
                return types.DYN, types.DYN
            case _:
                self._report(expr.range.id, messages.not_a_range(over))
                return types.ERROR, types.ERROR

    def _assert(self, expr: Expr, expected: Type) -> None:
        found = self.check(expr)
        if not self._substitution.unify(expected, found):
            shown = messages.type_mismatch(self._shown(expected), self._shown(found))
            self._report(expr.id, shown)
