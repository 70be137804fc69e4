"""A checked expression to steps: names resolved, constants folded, regexes compiled (cel-go `planner.go`).

A fault here is `program instantiation failed: …`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from policygen.cel import access, ast, dispatch
from policygen.cel.ast import Expr
from policygen.cel.attributes import (
    Absolute,
    AttributeQualifier,
    AttributeStep,
    Conditional,
    ConstQualifier,
    Relative,
    TestQualifier,
)
from policygen.cel.constructors import MakeList, MakeMap, MakeStruct
from policygen.cel.errors import CompileError, EvalError, NoSuchOverloadError
from policygen.cel.folds import Fold
from policygen.cel.recursion import room_for
from policygen.cel.steps import CallStep, Const, Frame, InSet, Logic, OptionalOr, Step
from policygen.cel.tracker import Tracker
from policygen.cel.values import TypeValue, Uint, Value
from policygen.cel.wellknown import ENUM_VALUES

if TYPE_CHECKING:
    from policygen.cel.attributes import Attribute, Qualifier
    from policygen.cel.checker import Checked
    from policygen.cel.env import Env

_REGEX_FUNCTIONS: Final = frozenset({"matches", "find", "findAll"})
_PRIMITIVES: Final = frozenset({bool, bytes, float, int, str, Uint})


def plan(checked: Checked, env: Env) -> Step:
    """Plan an expression or raise `CompileError`."""
    with room_for(checked.depth):
        try:
            return _Planner(checked, env).plan(checked.expr)
        except EvalError as error:
            raise CompileError(error.message, stage="program") from None


def _on_text(bind: Callable[..., Value]) -> Callable[..., Value]:
    """A function with a regex that is compiled already; it does not say by name what it cannot search."""

    def run(text: Value, *args: Value) -> Value:
        if type(text) is not str:
            raise NoSuchOverloadError
        return bind(text, *args)

    return run


class _Planner:
    def __init__(self, checked: Checked, env: Env) -> None:
        self._types = checked.types
        self._references = checked.references
        self._env = env
        self._locals: list[str] = []

    def plan(self, expr: Expr) -> Step:
        match expr:
            case ast.Literal(id=node, value=value):
                return Const(node, value)
            case ast.Ident():
                return self._name(expr.id, self._references[expr.id].name)
            case ast.Select():
                return self._select(expr)
            case ast.Call():
                return self._call(expr)
            case ast.ListExpr():
                return self._list(expr)
            case ast.MapExpr():
                return self._map(expr)
            case ast.StructExpr():
                fields = [(field.name, self.plan(field.value), field.optional) for field in expr.fields]
                return MakeStruct(expr.id, self._references[expr.id].name, fields)
            case ast.Comprehension():
                return self._comprehension(expr)

    # --- names and selections -------------------------------------------------------------------------

    def _name(self, node: int, name: str) -> Step:
        if name not in self._locals and not self._env.is_variable(name.removeprefix(".")):
            return Const(node, self._named_constant(name.removeprefix(".")))
        return AttributeStep(Absolute(node, name if name in self._locals else name.removeprefix(".")))

    def _named_constant(self, name: str) -> int | TypeValue:
        if name in ENUM_VALUES:
            return ENUM_VALUES[name]
        found = self._env.type_value(name)
        if found is None:
            raise EvalError(f"reference to undefined type: {name}")
        return found

    def _select(self, expr: ast.Select) -> Step:
        if expr.id in self._references:
            return self._name(expr.id, self._references[expr.id].name)
        attribute = self._attribute_of(self.plan(expr.operand))
        if expr.test_only:
            attribute.add(TestQualifier(expr.id, expr.field, field=self._is_struct(expr.operand)))
            return AttributeStep(attribute, tests=True)
        field = self._is_struct(expr.operand)
        attribute.add(ConstQualifier(expr.id, expr.field, optional=False, field=field))
        return AttributeStep(attribute)

    def _is_struct(self, operand: Expr) -> bool:
        return self._types[operand.id].kind == "struct"

    def _attribute_of(self, step: Step) -> Attribute:
        if isinstance(step, AttributeStep):
            return step.attribute
        return Relative(step.id, step)

    def _index(self, expr: ast.Call, args: list[Step], *, optional: bool) -> Step:
        target, index = args
        attribute = self._attribute_of(target)
        qualifier: Qualifier
        if isinstance(index, Const):
            access.check_key(index.value)
            field = self._is_struct(expr.args[0])
            qualifier = ConstQualifier(expr.id, index.value, optional=optional, field=field)
        elif isinstance(index, AttributeStep):
            qualifier = AttributeQualifier(expr.id, index.attribute, optional=optional)
        else:
            qualifier = AttributeQualifier(expr.id, Relative(expr.id, index), optional=optional)
        attribute.add(qualifier)
        return AttributeStep(attribute)

    # --- calls ----------------------------------------------------------------------------------------

    def _call(self, expr: ast.Call) -> Step:
        reference = self._references[expr.id]
        operands = expr.args
        if expr.target is not None and not reference.is_namespaced:
            operands = (expr.target, *expr.args)
        args = [self.plan(operand) for operand in operands]
        match reference.name:
            case "_&&_":
                return Logic(expr.id, args, decides=False)
            case "_||_":
                return Logic(expr.id, args, decides=True)
            case "_?_:_":
                condition, truthy, falsy = args
                branches = self._attribute_of(truthy), self._attribute_of(falsy)
                return AttributeStep(Conditional(expr.id, condition, *branches))
            case "_[_]":
                return self._index(expr, args, optional=False)
            case "_[?_]" | "_?._":
                return self._index(expr, args, optional=True)
            case "or" if self._is_overload(reference.overloads, "optional_or_optional"):
                return OptionalOr(expr.id, args[0], args[1], unwraps=False)
            case "orValue" if self._is_overload(reference.overloads, "optional_orValue_value"):
                return OptionalOr(expr.id, args[0], args[1], unwraps=True)
            case name:
                return self._function(expr, name, args)

    @staticmethod
    def _is_overload(overloads: tuple[object, ...], name: str) -> bool:
        return any(getattr(overload, "id", None) == name for overload in overloads)

    def _function(self, expr: ast.Call, name: str, args: list[Step]) -> Step:
        function = self._env.function(name.removeprefix("."))
        assert function is not None
        overloads = self._references[expr.id].overloads
        overload = overloads[0].id if len(overloads) == 1 else ""
        step = CallStep(
            expr.id,
            function.name,
            overload,
            args,
            dispatch.binding(function, overloads),
            dispatch.call_cost(function, overloads),
            strict=all(candidate.strict for candidate in overloads),
        )
        step.stops = step.stops or (not overload and function.bind is None)
        if overload == "in_list" and isinstance(args[1], Const) and isinstance(args[1].value, list):
            return self._in_list(step, args[1].value)
        if function.fold and len(args) == 1 and isinstance(args[0], Const):
            value = args[0].value
            if not isinstance(value, EvalError):
                value = step.apply([value])
            if isinstance(value, EvalError):
                raise value
            return Const(expr.id, value)
        if function.name in _REGEX_FUNCTIONS and len(args) > 1:
            self._compile_regex(step, args[1])
        return step

    @staticmethod
    def _compile_regex(step: CallStep, pattern: Step) -> None:
        if isinstance(pattern, Const) and type(pattern.value) is str:
            from policygen.cel.goregex import RegexError
            from policygen.cel.goregex_match import compile_regex

            try:
                compile_regex(pattern.value)
            except RegexError as error:
                raise EvalError(str(error)) from None
            step.stops = True
            step.bind = _on_text(step.bind)

    @staticmethod
    def _in_list(step: CallStep, values: list[object]) -> Step:
        """`x in [constants]` is a set when the constants are of one primitive type."""
        if not values:
            return Const(step.id, False)
        kind = type(values[0])
        if kind not in _PRIMITIVES or any(type(value) is not kind for value in values):
            return step
        return InSet(step.id, step.args[0], values)

    # --- literals and loops ---------------------------------------------------------------------------

    def _list(self, expr: ast.ListExpr) -> Step:
        elements = [self.plan(element) for element in expr.elements]
        step = MakeList(expr.id, elements, expr.optional)
        return self._fold_literal(step, elements)

    def _map(self, expr: ast.MapExpr) -> Step:
        entries = [(self.plan(entry.key), self.plan(entry.value), entry.optional) for entry in expr.entries]
        step = MakeMap(expr.id, entries)
        return self._fold_literal(step, [part for key, value, _ in entries for part in (key, value)])

    @staticmethod
    def _fold_literal(step: MakeList | MakeMap, parts: list[Step]) -> Step:
        """A literal of constants is a constant."""
        if not all(isinstance(part, Const) for part in parts):
            return step
        value = step.eval(Frame({}, Tracker(None)))
        return Const(step.id, value)

    def _comprehension(self, expr: ast.Comprehension) -> Step:
        names = expr.var, expr.var2, expr.accu
        init, over = self.plan(expr.init), self.plan(expr.range)
        depth = len(self._locals)
        self._locals.append(expr.accu)
        loop = [expr.var] if expr.var2 is None else [expr.var, expr.var2]
        self._locals.extend(loop)
        condition, step = self.plan(expr.condition), self.plan(expr.step)
        del self._locals[depth + 1 :]
        result = self.plan(expr.result)
        del self._locals[depth:]
        return Fold(expr.id, names, over, init, condition, step, result)
