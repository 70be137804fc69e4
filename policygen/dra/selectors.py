"""Selectors as the scheduler evaluates them (dynamic-resource-allocation `cel/compile.go`).

A domain that a device does not have reads as an empty map, a name that it does not have is an error. The
result must be a bool, or of the unknown type of an attribute, which must turn out to be a bool.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from policygen.cel.ast import Ident, Select, walk
from policygen.cel.env import LIST_ATTRIBUTES, Env, device_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib.semver import parse_semver
from policygen.cel.program import Program, compile_program
from policygen.cel.values import Value, type_name
from policygen.dra.access import accesses, parse_selector
from policygen.dra.allocation import SelectorError

if TYPE_CHECKING:
    from policygen.dra.model import AttributeValue, Device

COST_LIMIT: Final = 1_000_000
"""`CELSelectorExpressionMaxCost`."""

VERSION: Final = "1.36"
_RESULT_TYPES: Final = ("bool", "google.protobuf.Any", "dyn")
_PLAIN: Final = ("int", "bool", "string")
_EMPTY: Final[dict[str, Value]] = {}


class DomainMap(dict[str, dict[str, Value]]):
    """Attributes or capacities by domain; an unknown domain is empty, yet not `in` the map."""

    __slots__ = ()

    def __missing__(self, key: str) -> dict[str, Value]:
        return _EMPTY


@dataclass(frozen=True, slots=True)
class Selector:
    """A compiled selector, or the error with which the server refuses it."""

    expression: str
    program: Program | None = None
    error: str = ""
    type_name: str = ""
    max_cost: int = 0
    reads: tuple[tuple[str, str, str], ...] | None = None


def selector_env(version: str = VERSION, *, list_attributes: bool = False) -> Env:
    """What selectors may refer to."""
    return device_env(version, frozenset((LIST_ATTRIBUTES,)) if list_attributes else frozenset())


@lru_cache(maxsize=4096)
def compile_selector(expression: str, version: str = VERSION, *, list_attributes: bool = False) -> Selector:
    """Compile as the scheduler of a version does: expressions are stored ones, all libraries are known."""
    from policygen.cel.estimate import estimate_cost

    env = selector_env(version, list_attributes=list_attributes)
    try:
        program = compile_program(expression, env)
    except CompileError as error:
        return Selector(expression, error=error.server_text)
    name = program.result_type.declared
    if name not in _RESULT_TYPES:
        return Selector(expression, error=f"must evaluate to bool or the unknown type, not {name}")
    return Selector(
        expression, program, "", name, estimate_cost(program.checked).greatest, _reads(expression)
    )


def device_value(device: Device) -> dict[str, Value]:
    """The `device` of an expression; `SelectorError` where an attribute cannot be one."""
    attributes, capacity = DomainMap(), DomainMap()
    driver = device.driver
    for name, value in device.attributes.items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, name
        attributes.setdefault(domain, {})[identifier] = _attribute(name, value)
    for name, amount in device.capacity.items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, name
        capacity.setdefault(domain, {})[identifier] = amount.value
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.shareable,
    }


def _attribute(name: str, value: AttributeValue) -> Value:
    kind, raw = value
    match kind:
        case "int" | "bool" | "string":
            return raw
        case "version":
            return _version(name, raw)
        case "ints" | "bools" | "strings":
            return raw
        case "versions" if isinstance(raw, list):
            return [_version(name, each) for each in raw]
        case _:
            raise SelectorError("runtime", f"attribute {name}: unsupported attribute value")


def _version(name: str, raw: object) -> Value:
    try:
        return parse_semver(str(raw))
    except EvalError as error:
        raise SelectorError("runtime", f"attribute {name}: parse semantic version: {error.message}") from None


def evaluate(selector: Selector, device: Device) -> tuple[bool, int]:
    """Whether the device matches, and the cost; `SelectorError` with the server's text."""
    if selector.program is None:
        raise SelectorError("compile", selector.error)
    if selector.reads is None or not device.versions_valid:
        return _run(selector.program, device_value(device))
    return _run(selector.program, _read_value(selector.reads, device))


