"""Which driver publishes what: attributes and capacities with type, optionality and example, by release.

Everything that names a driver's attribute asks here: the spec's vocabulary, the lints and the generated
inventories. A *word* is what a user writes (`memory`, `migProfile`, `numaNode`): a published name itself, or
the common word for it. Without a release the newest is meant; an unknown driver is simply not in the
catalogue (its attributes can then be named in full, and nothing is known about them).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from policygen.diagnostics import suggestion

if TYPE_CHECKING:
    from policygen.dra.data.model import (
        Attribute,
        Capacity,
        DeviceClass,
        DeviceType,
        Driver,
        Example,
        Product,
        ValueType,
    )

STANDARD_DOMAIN = "resource.kubernetes.io"
"""The domain of the attributes that Kubernetes itself names: `pcieRoot`, `pciBusID`, `numaNode`."""

ALIGNMENT_WORDS = ("numaNode", "pcieRoot", "nvlinkDomain", "socket", "parent")
"""What devices can be asked to have in common."""


@dataclass(frozen=True, slots=True)
class Term:
    """What a word means for a driver: where to find the value in a selector, and what is known about it.

    `optional` says that a device of these types and release may lack it, so that a selector needs a guard.
    """

    word: str
    kind: Literal["attribute", "capacity"]
    domain: str
    name: str
    type: ValueType
    optional: bool
    example: Example
    device_types: tuple[str, ...]
    values: tuple[str, ...] = ()
    note: str = ""
    consumable: bool = False

    @property
    def qualified(self) -> str:
        """`domain/name`, as constraints want it."""
        return f"{self.domain}/{self.name}"

    @property
    def cel(self) -> str:
        """The unguarded CEL access path."""
        source = "attributes" if self.kind == "attribute" else "capacity"
        return f"device.{source}['{self.domain}'].{self.name}"


@cache
def drivers() -> tuple[Driver, ...]:
    """All drivers of the catalogue."""
    from policygen.dra.data import amd, intel, nvidia, others

    return (
        nvidia.GPU,
        nvidia.COMPUTE_DOMAIN,
        amd.GPU,
        intel.GPU,
        intel.GAUDI,
        others.TPU,
        others.ASCEND,
        others.CPU,
        others.DRANET,
        others.EXAMPLE,
    )


def driver_names() -> tuple[str, ...]:
    """The names of all drivers."""
    return tuple(driver.name for driver in drivers())


@cache
def find_driver(name: str) -> Driver | None:
    """A driver by its name, or nothing when the catalogue does not know it."""
    for driver in drivers():
        if driver.name == name:
            return driver
    return None


def suggest_driver(name: str) -> str | None:
    """The driver that was probably meant."""
    return suggestion(name, driver_names())


def device_type(driver: Driver, name: str) -> DeviceType | None:
    """One of a driver's device types."""
    for entry in driver.device_types:
        if entry.name == name:
            return entry
    return None


@cache
def terms(driver_name: str, release: str = "", type_name: str = "") -> tuple[Term, ...]:
    """Everything that a driver publishes in a release, once a published name and kind, of one type or of all.

    A name that only some of the device types publish counts as optional, because a selector that is not
    limited to those types meets devices without it.
    """
    driver = find_driver(driver_name)
    if driver is None:
        return ()
    types = [
        entry
        for entry in driver.device_types
        if type_name in ("", entry.name) and _published(driver, release, entry.since, "")
    ]
    found: dict[tuple[str, str], list[tuple[DeviceType, Attribute | Capacity]]] = {}
    for entry in types:
        for attribute in entry.attributes:
            if _published(driver, release, attribute.since, attribute.until):
                found.setdefault(("attribute", attribute.name), []).append((entry, attribute))
        for capacity in entry.capacities:
            if _published(driver, release, capacity.since, capacity.until):
                found.setdefault(("capacity", capacity.name), []).append((entry, capacity))
    return tuple(_term(driver, uses, len(types)) for uses in found.values())


def _published(driver: Driver, release: str, since: str, until: str) -> bool:
    releases = driver.releases
    at = releases.index(release) if release in releases else len(releases) - 1
    first = releases.index(since) if since else 0
    last = releases.index(until) if until else len(releases) - 1
    return first <= at <= last


def _term(driver: Driver, uses: list[tuple[DeviceType, Attribute | Capacity]], types: int) -> Term:
    from policygen.dra.data.model import Attribute

    first = uses[0][1]
    domain, slash, name = first.name.rpartition("/")
    is_attribute = isinstance(first, Attribute)
    values = [value for _, use in uses if isinstance(use, Attribute) for value in use.values]
    return Term(
        word=name,
        kind="attribute" if is_attribute else "capacity",
        domain=domain if slash else driver.name,
        name=name,
        type=first.type if isinstance(first, Attribute) else "quantity",
        optional=len(uses) < types or any(use.optional for _, use in uses),
        example=first.example,
        device_types=tuple(entry.name for entry, _ in uses),
        values=tuple(dict.fromkeys(values)),
        note=first.note,
        consumable=not is_attribute and any(getattr(use, "consumable", False) for _, use in uses),
    )


