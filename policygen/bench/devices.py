"""How long devices take: a selector on one, a claim on a node with a NUMA constraint, a thousand nodes."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Final

from policygen.bench.runner import best_of
from policygen.dra.allocation import AllocatedState
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_node, read_slice
from policygen.dra.match import match_devices
from policygen.dra.model import DeviceId
from policygen.dra.pools import Inventory
from policygen.dra.profiles import generate
from policygen.dra.selectors import SelectorMatcher, compile_selector, evaluate

_NODES: Final = 1000
_RUNS: Final = 200
_MEMORY: Final = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"
_SELECTORS: Final = (
    _MEMORY,
    "device.attributes['gpu.nvidia.com'].productName.contains('H100')",
    "device.attributes['gpu.nvidia.com'].driverVersion.compareTo(semver('550.54.15')) >= 0",
    "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'gpu'",
    "has(device.attributes['resource.kubernetes.io'].numaNode) && "
    "device.attributes['resource.kubernetes.io'].numaNode == 0",
)
_CLAIM: Final = {
    "metadata": {"name": "train", "namespace": "bench"},
    "spec": {
        "devices": {
            "requests": [
                {
                    "name": "gpu",
                    "exactly": {
                        "deviceClassName": "gpu.nvidia.com",
                        "count": 4,
                        "selectors": [{"cel": {"expression": _MEMORY}}],
                    },
                }
            ],
            "constraints": [{"matchAttribute": "resource.kubernetes.io/numaNode"}],
        }
    },
}


def measure(vectors: Path | None) -> dict[str, float]:  # noqa: ARG001 - the inventory is generated
    """`selector_us` with the device's conversion, `allocate_nodes_per_s`, `match_8000_devices_ms`."""
    objects = generate("dgx-h100", _NODES)
    inventory = Inventory([read_slice(each) for each in objects if each["kind"] == "ResourceSlice"])
    classes = {
        each.name: each for each in (read_class(each) for each in objects if each["kind"] == "DeviceClass")
    }
    nodes = [read_node(each) for each in objects if each["kind"] == "Node"]
    devices = [device for node in nodes for device in inventory.devices(node)]
    programs = [compile_selector(each) for each in _SELECTORS]
    selector = median(
        best_of(lambda program=program: evaluate(program, devices[0]), _RUNS)  # type: ignore[misc]
        for program in programs
    )
    match = best_of(lambda: match_devices([_MEMORY], devices, SelectorMatcher()), 1)
    claim = read_claim(_CLAIM)
    held = frozenset(DeviceId(each.driver, each.pool, "gpu-0") for each in devices)

    def allocate() -> None:
        allocator = Allocator(inventory, classes, SelectorMatcher(), AllocatedState(held))
        for node in nodes:
            allocator.allocate(node, [claim])

    return {
        "selector_us": selector * 1e6,
        "match_8000_devices_ms": match * 1e3,
        "allocate_nodes_per_s": _NODES / best_of(allocate, 1),
    }
