"""Texts with units: quantities, versions, comparisons, tolerations. Parsed exactly, or refused."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from policygen.compiler.model_actions import Toleration
from policygen.kube.quantity import Format, Quantity, QuantityError

Comparator = Literal["==", "!=", "<", "<=", ">", ">="]

_BYTES = frozenset({"memory", "storage", "ephemeral-storage"})
_LEAST_BYTES = 64 * 1024
"""A number of bytes below this, written without a unit, lacks its unit."""
_LEAST_DEVICE_MEMORY = 64 * 1024**2
"""The same for the memory of a device, of which people copy mebibytes from tools of their vendor."""
_COMPARISON = re.compile(r"\s*(==|!=|<=|>=|<|>|=|~)?\s*(.*?)\s*", re.DOTALL)
_MEANT = {"=>": ">=", "=<": "<=", "<>": "!=", "=!": "!=", "===": "==", "!==": "!=", ">>": ">", "<<": "<"}
_WRONG_COMPARISON = re.compile("|".join(sorted(map(re.escape, _MEANT), key=len, reverse=True)))
_VERSION = re.compile(r"v?([0-9]{1,9}(?:\.[0-9]{1,9})*)(-[0-9A-Za-z.-]+)?")
_QUANTITY = re.compile(r"([+-]?[0-9.]+)\s*([A-Za-z]*)")
_UNIT_SUGGESTIONS = {
    "gb": "Gi", "gib": "Gi", "g": "G", "mb": "Mi", "mib": "Mi", "m": "M", "kb": "Ki", "kib": "Ki", "tb": "Ti",
    "tib": "Ti", "t": "T", "k": "k", "gi": "Gi", "mi": "Mi", "ki": "Ki", "ti": "Ti", "pb": "Pi", "pib": "Pi",
    "b": "", "bytes": "", "core": "", "cores": "", "cpu": "", "cpus": "",
}  # fmt: skip


class UnitError(ValueError):
    """A text that is no value of the kind; `help` says what to write, when that can be guessed."""

    def __init__(self, message: str, help: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True, slots=True)
class Comparison:
    """A value with what to compare it by."""

    operator: Comparator
    value: str


def parse_comparison(text: str) -> Comparison:
    """`>= 40Gi`, or a value alone, which means equality."""
    match = _COMPARISON.fullmatch(text)
    assert match is not None
    operator, value = match[1], match[2]
    if wrong := _WRONG_COMPARISON.match(text.strip()):
        raise UnitError(f"`{wrong[0]}` is no comparison", f"write `{_MEANT[wrong[0]]}`")
    if operator == "~":
        raise UnitError("`~` is no comparison", "use {contains: …}")
    if not value:
        raise UnitError("the comparison has no value")
    for candidate in ("==", "!=", "<=", ">=", "<", ">"):
        if operator == candidate:
            return Comparison(candidate, value)
    return Comparison("==", value)


def parse_quantity(text: str) -> Quantity:
    """A quantity as Kubernetes reads it; never negative."""
    try:
        quantity = Quantity.parse(text)
    except QuantityError:
        raise UnitError(f"`{text}` is no quantity", _quantity_help(text)) from None
    if quantity.sign < 0:
        raise UnitError(f"`{text}` is negative")
    return quantity


def _quantity_help(text: str) -> str | None:
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        return "write a number with a unit such as `Mi`, `Gi`, `m`"
    unit = _UNIT_SUGGESTIONS.get(match[2].lower())
    if unit is None:
        return "units are `m`, `k`, `M`, `G`, `T`, `P`, `E` and `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`"
    return f"write `{match[1]}{unit}`"


def parse_amount(resource: str, text: str) -> Quantity:
    """A quantity of a resource, in a unit that fits: cores are no bytes, and devices are whole."""
    quantity = parse_quantity(text)
    kind = resource.removeprefix("requests.").removeprefix("limits.")
    if kind == "cpu" and quantity.format is Format.BINARY_SI:
        raise UnitError(f"`{text}` is an amount of bytes", "write cores, such as `4` or `500m`")
    if kind in _BYTES or kind.startswith("hugepages-") or kind.endswith("/requests.storage"):
        _check_bytes(text, quantity, _LEAST_BYTES)
    elif kind != "cpu" and quantity.milli_value() % 1000:
        raise UnitError(f"`{text}` is a fraction", "write a whole number")
    return quantity


def parse_device_memory(text: str) -> Quantity:
    """Memory of a device: nothing but bytes, and never a handful of them."""
    quantity = parse_quantity(text)
    _check_bytes(text, quantity, _LEAST_DEVICE_MEMORY)
    return quantity


def _check_bytes(text: str, quantity: Quantity, least: int) -> None:
    if quantity.milli_value() % 1000:
        help = "`m` is a thousandth; mebibytes are `Mi`" if text.endswith("m") else "add a unit: `Gi`, `Mi`"
        raise UnitError(f"`{text}` is a fraction of a byte", help)
    if not text[-1:].isalpha() and 0 < quantity.value() < least:
        plain = re.fullmatch(r"[0-9.]+", text) is not None
        units = f"`{text}Gi`, `{text}Mi`" if plain and quantity.value() < 1024 else f"`{text}Mi`"
        raise UnitError(
            f"`{text}` is {quantity.value()} bytes", f"add a unit: {units if plain else '`Gi`, `Mi`'}"
        )


def parse_version(text: str) -> str:
    """A driver's version as semantic version: leading zeros dropped, missing parts 0.

    NVIDIA publishes `550.127.08` as `550.127.8`, because semver refuses leading zeros.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UnitError(f"`{text}` is no version", "write numbers and dots, such as `550.54.15`")
    parts = [str(int(part)) for part in match[1].split(".")]
    if len(parts) > 3:
        raise UnitError(f"`{text}` has {len(parts)} parts; the attribute holds three", "leave the last out")
    while len(parts) < 3:
        parts.append("0")
    return ".".join(parts) + (match[2] or "")


def parse_whole(text: str) -> int:
    """A whole number."""
    if not re.fullmatch(r"[-+]?[0-9]{1,18}", text):
        raise UnitError(f"`{text}` is no whole number")
    return int(text)


_TOLERATION = re.compile(r"([^=:]+)(?:=([^:]*))?(?::(.*))?")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def parse_toleration(text: str) -> Toleration:
    """`key`, `key:Effect`, `key=value` or `key=value:Effect`."""
    match = _TOLERATION.fullmatch(text)
    if match is None:
        raise UnitError(f"`{text}` is no toleration", "write `key`, `key:Effect` or `key=value:Effect`")
    key, value, effect = match[1], match[2], match[3]
    for candidate in ("NoSchedule", "PreferNoSchedule", "NoExecute"):
        if effect == candidate:
            return Toleration(key, "Exists" if value is None else "Equal", value, candidate, None)
    if effect is not None:
        raise UnitError(
            f"`{effect}` is no taint effect", "effects are " + ", ".join(f"`{e}`" for e in EFFECTS)
        )
    return Toleration(key, "Exists" if value is None else "Equal", value, None, None)
