"""Calls in generated code: operators inline where the types allow, everything else a call of its binding."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from policygen.cel import cost, types
from policygen.cel.attributes import Absolute, AttributeStep, Conditional, Relative
from policygen.cel.constructors import MakeList
from policygen.cel.folds import Fold
from policygen.cel.steps import CallStep, Const, InSet, Logic, OptionalOr, Step
from policygen.cel.types import DYN, Type
from policygen.cel.values import Uint, Value

if TYPE_CHECKING:
    from policygen.cel.codegen import Writer

_CONSTANT_TYPES: Final = {
    bool: types.BOOL,
    int: types.INT,
    Uint: types.UINT,
    float: types.DOUBLE,
    str: types.STRING,
    bytes: types.BYTES,
    type(None): types.NULL,
}
_COMPARISONS: Final = {"_<_": "<", "_<=_": "<=", "_>_": ">", "_>=_": ">="}
_BOOLEAN_CALLS: Final = frozenset({"_==_", "_!=_", "@in", "!_", "@not_strictly_false", *_COMPARISONS})
_SAFE_INTEGER: Final = 2**53
_CHARACTERS_PER_COST: Final = 10


def constant_type(value: Value) -> Type:
    """The type of a constant; `dyn` for lists and the like."""
    return _CONSTANT_TYPES.get(type(value), DYN)


def is_certainly_bool(step: Step) -> bool:
    """Whether a step gives a bool whatever the data."""
    match step:
        case Logic() | InSet():
            return True
        case Const():
            return type(step.value) is bool
        case CallStep():
            return step.function in _BOOLEAN_CALLS
        case AttributeStep():
            return step.tests
        case Fold():
            return is_certainly_bool(step.result)
        case _:
            return False


def call(writer: Writer, step: CallStep) -> str:
    """Source for a call."""
    if len(step.args) == 2:
        inline = _binary(writer, step)
        if inline is not None:
            return inline
    elif len(step.args) == 1:
        inline = _unary(writer, step)
        if inline is not None:
            return inline
    return _bound(writer, step)


def _bound(writer: Writer, step: CallStep) -> str:
    """Call the binding; a cost that depends on the values is computed behind it."""
    bind = writer.constant(step.bind)
    if isinstance(step.cost, int):
        writer.charge(step.cost)
        return f"{bind}({', '.join(writer.value(arg) for arg in step.args)})"
    args = [writer.saved(writer.value(arg)) for arg in step.args]
    made = writer.name()
    writer.line(f"{made} = {bind}({', '.join(args)})")
    if step.cost is cost.first_text_cost:
        writer.line(f"cost += text_cost(size({args[0]}))")
    elif step.cost is cost.order_cost:
        writer.line(f"cost += order_cost({args[0]}, {args[1]})")
    else:
        writer.line(f"cost += {writer.constant(step.cost)}(({', '.join(args)},), {made})")
    return made


def _unary(writer: Writer, step: CallStep) -> str | None:
    arg = step.args[0]
    match step.function:
        case "!_":
            writer.charge(1)
            return f"(not {writer.boolean(arg)})"
        case "@not_strictly_false":
            writer.charge(1)
            return f"({writer.value(arg)} is not False)"
        case "hasValue":
            if not types.is_optional(writer.type_of(arg)):
                return None
            writer.charge(1)
            return f"({writer.optional(arg)} is not ABSENT)"
        case "value":
            if not types.is_optional(writer.type_of(arg)):
                return None
            writer.charge(1)
            found = writer.optional(arg)
            writer.line(f"if {found} is ABSENT: give_up()")
            return found
        case _:
            return None


def _binary(writer: Writer, step: CallStep) -> str | None:
    match step.function:
        case "_==_":
            return _equality(writer, step, negated=False)
        case "_!=_":
            return _equality(writer, step, negated=True)
        case "_<_" | "_<=_" | "_>_" | "_>=_":
            return _comparison(writer, step)
        case "_+_" | "_-_":
            return _arithmetic(writer, step)
        case "@in" if step.cost == 1:
            writer.charge(1)
            return f"contains({writer.value(step.args[0])}, {writer.value(step.args[1])})"
        case _:
            return None


def _equality(writer: Writer, step: CallStep, *, negated: bool) -> str | None:
    """`a == 'x'`: the type is tested, and anything but the constant's goes to the general function."""
    left, right = step.args
    constant, other = (left, right) if isinstance(left, Const) else (right, left)
    if not isinstance(constant, Const) or isinstance(other, Const):
        return _general_equality(writer, step, negated=negated)
    value = constant.value
    if type(value) not in (str, int, bool, type(None)):
        return _general_equality(writer, step, negated=negated)
    if type(value) is int and abs(value) > _SAFE_INTEGER:
        return _general_equality(writer, step, negated=negated)
    found = writer.saved(writer.value(other))
    shown = writer.literal(value)
    if value is None:
        writer.line(f"if {found} or type({found}) not in SIZED: cost += 1")
        return f"({found} is {'not ' if negated else ''}None)"
    made = writer.name("b")
    operator = "!=" if negated else "=="
    charge = _constant_cost(value, found)
    writer.line(f"if type({found}) is {type(value).__name__}:")
    writer.line(f"  {made} = {found} {operator} {shown}")
    if charge:
        writer.line(f"  {charge}")
    writer.line("else:")
    pair = f"{shown}, {found}" if constant is left else f"{found}, {shown}"
    writer.line(f"  {made} = {'not ' if negated else ''}equal({pair})")
    assert not isinstance(step.cost, int)
    writer.line(f"  cost += {writer.constant(step.cost)}(({pair}), None)")
    return made