def _read_value(reads: tuple[tuple[str, str, str], ...], device: Device) -> dict[str, Value]:
    """The device with nothing but what is read: all else makes no difference."""
    attributes, capacity = DomainMap(), DomainMap()
    driver = device.driver
    for kind, qualified, bare in reads:
        domain = qualified[: -len(bare) - 1]
        if kind == "attributes":
            value = device.attributes.get(qualified)
            if value is None and domain == driver:
                value = device.attributes.get(bare)
            if value is not None:
                attributes.setdefault(domain, {})[bare] = (
                    value[1] if value[0] in _PLAIN else _attribute(qualified, value)
                )
        else:
            amount = device.capacity.get(qualified)
            if amount is None and domain == driver:
                amount = device.capacity.get(bare)
            if amount is not None:
                capacity.setdefault(domain, {})[bare] = amount.value
    return {
        "driver": driver,
        "attributes": attributes,
        "capacity": capacity,
        "allowMultipleAllocations": device.shareable,
    }


def _run(program: Program, value: dict[str, Value]) -> tuple[bool, int]:
    try:
        result, cost = program.evaluate_with_cost({"device": value}, limit=COST_LIMIT)
    except EvalError as error:
        raise SelectorError("runtime", error.message, error.cost) from None
    if type(result) is not bool:
        raise SelectorError("runtime", _no_bool(result), cost)
    return result, cost


_CONVERSIONS: Final = {
    "int": "unsupported type conversion from 'int' to bool",
    "string": "unsupported native conversion from string to 'bool'",
    "kubernetes.Semver": "type conversion error from 'Semver' to 'bool'",
    "kubernetes.Quantity": "type conversion error from 'Quantity' to 'bool'",
    "list": "type conversion error from list to 'bool'",
    "map": "type conversion error from map to 'bool'",
}


def _no_bool(result: Value) -> str:
    """cel-go's words for a value that is no bool (`ConvertToNative` of its type)."""
    name = type_name(result)
    reason = _CONVERSIONS.get(name, f"type conversion error from '{name}' to 'bool'")
    return f"CEL result of type {name} could not be converted to bool: {reason}"


class SelectorMatcher:
    """Evaluates selectors on devices; compiled once, and each device is converted once.

    Where every read of an expression is known from its text, devices that agree on what is read share the
    answer: in a cluster most devices are alike.
    """

    def __init__(self, version: str = VERSION, *, list_attributes: bool = False) -> None:
        self._version = version
        self.list_attributes = list_attributes
        self._values: dict[Device, dict[str, Value] | SelectorError] = {}
        self._answers: dict[tuple[object, ...], bool | SelectorError] = {}

    def selector(self, expression: str) -> Selector:
        """The compiled expression."""
        return compile_selector(expression, self._version, list_attributes=self.list_attributes)

    def matches(self, expression: str, device: Device) -> bool:
        """Whether the device satisfies the selector; `SelectorError`."""
        selector = self.selector(expression)
        if selector.program is None:
            raise SelectorError("compile", selector.error)
        key = _key(selector, device)
        if key is None:
            return _run(selector.program, self.value(device))[0]
        known = self._answers.get(key)
        if known is None:
            try:
                known = evaluate(selector, device)[0]
            except SelectorError as error:
                known = error
            self._answers[key] = known
        if isinstance(known, SelectorError):
            raise known
        return known

    def value(self, device: Device) -> dict[str, Value]:
        """The device as a value, kept."""
        known = self._values.get(device)
        if known is None:
            try:
                known = device_value(device)
            except SelectorError as error:
                known = error
            self._values[device] = known
        if isinstance(known, SelectorError):
            raise known
        return known


def _key(selector: Selector, device: Device) -> tuple[object, ...] | None:
    """What the answer depends on, when that is known; a device whose versions are broken has its own."""
    if selector.reads is None or not device.versions_valid:
        return None
    return (
        selector.expression,
        device.driver,
        device.shareable,
        *[device.read(kind, name, bare) for kind, name, bare in selector.reads],
    )


def _reads(expression: str) -> tuple[tuple[str, str, str], ...] | None:
    """The names that an expression reads, or nothing when it may read others.

    That is when `device.attributes` or `device.capacity` appears outside of a plain read.
    """
    parsed = parse_selector(expression)
    if parsed is None:
        return None
    found = accesses(parsed)
    roots = sum(isinstance(node, Ident) and node.name == "device" for node in walk(parsed.expr))
    drivers = sum(
        isinstance(node, Select)
        and node.field in ("driver", "allowMultipleAllocations")
        and isinstance(node.operand, Ident)
        for node in walk(parsed.expr)
    )
    if roots != len(found) + drivers:
        return None
    names = dict.fromkeys(access.name for access in found)
    return tuple((name.kind, f"{name.domain}/{name.name}", name.name) for name in names)
