"""Loops: what macros become (cel-go `evalFold`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policygen.cel.errors import EvalError
from policygen.cel.steps import Frame, Step
from policygen.cel.values import Value, go_type


class FoldFrame(Frame):
    """The variables of one loop; the accumulator is initialised when it is first read."""

    __slots__ = ("_fold", "_parent", "accu", "in_result", "initialized", "var", "var2")

    def __init__(self, parent: Frame, fold: Fold) -> None:
        super().__init__(parent.variables, parent.tracker)
        self._parent = parent
        self._fold = fold
        self.initialized = False
        self.in_result = False
        self.accu: Value = None
        self.var: Value = None
        self.var2: Value = None

    def resolve(self, name: str) -> Value:
        """The value of a variable of the loop, or of what is around it."""
        fold = self._fold
        if name == fold.accu_name:
            if not self.initialized:
                self.initialized = True
                self.accu = fold.init.eval(self._parent)
            if isinstance(self.accu, EvalError):
                raise self.accu
            return self.accu
        if not self.in_result:
            if name == fold.var:
                return self.var
            if name == fold.var2:
                return self.var2
        return self._parent.resolve(name)


class Fold:
    """A comprehension. An error in the accumulator does not end the loop: its cost goes on counting."""

    __slots__ = (
        "accu_name",
        "condition",
        "id",
        "init",
        "over",
        "result",
        "step",
        "var",
        "var2",
    )

    def __init__(
        self,
        node: int,
        names: tuple[str, str | None, str],
        over: Step,
        init: Step,
        condition: Step,
        step: Step,
        result: Step,
    ) -> None:
        self.id = node
        self.var, self.var2, self.accu_name = names
        self.init = init
        self.over = over
        self.condition = condition
        self.step = step
        self.result = result

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop(self.over.id)
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        over = self.over.eval(frame)
        if isinstance(over, EvalError):
            return over
        inner = FoldFrame(frame, self)
        try:
            pairs = self._pairs(over)
        except EvalError as error:
            return error
        for inner.var, inner.var2 in pairs:
            if self.condition.eval(inner) is False:
                break
            inner.accu = self.step.eval(inner)
            inner.initialized = True
        inner.in_result = True
        return self.result.eval(inner)

    def _pairs(self, over: Value) -> Sequence[tuple[Value, Value]]:
        if isinstance(over, list):
            return list(enumerate(over)) if self.var2 is not None else [(item, None) for item in over]
        if isinstance(over, Mapping):
            return list(over.items()) if self.var2 is not None else [(key, None) for key in over]
        raise EvalError(range_error(over, two=self.var2 is not None))


def range_error(over: Value, *, two: bool) -> str:
    """What cannot be iterated."""
    shown = go_type(over)
    if two:
        return f"unsupported comprehension range type: {shown}"
    return f"got '{shown}', expected iterable type"
