"""Planned steps to Python source: the ordinary case, as fast as Python can do it, with its exact cost.

The generated function `run(variables, limit)` returns the value and the cost, or raises; then the caller runs
the steps themselves, which find the error and its cost (`policygen.cel.steps`). So the source needs no code
for errors, and what it cannot do at all is left out (`Unsupported`).

Straight code has a cost that is known here; it is added up in `pending` and written once per block. Branches
and loops are statements; everything else is one nested expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite
from typing import Any, Final

from policygen.cel import codegen_calls, runtime
from policygen.cel.attributes import (
    Absolute,
    Attribute,
    AttributeQualifier,
    AttributeStep,
    Conditional,
    ConstQualifier,
    Qualifier,
    Relative,
    TestQualifier,
)
from policygen.cel.constructors import MakeList, MakeMap, MakeStruct
from policygen.cel.cost import IDENT_COST, LIST_COST, MAP_COST, STRUCT_COST
from policygen.cel.errors import EvalError
from policygen.cel.folds import Fold
from policygen.cel.steps import CallStep, Const, InSet, Logic, OptionalOr, Step
from policygen.cel.types import DYN, Type
from policygen.cel.wellknown import WELL_KNOWN

_MAX_BLOCKS: Final = 15
"""Python allows 20 nested loops and conditions."""

_LONGEST_LITERAL: Final = 200


class UnsupportedError(Exception):
    """The steps contain something that the generated code leaves to the exact evaluator."""


def _is_atom(attribute: Absolute | Relative) -> bool:
    """Whether something is looked up in a constant that has no parts."""
    operand = attribute.operand if isinstance(attribute, Relative) else None
    return isinstance(operand, Const) and not isinstance(operand.value, (list, Mapping))


def generate(step: Step, types: Mapping[int, Type]) -> Any:
    """The function for planned steps, or `UnsupportedError`."""
    writer = Writer(types)
    value = writer.value(step)
    writer.line(f"return {value}, cost + {writer.take_pending()}")
    source = "\n".join(("def run(variables, limit):", "  cost = 0", *writer.prologue, *writer.lines))
    names = dict(runtime.HELPERS) | writer.constants
    # our own source: texts of the expression are in it as `repr` prints them, or in `constants`
    exec(compile(source, "<cel>", "exec"), names)  # noqa: S102
    return names["run"]


class Writer:
    """Writes the body of one function."""

    def __init__(self, types: Mapping[int, Type]) -> None:
        self.types = types
        self.prologue: list[str] = []
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {}
        self._pending = 0
        self._indent = 1
        self._count = 0
        self._locals: list[dict[str, tuple[str, Type]]] = []
        self._globals: dict[str, str] = {}
        self._bools: set[str] = set()

    # --- text -----------------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """Write a statement into the current block."""
        self.lines.append(f"{'  ' * self._indent}{text}")

    def charge(self, cost: int) -> None:
        """Count a known cost in the current block."""
        self._pending += cost

    def take_pending(self) -> int:
        """The cost of this block that is not written yet."""
        pending, self._pending = self._pending, 0
        return pending

    def flush(self) -> None:
        """Write the cost of this block."""
        if pending := self.take_pending():
            self.line(f"cost += {pending}")

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """A nested block with costs of its own."""
        if self._indent >= _MAX_BLOCKS:
            raise UnsupportedError
        self.line(header)
        outer, self._pending = self._pending, 0
        self._indent += 1
        written = len(self.lines)
        yield
        self.flush()
        if len(self.lines) == written:
            self.line("pass")
        self._indent -= 1
        self._pending = outer

    def name(self, prefix: str = "t") -> str:
        """A fresh local name."""
        self._count += 1
        return f"{prefix}{self._count}"

    def constant(self, value: Any) -> str:
        """A name for an object that the source refers to."""
        made = self.name("k")
        self.constants[made] = value
        return made

    def literal(self, value: Any) -> str:
        """A value as source, or a name for it."""
        kind = type(value)
        if value is None or kind is bool or kind is int:
            return repr(value)
        if kind is float and isfinite(value):
            return repr(value)
        if kind is str and len(value) < _LONGEST_LITERAL and value.isprintable():
            return repr(value)
        return self.constant(value)

    def saved(self, expression: str) -> str:
        """The expression in a local name, so that it is evaluated once."""
        if expression.isidentifier():
            return expression
        made = self.name()
        self.line(f"{made} = {expression}")
        return made

    def type_of(self, step: Step) -> Type:
        """The static type of a step."""
        if isinstance(step, Const):
            return codegen_calls.constant_type(step.value)
        if isinstance(step, AttributeStep) and isinstance(step.attribute, Absolute):
            if not step.attribute.qualifiers and (local := self._local(step.attribute.name)) is not None:
                return local[1]
        return self.types.get(step.id, DYN)

    def _local(self, name: str) -> tuple[str, Type] | None:
        for scope in reversed(self._locals):
            if name in scope:
                return scope[name]
        return None

    # --- values ---------------------------------------------------------------------------------------

    def value(self, step: Step) -> str:
        """Source for the value of a step; its cost is charged."""
        match step:
            case Const():
                if isinstance(step.value, EvalError):  # a literal that cannot be made
                    raise UnsupportedError
                return self.literal(step.value)
            case AttributeStep():
                return self._attribute_step(step)
            case CallStep():
                return codegen_calls.call(self, step)
            case Logic():
                return self._logic(step)
            case InSet():
                return self._in_set(step)
            case OptionalOr():
                return self._optional_or(step)
            case MakeList():
                return self._list(step)
            case MakeMap():
                return self._map(step)
            case MakeStruct():
                return self._struct(step)
            case Fold():
                return self._fold(step)
            case _:
                raise UnsupportedError

    def boolean(self, step: Step) -> str:
        """Source for a value that is certainly a bool: others make the code give up."""
        source = self.value(step)
        if codegen_calls.is_certainly_bool(step) or source in self._bools:
            return source
        made = self.saved(source)
        self.line(f"if {made} is not True and {made} is not False: give_up()")
        return made

    def _logic(self, step: Logic) -> str:
        made = self.name("b")
        first, *rest = step.terms
        self.line(f"{made} = {self.boolean(first)}")
        if len(rest) != 1:
            raise UnsupportedError
        with self.block(f"if not {made}:" if step.decides else f"if {made}:"):
            self.line(f"{made} = {self.boolean(rest[0])}")
        return made

    def _in_set(self, step: InSet) -> str:
        value = self.value(step.arg)
        if all(type(item) is str for item in step.values):
            return f"({value} in {self.constant(frozenset(step.values))})"
        return f"contains({value}, {self.constant(list(step.values))})"

    def _optional_or(self, step: OptionalOr) -> str:
        found = self.optional(step.left)
        made = self.name()
        self.line(f"{made} = {found}" if step.unwraps else f"{made} = make_optional({found})")
        with self.block(f"if {found} is ABSENT:"):
            self.line(f"{made} = {self.value(step.right)}")
        return made

    def optional(self, step: Step) -> str:
        """A name that holds what is in an optional, or `ABSENT`."""
        if isinstance(step, AttributeStep) and isinstance(step.attribute, (Absolute, Relative)):
            if any(qualifier.optional for qualifier in step.attribute.qualifiers):
                found = self._optional_chain(step.attribute)
                self.charge(IDENT_COST)
                return found
        value = self.saved(self.value(step))
        made = self.name()
        self.line(f"if type({value}) is not Optional: give_up()")
        self.line(f"{made} = ABSENT if {value} is NONE else {value}.value")
        return made

    def _list(self, step: MakeList) -> str:
        self.charge(LIST_COST)
        if not step.optional:
            return f"[{', '.join(self.value(element) for element in step.elements)}]"
        made = self.name()
        self.line(f"{made} = []")
        for index, element in enumerate(step.elements):
            if index in step.optional:
                found = self.optional(element)
                self.line(f"if {found} is not ABSENT: {made}.append({found})")
            else:
                self.line(f"{made}.append({self.value(element)})")
        return made

    def _map(self, step: MakeMap) -> str:
        self.charge(MAP_COST)
        keys = [key.value for key, _, _ in step.entries if isinstance(key, Const) and type(key.value) is str]
        if len(keys) == len(step.entries):
            return self._entries([(key, *entry[1:]) for key, entry in zip(keys, step.entries, strict=True)])
        made = self.name()
        self.line(f"{made} = {{}}")
        for key_step, value_step, optional in step.entries:
            if optional:
                raise UnsupportedError
            key = self.saved(self.value(key_step))
            self.line(f"if type({key}) is not str: give_up()")
            self.line(f"{made}[{key}] = {self.value(value_step)}")
        return made

    def _entries(self, entries: Sequence[tuple[str, Step, bool]]) -> str:
        """A dict with keys that are known now."""
        if not any(optional for _, _, optional in entries):
            return (
                f"{{{', '.join(f'{self.literal(key)}: {self.value(value)}' for key, value, _ in entries)}}}"
            )
        made = self.name()
        self.line(f"{made} = {{}}")
        for key, value, optional in entries:
            shown = self.literal(key)
            if optional:
                found = self.optional(value)
                self.line(f"if {found} is ABSENT: {made}.pop({shown}, None)")
                self.line(f"else: {made}[{shown}] = {found}")
            else:
                self.line(f"{made}[{shown}] = {self.value(value)}")
        return made

    def _struct(self, step: MakeStruct) -> str:
        if step.type_name in WELL_KNOWN:
            raise UnsupportedError
        self.charge(STRUCT_COST)
        fields = self._entries(step.fields)
        if step.type_name == "JSONPatch":
            return f"make_patch({fields})"
        return f"ObjectValue({self.literal(step.type_name)}, {fields})"

    # --- attributes -----------------------------------------------------------------------------------

    def _attribute_step(self, step: AttributeStep) -> str:
        attribute = step.attribute
        source = self.attribute(attribute)
        if not isinstance(attribute, Conditional) and not step.tests:
            self.charge(IDENT_COST)
        return source

    def attribute(self, attribute: Attribute) -> str:
        """Source for an attribute without the cost of being a value."""
        match attribute:
            case Conditional():
                return self._conditional(attribute)
            case Absolute() | Relative():
                if any(qualifier.optional for qualifier in attribute.qualifiers):
                    if any(isinstance(qualifier, TestQualifier) for qualifier in attribute.qualifiers):
                        raise UnsupportedError
                    return f"make_optional({self._optional_chain(attribute)})"
                return self._chain(attribute)

    def _root(self, attribute: Absolute | Relative) -> str:
        if isinstance(attribute, Relative):
            if _is_atom(attribute) and attribute.qualifiers:
                raise UnsupportedError  # always an error, of which Python would warn
            return self.value(attribute.operand)
        if (local := self._local(attribute.name)) is not None:
            return local[0]
        if attribute.name not in self._globals:
            made = self._globals[attribute.name] = self.name("v")
            self.prologue.append(f"  {made} = variables[{self.literal(attribute.name)}]")
        return self._globals[attribute.name]

    def _chain(self, attribute: Absolute | Relative) -> str:
        source = self._root(attribute)
        for qualifier in attribute.qualifiers:
            source = self._qualified(source, qualifier)
        return source

    def _qualified(self, target: str, qualifier: Qualifier) -> str:
        self.charge(1)
        match qualifier:
            case TestQualifier():
                made, key = self.name(), self.literal(qualifier.key)
                return f"({key} in {made} if type({made} := {target}) is dict else present({made}, {key}))"
            case ConstQualifier():
                if type(qualifier.key) is str:
                    return f"{target}[{self.literal(qualifier.key)}]"
                return f"index({target}, {self.literal(qualifier.key)})"
            case AttributeQualifier():
                # the index may need statements; the target must not be evaluated after them twice
                key = self.attribute(qualifier.attribute)
                return f"index({target}, {key})"

    def _optional_chain(self, attribute: Absolute | Relative) -> str:
        """Look up one after the other until something is absent; each that is present costs 1."""
        made = self.name("o")
        qualifiers = list(attribute.qualifiers)
        source = self._root(attribute)
        while qualifiers and not qualifiers[0].optional:
            source = self._qualified(source, qualifiers.pop(0))
        self.line(f"{made} = {source}")
        depth = 0
        for qualifier in qualifiers:
            if isinstance(qualifier, TestQualifier):
                raise UnsupportedError
            key = (
                self.literal(qualifier.key)
                if isinstance(qualifier, ConstQualifier)
                else self.attribute(qualifier.attribute)
            )
            self.line(f"{made} = optional_lookup({made}, {key})")
            self.flush()
            if self._indent >= _MAX_BLOCKS:
                raise UnsupportedError
            self.line(f"if {made} is not ABSENT:")
            self._indent += 1
            depth += 1
            self.line("cost += 1")
        self._indent -= depth
        self._pending = 0
        return made

    def _conditional(self, attribute: Conditional) -> str:
        made = self.name("r")
        condition = self.boolean(attribute.condition)
        with self.block(f"if {condition}:"):
            self.line(f"{made} = {self.attribute(attribute.truthy)}")
        with self.block("else:"):
            self.line(f"{made} = {self.attribute(attribute.falsy)}")
        return made

    # --- loops ----------------------------------------------------------------------------------------

    def _fold(self, step: Fold) -> str:
        if isinstance(step.over, Const) and step.over.value == []:
            return self._bind(step)
        over = self.saved(self.value(step.over))
        accu = self.name("a")
        accu_type = self.type_of(step.init)
        if not isinstance(step.init, Const):
            raise UnsupportedError
        start = step.init.value
        self.line(f"{accu} = {'[]' if start == [] else '{}' if start == {} else self.literal(start)}")
        if type(step.init.value) is bool and isinstance(step.step, Logic):
            self._bools.add(accu)
        over_type = self.type_of(step.over)
        self._locals.append({step.accu_name: (accu, accu_type)})
        self._locals.append(self._variables(step, over_type))
        self.flush()
        with self.block(self._header(step, over)):
            self._condition(step.condition)
            self._step(step.step, step.accu_name, accu)
            self.flush()
            self.line("if cost > limit: give_up()")
        self._locals.pop()
        result = self.value(step.result)
        self._locals.pop()
        return result

    def _variables(self, step: Fold, over: Type) -> dict[str, tuple[str, Type]]:
        first = second = DYN
        if over.kind == "list" and step.var2 is None:
            first = over.params[0]
        elif over.kind == "map":
            first, second = over.params
        found = {step.var: (self.name("x"), first)}
        if step.var2 is not None:
            found[step.var2] = (self.name("x"), second)
        return found

    def _header(self, step: Fold, over: str) -> str:
        names = self._locals[-1]
        first = names[step.var][0]
        if step.var2 is None:
            return f"for {first} in {over} if type({over}) is list else elements({over}):"
        return f"for {first}, {names[step.var2][0]} in pairs({over}):"

    def _condition(self, condition: Step) -> None:
        """Leave the loop when the condition is false."""
        if isinstance(condition, Const):
            return
        value = self.value(condition)
        self.flush()
        self.line(f"if not {value}: break")

    def _step(self, step: Step, name: str, accu: str) -> None:
        """Give the accumulator its next value; a list or map grows in place."""
        if codegen_calls.grows(self, step, name, accu):
            return
        if isinstance(step, AttributeStep) and isinstance(step.attribute, Conditional):
            attribute = step.attribute
            condition = self.boolean(attribute.condition)
            with self.block(f"if {condition}:"):
                if isinstance(attribute.truthy, Relative) and not attribute.truthy.qualifiers:
                    self._step(attribute.truthy.operand, name, accu)
                else:
                    self.line(f"{accu} = {self.attribute(attribute.truthy)}")
            return
        self.line(f"{accu} = {self.value(step)}")

    def _bind(self, step: Fold) -> str:
        """`cel.bind`: the variable is evaluated when it is first used, so it must certainly be used."""
        if not codegen_calls.certainly_uses(step.result, step.accu_name):
            raise UnsupportedError
        bound = self.name("a")
        self.line(f"{bound} = {self.value(step.init)}")
        self._locals.append({step.accu_name: (bound, self.type_of(step.init))})
        result = self.value(step.result)
        self._locals.pop()
        return result
