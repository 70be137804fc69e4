"""Pools as one node sees them: newest generation, complete or not, valid or not, in the allocator's order.

Follows dynamic-resource-allocation `structured/internal/incubating/pools_incubating.go`. `Inventory` is the
index that makes this quick for many nodes: slices by node name, those that any node may reach, and the
pools whose counters every node sees (the server looks at them on each node, too).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from policygen.dra.model import Device, Gates, Node, Slice
from policygen.dra.nodes import reaches
from policygen.kube.quantity import Quantity

PoolKey = tuple[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """A pool on a node. Nothing is allocated from one that is incomplete or invalid."""

    driver: str
    name: str
    slices: tuple[Slice, ...] = ()
    elsewhere: tuple[Slice, ...] = ()
    counter_sets: Mapping[str, Mapping[str, Quantity]] = field(default_factory=dict)
    incomplete: bool = False
    invalid: str = ""

    def __str__(self) -> str:
        return f"{self.driver}/{self.name}"

    @property
    def usable(self) -> bool:
        """Whether devices may be taken from it."""
        return not self.incomplete and not self.invalid

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices that the node may reach, slice by slice."""
        return tuple(device for entry in self.slices for device in entry.devices)


class Inventory:
    """All ResourceSlices of a cluster, indexed. Not changed once built."""

    def __init__(self, slices: Iterable[Slice], gates: Gates | None = None) -> None:
        self.gates = gates or Gates()
        self.slices = tuple(slices)
        self._all: dict[PoolKey, list[Slice]] = {}
        self._by_node: dict[str, list[Slice]] = {}
        self._anywhere: list[Slice] = []
        self._counters: dict[PoolKey, list[Slice]] = {}
        for entry in self.slices:
            self._all.setdefault((entry.driver, entry.pool), []).append(entry)
            self._index(entry)
        self._troubled = self._troubled_elsewhere()
        self._pools: dict[str, tuple[Pool, ...]] = {}

    def _index(self, entry: Slice) -> None:
        nodes = entry.nodes
        if not self.gates.partitionable and (nodes.per_device or entry.counter_sets):
            return
        if entry.counter_sets:
            self._counters.setdefault((entry.driver, entry.pool), []).append(entry)
        elif nodes.name:
            self._by_node.setdefault(nodes.name, []).append(entry)
        elif nodes.is_set or nodes.per_device:
            self._anywhere.append(entry)

    def _troubled_elsewhere(self) -> dict[PoolKey, Pool]:
        """Pools that a node knows by their counters alone, when that is a reason for it to fail."""
        troubled = {}
        for key, entries in self._counters.items():
            pool = self._build(key, _newest(entries))
            if pool is not None and not pool.usable:
                troubled[key] = pool
        return troubled

    def nodes(self) -> tuple[Node, ...]:
        """The nodes that slices name, for callers that have no Node objects."""
        names = {entry.nodes.name for entry in self.slices} | {
            device.nodes.name for entry in self.slices for device in entry.devices
        }
        return tuple(
            Node(name, {"kubernetes.io/hostname": name}) for name in sorted(names, key=_natural) if name
        )

    def pools(self, node: Node) -> tuple[Pool, ...]:
        """The node's pools: by driver and name, those with binding conditions last."""
        known = self._pools.get(node.name)
        if known is None:
            known = self._pools[node.name] = self._gather(node)
        return known

    def devices(self, node: Node) -> tuple[Device, ...]:
        """Every device of a usable pool that the node may reach."""
        return tuple(
            device
            for pool in self.pools(node)
            if pool.usable
            for entry in pool.slices
            for device in entry.devices
            if not entry.nodes.per_device or reaches(device.nodes, node)
        )

    def _gather(self, node: Node) -> tuple[Pool, ...]:
        touched: dict[PoolKey, list[Slice]] = {}
        for entry in self._by_node.get(node.name, ()):
            touched.setdefault((entry.driver, entry.pool), []).append(entry)
        for entry in self._anywhere:
            if _relevant(entry, node):
                touched.setdefault((entry.driver, entry.pool), []).append(entry)
        plain: list[Pool] = []
        binding: list[Pool] = []
        for key, entries in touched.items():
            pool = self._build(key, _newest([*self._counters.get(key, ()), *entries]))
            if pool is not None:
                (binding if _has_binding_conditions(pool) else plain).append(pool)
        plain.extend(pool for key, pool in self._troubled.items() if key not in touched)
        plain.sort(key=_pool_key)
        binding.sort(key=_pool_key)
        return (*plain, *binding)

    def _build(self, key: PoolKey, seen: list[Slice]) -> Pool | None:
        """The pool of these slices; nothing when a newer generation exists that the node cannot see."""
        driver, name = key
        everything = seen
        if len(seen) != seen[0].slice_count:
            generation = seen[0].generation
            if any(entry.generation > generation for entry in self._all[key]):
                return None
            everything = [entry for entry in self._all[key] if entry.generation == generation]
            if len(everything) != seen[0].slice_count:
                return Pool(driver, name, incomplete=True)
        seen = sorted(seen, key=lambda entry: entry.name)
        with_devices = [entry for entry in seen if not entry.counter_sets]
        problem = _duplicate_device(with_devices)
        if not self.gates.partitionable:
            return Pool(driver, name, invalid=problem) if problem else Pool(driver, name, tuple(with_devices))
        counter_sets, duplicate = _counter_sets([entry for entry in seen if entry.counter_sets])
        known = {entry.name for entry in seen}
        elsewhere = [entry for entry in everything if entry.name not in known]
        problem = problem or duplicate or _missing_counter(counter_sets, [*seen, *elsewhere])
        if problem:
            return Pool(driver, name, invalid=problem)
        return Pool(driver, name, tuple(with_devices), tuple(elsewhere), counter_sets)