def _constant_cost(value: Value, found: str) -> str:
    """The smaller side counts: nothing when it is empty, 1 up to ten characters."""
    if type(value) is not str:
        return "cost += 1"
    if not value:
        return ""
    if len(value) <= _CHARACTERS_PER_COST:
        return f"if {found}: cost += 1"
    return f"cost += text_cost(min(len({found}), {len(value)}))"


def _general_equality(writer: Writer, step: CallStep, *, negated: bool) -> str:
    left, right = (writer.saved(writer.value(arg)) for arg in step.args)
    kinds = {writer.type_of(arg).kind for arg in step.args}
    if kinds <= {"int"} or kinds <= {"bool"}:
        writer.charge(1)
    elif kinds <= {"string"}:
        writer.line(f"cost += order_cost({left}, {right})")
    else:
        assert not isinstance(step.cost, int)
        writer.line(f"cost += {writer.constant(step.cost)}(({left}, {right}), None)")
    return f"({'not ' if negated else ''}equal({left}, {right}))"


def _comparison(writer: Writer, step: CallStep) -> str | None:
    operator = _COMPARISONS[step.function]
    kinds = [writer.type_of(arg).kind for arg in step.args]
    if kinds[0] == kinds[1] == "int":
        writer.charge(1)
        # data may not be what its declaration says: a text here makes Python raise, a double is compared
        left, right = (writer.saved(writer.value(arg)) for arg in step.args)
        test = f"type({left}) is type({right}) is int"
        return f"({left} {operator} {right} if {test} else {_compare(step, left, right)})"
    if step.cost == 1 and "int" in kinds and "dyn" in kinds:
        writer.charge(1)
        left, right = (writer.saved(writer.value(arg)) for arg in step.args)
        dynamic = left if kinds[0] == "dyn" else right
        return f"({left} {operator} {right} if type({dynamic}) is int else {_compare(step, left, right)})"
    return None


def _compare(step: CallStep, left: str, right: str) -> str:
    return f"compare({step.function!r}, {left}, {right}) {_COMPARISONS[step.function]} 0"


def _arithmetic(writer: Writer, step: CallStep) -> str | None:
    kinds = [writer.type_of(arg).kind for arg in step.args]
    if step.function == "_+_" and kinds == ["string", "string"]:
        left, right = (writer.saved(writer.value(arg)) for arg in step.args)
        made = writer.name()
        writer.line(f"{made} = add({left}, {right})")
        writer.line(f"cost += text_cost(len({left}) + len({right}))")
        return made
    return None


def grows(writer: Writer, step: Step, name: str, accu: str) -> bool:
    """Write `accu + [element]` as an append."""
    if not isinstance(step, CallStep) or step.function != "_+_" or len(step.args) != 2:
        return False
    target, added = step.args
    if not _is_name(target, name):
        return False
    if isinstance(added, MakeList) and len(added.elements) == 1 and not added.optional:
        element = writer.value(added.elements[0])
        writer.charge(cost.LIST_COST)
    elif isinstance(added, Const) and isinstance(added.value, list) and len(added.value) == 1:
        element = writer.literal(added.value[0])
    else:
        return False
    writer.line(f"{accu}.append({element})")
    writer.charge(cost.IDENT_COST + (step.cost if isinstance(step.cost, int) else 1))
    return True


def _is_name(step: Step, name: str) -> bool:
    return (
        isinstance(step, AttributeStep)
        and isinstance(step.attribute, Absolute)
        and step.attribute.name == name
        and not step.attribute.qualifiers
    )


def certainly_uses(step: Step, name: str) -> bool:
    """Whether a variable is evaluated whenever a step is."""
    match step:
        case AttributeStep():
            return _attribute_uses(step.attribute, name)
        case CallStep():
            return any(certainly_uses(arg, name) for arg in step.args)
        case Logic():
            return certainly_uses(step.terms[0], name)
        case InSet():
            return certainly_uses(step.arg, name)
        case OptionalOr():
            return certainly_uses(step.left, name)
        case MakeList():
            return any(certainly_uses(element, name) for element in step.elements)
        case Fold():
            return certainly_uses(step.over, name)
        case _:
            return False


def _attribute_uses(attribute: object, name: str) -> bool:
    match attribute:
        case Absolute():
            return attribute.name == name
        case Relative():
            return certainly_uses(attribute.operand, name)
        case Conditional():
            return certainly_uses(attribute.condition, name)
        case _:
            return False