@cache
def vocabulary(driver_name: str, release: str = "", type_name: str = "") -> dict[str, Term]:
    """Every word that can be used about a driver's devices and what it means.

    A capacity wins over an attribute of the same name, a published name over the common word for another.
    """
    driver = find_driver(driver_name)
    if driver is None:
        return {}
    published = terms(driver_name, release, type_name)
    words: dict[str, Term] = {}
    for term in sorted(published, key=lambda term: _rank(driver, term)):
        words.setdefault(term.name, term)
        words.setdefault(term.qualified, term)
    by_name: dict[tuple[str, str], Term] = {(term.kind, term.qualified): term for term in published}
    for entry in driver.device_types:
        if type_name not in ("", entry.name):
            continue
        uses: list[tuple[str, Attribute | Capacity]] = [("capacity", use) for use in entry.capacities]
        uses += [("attribute", use) for use in entry.attributes]
        for kind, use in uses:
            known = by_name.get((kind, use.name if "/" in use.name else f"{driver.name}/{use.name}"))
            if known is not None:
                for word in use.words:
                    words.setdefault(word, known)
    return words


def _rank(driver: Driver, term: Term) -> tuple[bool, bool, bool]:
    """Capacities, then the driver's own names, then the standard ones, then borrowed ones."""
    return term.kind != "capacity", term.domain != driver.name, term.domain != STANDARD_DOMAIN


def resolve(driver_name: str, word: str, release: str = "", type_name: str = "") -> Term | None:
    """What a word means for a driver; nothing when the driver does not publish such a thing."""
    return vocabulary(driver_name, release, type_name).get(word)


def suggest_word(driver_name: str, word: str, release: str = "", type_name: str = "") -> str | None:
    """The word that was probably meant."""
    return suggestion(word, [name for name in vocabulary(driver_name, release, type_name) if "/" not in name])


def why_absent(driver_name: str, word: str) -> str:
    """Why a driver does not have a word, if that is known: which releases have it, or a way around."""
    driver = find_driver(driver_name)
    if driver is None:
        return ""
    for candidate in driver.releases:
        if resolve(driver_name, word, candidate) is not None:
            return f"{driver.title} publishes `{word}` in release {_range(driver, word)}"
    return driver.notes.get(word, "")


def _range(driver: Driver, word: str) -> str:
    having = [release for release in driver.releases if resolve(driver.name, word, release) is not None]
    return having[0] if len(having) == 1 else f"{having[0]} to {having[-1]}"


def type_for(driver_name: str, words: tuple[str, ...], release: str = "") -> DeviceType | None:
    """The first device type that has all the words: `migProfile` means MIG devices, `memory` full GPUs."""
    driver = find_driver(driver_name)
    if driver is None:
        return None
    for entry in driver.device_types:
        known = vocabulary(driver_name, release, entry.name)
        if all(word in known for word in words) and _published(driver, release, entry.since, ""):
            return entry
    return None


def alignment(driver_name: str, word: str, release: str = "", type_name: str = "") -> str | None:
    """The qualified attribute that devices with something in common share; nothing when none is published."""
    term = resolve(driver_name, word, release, type_name)
    return term.qualified if term is not None and term.kind == "attribute" else None


def common_alignment(driver_a: str, driver_b: str, word: str) -> str | None:
    """An attribute that two drivers both publish for the same thing, so that a constraint can span them."""
    names = [{term.qualified for term in terms(name)} for name in (driver_a, driver_b)]
    for candidate in (
        f"{STANDARD_DOMAIN}/{word}",
        f"{driver_a}/{word}",
        f"{driver_b}/{word}",
        f"dra.net/{word}",
    ):
        if candidate in names[0] and candidate in names[1]:
            return candidate
    return None


def products(driver_name: str) -> tuple[Product, ...]:
    """The products that are known by the name and the memory that the driver publishes."""
    driver = find_driver(driver_name)
    return driver.products if driver else ()


def product_names(driver_name: str) -> tuple[str, ...]:
    """The names of all known products, also of those whose memory is not known."""
    driver = find_driver(driver_name)
    return (*(product.name for product in driver.products), *driver.other_products) if driver else ()


def device_classes(driver_name: str) -> tuple[DeviceClass, ...]:
    """The DeviceClasses that the driver's chart installs."""
    driver = find_driver(driver_name)
    return driver.classes if driver else ()


def find_class(name: str) -> tuple[Driver, DeviceClass] | None:
    """A driver's own DeviceClass by name."""
    for driver in drivers():
        for entry in driver.classes:
            if entry.name == name:
                return driver, entry
    return None


def extended_resource(driver_name: str) -> str:
    """The extended resource that the driver's full devices replace, or nothing."""
    for entry in device_classes(driver_name):
        if entry.extended_resource:
            return entry.extended_resource
    return ""