def _natural(name: str) -> tuple[str, int, str]:
    """`node-2` before `node-10`."""
    head = name.rstrip("0123456789")
    digits = name[len(head) :]
    return head, int(digits) if digits else -1, name


def _pool_key(pool: Pool) -> PoolKey:
    return pool.driver, pool.name


def _relevant(entry: Slice, node: Node) -> bool:
    if entry.nodes.is_set:
        return reaches(entry.nodes, node)
    return any(reaches(device.nodes, node) for device in entry.devices)


def _newest(entries: list[Slice]) -> list[Slice]:
    newest = max(entry.generation for entry in entries)
    return [entry for entry in entries if entry.generation == newest]


def _has_binding_conditions(pool: Pool) -> bool:
    return any(device.binding_conditions for entry in pool.slices for device in entry.devices)


def _duplicate_device(entries: list[Slice]) -> str:
    seen: set[str] = set()
    for entry in entries:
        for device in entry.devices:
            if device.name in seen:
                return f"duplicate device name {device.name}"
            seen.add(device.name)
    return ""


def _counter_sets(entries: list[Slice]) -> tuple[dict[str, Mapping[str, Quantity]], str]:
    found: dict[str, Mapping[str, Quantity]] = {}
    for entry in entries:
        if entry.duplicate_counter_set:
            return {}, f"duplicate counter set name {entry.duplicate_counter_set}"
        for name, counters in entry.counter_sets.items():
            if name in found:
                return {}, f"duplicate counter set name {name}"
            found[name] = counters
    return found, ""


def _missing_counter(counter_sets: Mapping[str, Mapping[str, Quantity]], entries: list[Slice]) -> str:
    for entry in entries:
        for device in entry.devices:
            for use in device.consumes:
                counters = counter_sets.get(use.counter_set)
                if counters is None:
                    return f"counter set {use.counter_set} not found"
                for name in use.counters:
                    if name not in counters:
                        return f"counter {name} not found in counter set {use.counter_set}"
    return ""
