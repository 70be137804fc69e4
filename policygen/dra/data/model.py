"""What a driver publishes, as plain declarations: one dataclass per noun of the catalogue."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

ValueType: TypeAlias = Literal["string", "int", "bool", "version", "strings", "ints", "quantity"]
"""How a ResourceSlice types a value; `quantity` is a capacity, the list types need DRAListTypeAttributes."""

Example: TypeAlias = str | int | bool


@dataclass(frozen=True, slots=True)
class Attribute:
    """One published attribute. `name` is qualified only when its domain is not the driver's own."""

    name: str
    type: ValueType
    example: Example
    optional: bool = False
    words: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    note: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Capacity:
    """One published capacity; `consumable` ones are shared by a request policy."""

    name: str
    example: str
    optional: bool = False
    words: tuple[str, ...] = ()
    since: str = ""
    until: str = ""
    note: str = ""
    consumable: bool = False


@dataclass(frozen=True, slots=True)
class DeviceType:
    """One kind of device of a driver. `where` is the attribute and value that tell it from its siblings."""

    name: str
    attributes: tuple[Attribute, ...]
    capacities: tuple[Capacity, ...] = ()
    where: tuple[str, str] | None = None
    since: str = ""


@dataclass(frozen=True, slots=True)
class DeviceClass:
    """A DeviceClass that the driver's chart installs."""

    name: str
    device_type: str
    expression: str
    extended_resource: str = ""


@dataclass(frozen=True, slots=True)
class Product:
    """A product as the driver names it, with the memory that it publishes (not the one on the box)."""

    name: str
    memory: str
    values: dict[str, Example] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Driver:
    """A driver, its releases (oldest first) and what they publish."""

    name: str
    title: str
    releases: tuple[str, ...]
    device_types: tuple[DeviceType, ...]
    classes: tuple[DeviceClass, ...] = ()
    products: tuple[Product, ...] = ()
    other_products: tuple[str, ...] = ()
    """Names of products of which nothing else is known here."""
    sources: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
