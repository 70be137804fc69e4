"""An expression that is ready to run: compile it once, evaluate it often."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from policygen.cel import checker, codegen, parser, planner, validators
from policygen.cel.ast import Comprehension, Parsed, walk
from policygen.cel.errors import EvalError
from policygen.cel.recursion import SHALLOW, room_for
from policygen.cel.runtime import GIVE_UP
from policygen.cel.steps import Frame, beyond_cel
from policygen.cel.tracker import Tracker
from policygen.cel.values import Value

if TYPE_CHECKING:
    from policygen.cel.budget import Budget
    from policygen.cel.checker import Checked
    from policygen.cel.env import Env
    from policygen.cel.types import Type

_NO_LIMIT: Final = 2**64
_EVALUATIONS_BEFORE_CODE: Final = 1
"""Generating code takes as long as some ten evaluations without it; loops get theirs at once."""


def parse(text: str, env: Env) -> Parsed:
    """Parse with the macros and the syntax of an environment."""
    return parser.parse(text, env.macros, optional_syntax=env.optional_syntax)


def check(text: str, env: Env) -> Checked:
    """Parse, check and validate; `CompileError` with stage `compile`."""
    checked = checker.check(parse(text, env), env)
    validators.validate(checked, env)
    return checked


def compile_program(text: str, env: Env) -> Program:
    """Compile an expression or raise `CompileError` with the server's text."""
    return Program(check(text, env), env)


class Program:
    """A compiled expression. It may be shared; all that changes is that it becomes faster when used again."""

    __slots__ = ("_evaluations", "_run", "_step", "checked")

    def __init__(self, checked: Checked, env: Env) -> None:
        self.checked = checked
        self._step = planner.plan(checked, env)
        loops = any(isinstance(node, Comprehension) for node in walk(checked.expr))
        self._evaluations = _EVALUATIONS_BEFORE_CODE if loops else 0
        self._run: Callable[[Mapping[str, Value], int], tuple[Value, int]] | None = None

    @property
    def result_type(self) -> Type:
        """The type of every value that it gives."""
        return self.checked.result_type

    def specialize(self) -> bool:
        """Generate the code for the ordinary case now; whether there is any."""
        self._evaluations = _EVALUATIONS_BEFORE_CODE + 1
        if self._run is None and self.checked.depth <= SHALLOW:
            try:
                self._run = codegen.generate(self._step, self.checked.types)
            except (codegen.UnsupportedError, SyntaxError, MemoryError, RecursionError):
                self._run = None
        return self._run is not None

    def evaluate(
        self, activation: Mapping[str, Value], *, limit: int | None = None, budget: Budget | None = None
    ) -> Value:
        """The value, or `EvalError`. The cost goes to the budget, also when evaluation fails."""
        return self.evaluate_with_cost(activation, limit=limit, budget=budget)[0]

    def evaluate_with_cost(
        self, activation: Mapping[str, Value], *, limit: int | None = None, budget: Budget | None = None
    ) -> tuple[Value, int]:
        """The value and its cost; an `EvalError` has the cost in `cost`."""
        run = self._run
        if run is None and self._evaluations <= _EVALUATIONS_BEFORE_CODE:
            self._evaluations += 1
            if self._evaluations > _EVALUATIONS_BEFORE_CODE:
                self.specialize()
                run = self._run
        if run is not None:
            most = _NO_LIMIT if limit is None else limit
            try:
                found = run(activation, most)
            except (EvalError, *GIVE_UP):
                pass
            else:
                if found[1] <= most:
                    if budget is not None:
                        budget.spend(found[1])
                    return found
        return self.evaluate_exactly(activation, limit=limit, budget=budget)

    def evaluate_exactly(
        self, activation: Mapping[str, Value], *, limit: int | None = None, budget: Budget | None = None
    ) -> tuple[Value, int]:
        """The same without generated code."""
        tracker = Tracker(limit)
        value: Any
        try:
            with room_for(self.checked.depth):
                value = self._step.eval(Frame(activation, tracker))
        except EvalError as error:
            value = error
        except (OverflowError, UnicodeError, RecursionError) as error:
            value = EvalError(beyond_cel(error))
        if budget is not None:
            budget.spend(tracker.cost)
        if isinstance(value, EvalError):
            failed = EvalError(value.message) if type(value) is EvalError else value
            failed.cost = tracker.cost
            raise failed
        return value, tracker.cost
