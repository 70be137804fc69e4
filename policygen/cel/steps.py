"""A checked expression as cel-go evaluates it, step by step, with its cost (`interpreter/interpretable.go`).

This is the exact evaluator: errors are values here, as in cel-go, because their cost goes on counting. The
generated code of `codegen` handles the ordinary case and leaves everything else to this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from policygen.cel.cost import LIST_COST, MAP_COST, STRUCT_COST
from policygen.cel.decls import Cost
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.tracker import Tracker
from policygen.cel.values import (
    NONE,
    JSONPatchValue,
    MixedMap,
    ObjectValue,
    Optional,
    Value,
    equal,
    type_name,
)
from policygen.cel.wellknown import WELL_KNOWN, make_well_known


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


class MakeList:
    """`[a, ?b]`."""

    __slots__ = ("elements", "id", "optional")

    def __init__(self, node: int, elements: Sequence[Step], optional: frozenset[int]) -> None:
        self.id = node
        self.elements = elements
        self.optional = optional

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([element.id for element in self.elements])
        frame.tracker.cost += LIST_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made = []
        for index, element in enumerate(self.elements):
            value = element.eval(frame)
            if isinstance(value, EvalError):
                return value
            if index in self.optional:
                if type(value) is not Optional:
                    return EvalError(
                        f"cannot initialize optional list element from non-optional value {value}"
                    )
                if value is NONE:
                    continue
                value = value.value
            made.append(value)
        return made


class MakeMap:
    """`{k: v, ?k: v}`."""

    __slots__ = ("entries", "id")

    def __init__(self, node: int, entries: Sequence[tuple[Step, Step, bool]]) -> None:
        self.id = node
        self.entries = entries

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([step.id for key, item, _ in self.entries for step in (key, item)])
        frame.tracker.cost += MAP_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made: Mapping[Any, Value] = {}
        for key_step, value_step, optional in self.entries:
            key = key_step.eval(frame)
            if isinstance(key, EvalError):
                return key
            value = value_step.eval(frame)
            if isinstance(value, EvalError):
                return value
            try:
                made = put(made, key, value, optional=optional)
            except EvalError as error:
                return error
        return made


def put(made: Mapping[Any, Value], key: Value, value: Value, *, optional: bool) -> Mapping[Any, Value]:
    """Add an entry to a map that is being made; the map may become another one."""
    if optional:
        if type(value) is not Optional:
            shown = f"cannot initialize optional entry '{key}' from non-optional value {value}"
            raise EvalError(shown)
        if value is NONE:
            return without(made, key)
        value = value.value
    try:
        clashes = key in made and type(key) is not str and _clashes(made, key)
    except TypeError:
        raise EvalError(f"unsupported key type: {type_name(key)}") from None
    if clashes:
        made = MixedMap(made)
    if isinstance(made, MixedMap):
        made.put(key, value)
    else:
        assert isinstance(made, dict)
        made[key] = value
    return made


def _clashes(made: Mapping[Any, Value], key: Value) -> bool:
    return any(known == key and type(known) is not type(key) for known in made)


def without(made: Mapping[Any, Value], key: Value) -> Mapping[Any, Value]:
    """The map without a key."""
    return {known: value for known, value in made.items() if known != key or type(known) is not type(key)}


class MakeStruct:
    """`Object.spec{field: value}`, `JSONPatch{…}`."""

    __slots__ = ("fields", "id", "type_name")

    def __init__(self, node: int, name: str, fields: Sequence[tuple[str, Step, bool]]) -> None:
        self.id = node
        self.type_name = name
        self.fields = fields

    def eval(self, frame: Frame) -> Value:
        """Evaluate and count."""
        value = self._value(frame)
        frame.tracker.drop_args([step.id for _, step, _ in self.fields])
        frame.tracker.cost += STRUCT_COST
        frame.tracker.push(self.id, value)
        return value

    def _value(self, frame: Frame) -> Value:
        made: Mapping[Any, Value] = {}
        for name, step, optional in self.fields:
            value = step.eval(frame)
            if isinstance(value, EvalError):
                return value
            try:
                made = put(made, name, value, optional=optional)
            except EvalError as error:
                return error
        try:
            return make_struct(self.type_name, made)
        except EvalError as error:
            return error


def make_struct(name: str, fields: Mapping[Any, Value]) -> Value:
    """A struct from its fields."""
    if name == "JSONPatch":
        return JSONPatchValue(fields)
    if name in WELL_KNOWN:
        return make_well_known(name, fields)
    return ObjectValue(name, fields)


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


_GO_TYPES = {
    "bool": "types.Bool",
    "int": "types.Int",
    "uint": "types.Uint",
    "double": "types.Double",
    "string": "types.String",
    "bytes": "types.Bytes",
    "null_type": "types.Null",
    "google.protobuf.Duration": "types.Duration",
    "google.protobuf.Timestamp": "types.Timestamp",
    "type": "*types.Type",
    "optional_type": "*types.Optional",
}


def range_error(over: Value, *, two: bool) -> str:
    """What cannot be iterated."""
    name = type_name(over)
    shown = _GO_TYPES.get(name, name)
    if two:
        return f"unsupported comprehension range type: {shown}"
    return f"got '{shown}', expected iterable type"
