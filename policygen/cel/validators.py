"""Checks of literals after type checking: cel-go `cel/validator.go` and `ext/formatting.go`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from policygen.cel import ast, messages, types
from policygen.cel.ast import Expr
from policygen.cel.errors import EvalError
from policygen.cel.source_errors import SourceErrors

if TYPE_CHECKING:
    from policygen.cel.checker import Checked
    from policygen.cel.env import Env
    from policygen.cel.types import Type


def validate(checked: Checked, env: Env) -> None:
    """Raise `CompileError` with every literal that is wrong."""
    errors = SourceErrors(checked.info.text)
    validator = _Validator(checked, env, errors)
    for name in ("duration", "timestamp", "regex", "homogeneous", "format"):
        if name in env.validators:
            validator.run(name)
    errors.raise_if_any()


class _Validator:
    def __init__(self, checked: Checked, env: Env, errors: SourceErrors) -> None:
        self._checked = checked
        self._env = env
        self._errors = errors
        self._nodes = list(ast.walk(checked.expr))

    def run(self, name: str) -> None:
        match name:
            case "duration" | "timestamp":
                self._conversions(name)
            case "regex":
                self._regexes()
            case "homogeneous":
                self._homogeneous()
            case _:
                self._formats()

    def _report(self, node: Expr, message: str) -> None:
        self._errors.report(self._checked.info.offsets[node.id], message)

    def _calls(self, name: str) -> Iterator[ast.Call]:
        for node in self._nodes:
            if isinstance(node, ast.Call) and node.function == name:
                yield node

    # --- conversions and regexes ----------------------------------------------------------------------

    def _conversions(self, name: str) -> None:
        """`duration('1x')`: the call is tried."""
        from policygen.cel.dispatch import binding

        function = self._env.function(name)
        assert function is not None
        convert = binding(function, function.overloads)
        for call in self._calls(name):
            argument = call.args[0] if len(call.args) == 1 else None
            if isinstance(argument, ast.Literal):
                self._try(argument, name, convert)

    def _try(self, argument: ast.Literal, name: str, convert: Callable[[object], object]) -> None:
        try:
            convert(argument.value)
        except EvalError:
            self._report(argument, f"invalid {name} argument")

    def _regexes(self) -> None:
        """`x.matches('(')`."""
        for call in self._calls("matches"):
            operands = call.args if call.target is None else (call.target, *call.args)
            if len(operands) == 2 and isinstance(operands[1], ast.Literal):
                self._regex(operands[1])

    def _regex(self, pattern: ast.Literal) -> None:
        from policygen.cel.goregex import RegexError
        from policygen.cel.goregex_match import compile_regex

        if type(pattern.value) is str:
            try:
                compile_regex(pattern.value)
            except RegexError:
                self._report(pattern, "invalid matches argument")

    # --- aggregates -----------------------------------------------------------------------------------

    def _homogeneous(self) -> None:
        """`[1, 'a']`: elements of a literal must have one type, except in the arguments of `format`."""
        exempt = self._exempt() if "format" in self._env.validators else frozenset()
        for node in self._nodes:
            if node.id in exempt:
                continue
            if isinstance(node, ast.ListExpr):
                self._same([(element, index in node.optional) for index, element in enumerate(node.elements)])
            elif isinstance(node, ast.MapExpr):
                self._same_entries(node)

    def _exempt(self) -> frozenset[int]:
        return frozenset(node.id for call in self._calls("format") for node in ast.walk(call))

    def _same(self, elements: list[tuple[Expr, bool]]) -> None:
        expected: Type | None = None
        for element, optional in elements:
            found = self._type(element, optional=optional)
            if expected is None:
                expected = found
            elif found != expected:
                self._report(element, messages.type_mismatch(expected, found))
                return

    def _same_entries(self, node: ast.MapExpr) -> None:
        if not node.entries:
            return
        first = node.entries[0]
        key_type = self._type(first.key, optional=False)
        value_type = self._type(first.value, optional=first.optional)
        for entry in node.entries[1:]:
            key = self._type(entry.key, optional=False)
            if key != key_type:
                self._report(entry.key, messages.type_mismatch(key_type, key))
            value = self._type(entry.value, optional=entry.optional)
            if value != value_type:
                self._report(entry.value, messages.type_mismatch(value_type, value))

    def _type(self, node: Expr, *, optional: bool) -> Type:
        found = self._checked.types[node.id]
        return found.params[0] if optional and types.is_optional(found) else found

    # --- format ---------------------------------------------------------------------------------------

    def _formats(self) -> None:
        """`'%d'.format(['x'])`: clauses against the types of the arguments."""
        for call in self._calls("format"):
            target, args = call.target, call.args
            if not isinstance(target, ast.Literal) or type(target.value) is not str:
                continue
            if len(args) == 1 and isinstance(args[0], ast.ListExpr):
                self._format(call, target.value, args[0].elements)

    def _format(self, call: ast.Call, text: str, elements: tuple[Expr, ...]) -> None:
        from policygen.cel.goformat import FormatError, interpolate

        check = _FormatCheck(self._checked, elements)
        try:
            interpolate(text, len(elements), check.clause)
        except FormatError as error:
            self._report(check.failed if check.failed is not None else call, str(error))
            return
        if len(elements) > check.used:
            counts = f"(expected {check.used}, got {len(elements)})"
            self._report(call, f"too many arguments supplied to string.format {counts}")


class _FormatCheck:
    """Judges the arguments of one call by their types."""

    def __init__(self, checked: Checked, elements: tuple[Expr, ...]) -> None:
        self._checked = checked
        self._elements = elements
        self.used = 0
        self.failed: Expr | None = None

    def clause(self, index: int, clause: object) -> str:
        """Refuse an argument that the clause cannot print."""
        from policygen.cel.goformat import ACCEPTED, Clause, refusal

        assert isinstance(clause, Clause)
        self.used = max(self.used, index + 1)
        element = self._elements[index]
        if clause.verb == "s":
            bad = self._unprintable(element)
        else:
            bad = None if self._accepts(element, ACCEPTED[clause.verb]) else element
        if bad is not None:
            self.failed = bad
            raise refusal(clause, self._checked.types[bad.id].name)
        return ""

    def _accepts(self, node: Expr, accepted: frozenset[str]) -> bool:
        found = self._checked.types[node.id]
        return found.is_dyn or found.kind == "param" or found.name in accepted

    def _unprintable(self, node: Expr) -> Expr | None:
        """The part of an argument that `%s` cannot print."""
        from policygen.cel.goformat import ACCEPTED

        if not self._accepts(node, ACCEPTED["s"]):
            return node
        parts: tuple[Expr, ...] = ()
        if isinstance(node, ast.ListExpr):
            parts = node.elements
        elif isinstance(node, ast.MapExpr):
            parts = tuple(part for entry in node.entries for part in (entry.key, entry.value))
        return next((bad for part in parts if (bad := self._unprintable(part)) is not None), None)
