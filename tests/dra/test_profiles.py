"""Generated inventories: what each machine publishes, and that it can be selected and allocated."""

from __future__ import annotations

import pytest

from policygen.diagnostics import PolicygenError
from policygen.dra import catalogue
from policygen.dra.convert import read_node, read_slice
from policygen.dra.data.machines import MACHINES
from policygen.dra.match import match_devices
from policygen.dra.model import Device, Node
from policygen.dra.pools import Inventory
from policygen.dra.profiles import generate, profile_names
from policygen.dra.selectors import SelectorMatcher


def read(profile: str, nodes: int = 1, release: str = "") -> tuple[Inventory, list[Node], list[Device]]:
    objects = generate(profile, nodes, release=release)
    inventory = Inventory([read_slice(each) for each in objects if each["kind"] == "ResourceSlice"])
    found = [read_node(each) for each in objects if each["kind"] == "Node"]
    return inventory, found, [device for node in found for device in inventory.devices(node)]


COUNTS = {
    "dgx-a100": {"gpu.nvidia.com": 8},
    "dgx-a100-40": {"gpu.nvidia.com": 8},
    "dgx-a100-mig": {"gpu.nvidia.com": 4, "mig.nvidia.com": 28},
    "dgx-h100": {"gpu.nvidia.com": 8},
    "dgx-h100-mig": {"gpu.nvidia.com": 8, "mig.nvidia.com": 144},
    "dgx-h100-rdma": {"gpu.nvidia.com": 8, "dranet": 8},
    "gb200-nvl72": {"gpu.nvidia.com": 4},
    "t4": {"gpu.nvidia.com": 4},
    "mi300x": {"gpu.amd.com": 8},
    "mi300x-cpx": {"gpu.amd.com": 64},
    "intel-max": {"gpu.intel.com": 4},
    "gaudi3": {"gaudi.intel.com": 8},
    "tpu-v5p": {"tpu.google.com": 4},
    "ascend-910b": {"hami-vnpu-core.project-hami.io": 8},
    "cpu": {"dra.cpu": 2},
    "example": {"gpu.example.com": 8},
    "mixed": {"gpu.nvidia.com": 28, "gpu.amd.com": 8},
}


@pytest.mark.parametrize("profile", profile_names())
def test_the_drivers_classes_find_the_devices(profile: str) -> None:
    _, _, devices = read(profile)
    found = {}
    for driver in {device.driver for device in devices}:
        for entry in catalogue.device_classes(driver):
            expression = f"device.driver == '{driver}' && {entry.expression}"
            result = match_devices([expression], devices, SelectorMatcher())
            assert result.count("error") == 0
            if result.count("yes"):
                found[entry.name] = result.count("yes")

    assert found == COUNTS[profile]


@pytest.mark.parametrize("profile", profile_names())
def test_devices_hold_what_the_catalogue_says(profile: str) -> None:
    _, _, devices = read(profile)
    for device in devices:
        types = {(term.kind, term.qualified): term for term in catalogue.terms(device.driver)}
        for name, (kind, _) in device.attributes.items():
            qualified = name if "/" in name else f"{device.driver}/{name}"
            assert types["attribute", qualified].type == kind
        for name in device.capacity:
            qualified = name if "/" in name else f"{device.driver}/{name}"
            assert ("capacity", qualified) in types or name.startswith("memorySlice")


@pytest.mark.parametrize("profile", profile_names())
def test_names_are_unique_and_pools_usable(profile: str) -> None:
    inventory, nodes, devices = read(profile, nodes=2)

    assert len({device.id for device in devices}) == len(devices)
    assert all(pool.usable for node in nodes for pool in inventory.pools(node))


def test_the_same_call_gives_the_same_objects() -> None:
    assert generate("mixed", 2) == generate("mixed", 2)


def test_an_older_release_publishes_less() -> None:
    _, _, devices = read("dgx-h100", release="25.8")

    assert "resource.kubernetes.io/numaNode" not in devices[0].attributes
    assert "resource.kubernetes.io/pcieRoot" in devices[0].attributes
    assert "index" in devices[0].attributes


@pytest.mark.parametrize(
    ("profile", "release", "code"),
    [("dgx-h10", "", "unknown-profile"), ("dgx-h100", "1.0", "unknown-release")],
)
def test_what_is_not_known_is_an_error(profile: str, release: str, code: str) -> None:
    with pytest.raises(PolicygenError) as error:
        generate(profile, release=release)

    assert [each.code for each in error.value.diagnostics] == [code]


def test_every_machine_lists_one_entry_a_device() -> None:
    for machine in MACHINES.values():
        assert len(machine.numa) == len(machine.roots) == len(machine.bus)
