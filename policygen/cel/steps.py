"""A checked expression as cel-go evaluates it, step by step, with its cost (`interpreter/interpretable.go`).

This is the exact evaluator: errors are values here, as in cel-go, because their cost goes on counting. The
generated code of `codegen` handles the ordinary case and leaves everything else to this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from policygen.cel.decls import Cost
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.tracker import Tracker
from policygen.cel.values import (
    NONE,
    Optional,
    Value,
    equal,
)


class Frame:
    """The variables and the tracker of one evaluation. `resolve` raises `EvalError`."""

    __slots__ = ("tracker", "variables")

    def __init__(self, variables: Mapping[str, Value], tracker: Tracker) -> None:
        self.variables = variables
        self.tracker = tracker

    def resolve(self, name: str) -> Value:
        """The value of a variable."""
        try:
            return self.variables[name]
        except KeyError:
            raise EvalError(f"no such attribute(s): {name}") from None


class Step(Protocol):
    """Something that can be evaluated. The result may be an `EvalError`, which is then the value."""

    @property
    def id(self) -> int:
        """The node's id."""
        ...

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        ...


class Const:
    """A constant; costs nothing."""

    __slots__ = ("id", "value")

    def __init__(self, node: int, value: Value) -> None:
        self.id = node
        self.value = value

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        frame.tracker.push(self.id, self.value)
        return self.value


class Logic:
    """`&&` and `||`: the deciding value wins over errors."""

    __slots__ = ("decides", "id", "terms")

    def __init__(self, node: int, terms: Sequence[Step], *, decides: bool) -> None:
        self.id = node
        self.terms = terms
        self.decides = decides

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop(*(term.id for term in self.terms))
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        error: EvalError | None = None
        for term in self.terms:
            value = term.eval(frame)
            if value is self.decides:
                return value
            if type(value) is not bool and error is None:
                error = value if isinstance(value, EvalError) else NoSuchOverloadError()
        return error if error is not None else not self.decides


class CallStep:
    """A call. Up to two arguments are always evaluated; longer lists stop at the first error."""

    __slots__ = ("args", "bind", "cost", "function", "id", "overload", "stops", "strict")

    def __init__(
        self,
        node: int,
        function: str,
        overload: str,
        args: Sequence[Step],
        bind: Callable[..., Any],
        cost: Cost,
        *,
        strict: bool = True,
    ) -> None:
        self.id = node
        self.function = function
        self.overload = overload
        self.args = args
        self.strict = strict
        self.stops = len(args) > 2
        self.bind = bind
        self.cost = cost

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        tracker = frame.tracker
        args = tracker.drop_args([arg.id for arg in self.args])
        if args is not None:
            cost = self.cost
            tracker.cost += cost if isinstance(cost, int) else cost(args, value)
        tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        values = []
        for arg in self.args:
            value = arg.eval(frame)
            if self.stops and self.strict and isinstance(value, EvalError):
                return value
            values.append(value)
        if self.strict:
            for value in values:
                if isinstance(value, EvalError):
                    return value
        return self.apply(values)

    def apply(self, values: Sequence[Value]) -> Value:
        """Run the binding on values; an error is the result."""
        try:
            return self.bind(*values)
        except EvalError as error:
            return error
        except (OverflowError, UnicodeError, RecursionError) as error:
            return EvalError(f"{self.function}: {beyond_cel(error)}")


def beyond_cel(error: Exception) -> str:
    """What is wrong with data that no JSON document can hold, but a caller's Python values can."""
    if isinstance(error, OverflowError):
        return "a number is out of range"
    if isinstance(error, UnicodeError):
        return "a text is not Unicode"
    return "the data is nested too deeply"


class InSet:
    """`x in [constants]` as a look-up; costs nothing."""

    __slots__ = ("arg", "id", "values")

    def __init__(self, node: int, arg: Step, values: Sequence[Value]) -> None:
        self.id = node
        self.arg = arg
        self.values = values

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self.arg.eval(frame)
        if not isinstance(value, EvalError):
            value = any(equal(value, item) for item in self.values)
        frame.tracker.push(self.id, value)
        return value


class OptionalOr:
    """`optional.or(other)`, `optional.orValue(other)`: the other side is evaluated only when needed."""

    __slots__ = ("id", "left", "right", "unwraps")

    def __init__(self, node: int, left: Step, right: Step, *, unwraps: bool) -> None:
        self.id = node
        self.left = left
        self.right = right
        self.unwraps = unwraps

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self.left.eval(frame)
        if type(value) is Optional:
            if value is NONE:
                value = self.right.eval(frame)
            elif self.unwraps:
                value = value.value
        elif not isinstance(value, EvalError):
            value = NoSuchOverloadError()
        frame.tracker.push(self.id, value)
        return value
