"""What goes into an allocation and what comes out: earlier claims, chosen devices, errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from policygen.dra.consumable import Amounts
from policygen.dra.model import Claim, Device, DeviceClass, DeviceId, Request, Slice
from policygen.dra.pools import Pool


class AllocationError(Exception):
    """The allocator's own error for a node, in the server's words."""


class SearchLimitError(AllocationError):
    """The search was given up: whether the claims fit was not found out."""


class SelectorError(Exception):
    """A selector that does not compile or fails on a device; the text is the server's."""

    def __init__(self, stage: Literal["compile", "runtime"], text: str, cost: int | None = None) -> None:
        self.stage = stage
        self.text = text
        self.cost = cost
        super().__init__(text)


class Matcher(Protocol):
    """Evaluates a selector on a device; raises `SelectorError`."""

    def matches(self, expression: str, device: Device) -> bool:
        """Whether the device satisfies the selector."""
        ...


@dataclass(frozen=True, slots=True)
class AllocatedState:
    """What earlier claims hold: whole devices, and amounts of shared ones."""

    devices: frozenset[DeviceId] = frozenset()
    capacity: Mapping[DeviceId, Amounts] = field(default_factory=dict)

    def holds(self, device: DeviceId) -> bool:
        """Whether the device is used, wholly or in part."""
        return device in self.devices or device in self.capacity


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A device with the slice and pool it came from."""

    device: Device
    slice: Slice
    pool: Pool


@dataclass(frozen=True, slots=True)
class Chosen:
    """A device chosen for a request, and what is consumed of it when it is shared."""

    request: Request
    placed: Placed
    consumed: Amounts = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Allocation:
    """A claim's devices, in the order in which they were chosen, and the classes of its requests."""

    claim: Claim
    chosen: tuple[Chosen, ...]
    selected: tuple[tuple[Request, DeviceClass], ...]
