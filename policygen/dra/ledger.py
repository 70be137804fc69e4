"""What is in use while an allocation is searched: devices, shares of devices, counters of partitions.

Follows dynamic-resource-allocation `structured/internal/incubating/allocator_incubating.go`, also where that
does not put everything back: counters of a shared device stay consumed when it is released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from policygen.dra import consumable
from policygen.dra.allocation import AllocatedState, Placed
from policygen.dra.consumable import Amounts
from policygen.dra.model import Device, DeviceId, Gates, Request
from policygen.dra.pools import Pool
from policygen.kube.quantity import Quantity

Counters = dict[str, dict[str, Quantity]]


def available_counters(pool: Pool, state: AllocatedState) -> Counters:
    """A pool's counters less what devices of earlier claims consume; below zero is as good as nothing."""
    left = {name: dict(counters) for name, counters in pool.counter_sets.items()}
    for entry in (*pool.slices, *pool.elsewhere):
        for device in entry.devices:
            if not state.holds(device.id):
                continue
            for use in device.consumes:
                counters = left.get(use.counter_set, {})
                for name, amount in use.counters.items():
                    if name in counters:
                        counters[name] = counters[name] - amount
    return left


def blocked_partitions(pools: Iterable[Pool], state: AllocatedState) -> frozenset[DeviceId]:
    """Free devices for which the counters do not suffice any more: their GPU, or parts of it, is taken."""
    blocked = set()
    for pool in pools:
        left = available_counters(pool, state) if pool.counter_sets else {}
        for device in pool.devices if left else ():
            if not state.holds(device.id) and not all(
                amount <= left.get(use.counter_set, {}).get(name, amount)
                for use in device.consumes
                for name, amount in use.counters.items()
            ):
                blocked.add(device.id)
    return frozenset(blocked)


class Ledger:
    """Earlier claims (fixed) and the claims being placed (changing)."""

    def __init__(self, gates: Gates, state: AllocatedState, available: dict[str, Counters]) -> None:
        self.gates = gates
        self.state = state
        self._available = available
        self._allocating: dict[DeviceId, set[int]] = {}
        self._capacity: dict[DeviceId, Amounts] = {}
        self._counters: dict[str, Counters] = {}

    def is_shareable(self, device: Device) -> bool:
        """Whether several claims may hold the device."""
        return device.shareable and self.gates.consumable_capacity

    def is_free(self, device: DeviceId, request: Request, claim: int) -> bool:
        """Admin access shares with everyone except the same claim; others want the device for themselves."""
        if request.admin_access:
            return claim not in self._allocating.get(device, ())
        return device not in self.state.devices and not self._allocating.get(device)

    def hold(self, device: DeviceId, claim: int) -> None:
        """The claim has the device for itself."""
        self._allocating.setdefault(device, set()).add(claim)

    def release(self, placed: Placed, claim: int) -> None:
        """Undo `hold` and, for a partition, `take_counters`."""
        self._allocating[placed.device.id].discard(claim)
        if self.gates.partitionable and placed.device.consumes:
            self._release_counters(placed)

    def fits(self, request: Request, device: Device) -> bool:
        """Whether what the request asks of the device's capacities is allowed and left."""
        if not self.gates.consumable_capacity:
            return True
        if not request.capacity and not device.shareable and not device.has_policy:
            return True
        held = self._capacity.get(device.id)
        earlier = self.state.capacity.get(device.id)
        used = consumable.add(earlier, held) if earlier and held else (held or earlier)
        return consumable.fits(device, request.capacity, used)

    def hold_capacity(self, device: Device, requested: Mapping[str, Quantity]) -> Amounts:
        """Consume a share of the device; the amounts."""
        amounts = consumable.consumption(device, requested)
        self._capacity[device.id] = consumable.add(self._capacity.get(device.id), amounts)
        return amounts

    def release_capacity(self, device: DeviceId, amounts: Amounts) -> None:
        """Undo `hold_capacity`."""
        held = self._capacity.get(device)
        if held is None:
            return
        left = {name: held[name] - amounts[name] if name in amounts else held[name] for name in held}
        if any(left.values()):
            self._capacity[device] = left
        else:
            del self._capacity[device]

    def take_counters(self, placed: Placed) -> bool:
        """Consume a partition's counters, if there are enough; further shares of a device take none."""
        device, pool = placed.device, placed.pool
        if not device.consumes:
            return True
        if not self.gates.partitionable:
            return False
        if self.is_shareable(device) and (device.id in self.state.capacity or device.id in self._capacity):
            return True
        available = self._available.get(pool.name)
        if available is None:
            available = self._available[pool.name] = available_counters(pool, self.state)
        held = self._counters.setdefault(pool.name, {})
        for use in device.consumes:
            counters = held.setdefault(use.counter_set, {})
            for name, amount in use.counters.items():
                counters[name] = counters[name] + amount if name in counters else amount
        if all(_covers(counters, held.get(name, {})) for name, counters in available.items()):
            return True
        self._release_counters(placed)
        return False

    def _release_counters(self, placed: Placed) -> None:
        held = self._counters.get(placed.pool.name, {})
        for use in placed.device.consumes:
            counters = held.get(use.counter_set, {})
            for name, amount in use.counters.items():
                if name in counters:
                    counters[name] = counters[name] - amount


def _covers(available: Mapping[str, Quantity], taken: Mapping[str, Quantity]) -> bool:
    return all(
        amount >= taken[name] if name in taken else amount.sign >= 0 for name, amount in available.items()
    )
