"""Generated inventories: nodes and ResourceSlices of known machines, as their drivers would publish them.

Only what the catalogue says a release publishes is written, so an inventory of an older release shows what
is missing there. Everything is derived from the profile and the node's name: the same call gives the same
bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

from policygen.diagnostics import fail, suggestion
from policygen.dra import catalogue
from policygen.dra.data.machines import MACHINES, MIXED, Machine, MigProfile

if TYPE_CHECKING:
    from policygen.dra.data.model import Product

Object = dict[str, object]

LINKS = "policygen.dev/links"
"""Annotation of a generated slice: the groups of devices joined by NVLink or its like. No driver says so."""

_PER_SLICE = 128
_PER_SLICE_WITH_COUNTERS = 64
_DRIVER_VERSIONS = {"gpu.nvidia.com": "580.126.20", "gpu.amd.com": "6.14.14", "gpu.example.com": "1.0.0"}


def profile_names() -> tuple[str, ...]:
    """What `generate` knows."""
    return (*MACHINES, "mixed")


def describe_profiles() -> list[tuple[str, str]]:
    """Every profile with what it is."""
    listed = [(name, machine.title) for name, machine in MACHINES.items()]
    return [*listed, ("mixed", f"one of each: {', '.join(MIXED)}")]


def _longest_beginning(given: str) -> str | None:
    """The profile that the name goes on from, as `dgx-a100-80gb` does from `dgx-a100`."""
    words = f"{given.lower().removesuffix('gb')}-"
    return max((name for name in profile_names() if words.startswith(f"{name}-")), key=len, default=None)


def generate(profile: str, nodes: int = 1, prefix: str = "", release: str = "") -> list[Object]:
    """DeviceClasses, Nodes and ResourceSlices of so many machines of a profile."""
    if profile != "mixed" and profile not in MACHINES:
        close = _longest_beginning(profile) or suggestion(profile, profile_names())
        hints = [f"did you mean `{close}`?"] if close else [f"known profiles: {', '.join(profile_names())}"]
        fail("unknown-profile", f"there is no inventory profile `{profile}`", help=hints)
    names = MIXED if profile == "mixed" else (profile,)
    machines = [(name, MACHINES[name]) for name in names]
    _check_release(machines, release)
    objects: list[Object] = []
    for driver in dict.fromkeys(driver for _, machine in machines for driver in _drivers(machine)):
        objects.extend(_classes(driver))
    placed = [(f"{prefix or name}-{index}", machine) for name, machine in machines for index in range(nodes)]
    objects.extend(_node(node, machine) for node, machine in placed)
    for node, machine in placed:
        objects.extend(_slices(node, machine, release))
    return objects


def _check_release(machines: list[tuple[str, Machine]], release: str) -> None:
    for name, machine in machines if release else ():
        driver = catalogue.find_driver(machine.driver)
        if driver is not None and release not in driver.releases:
            fail(
                "unknown-release",
                f"driver `{driver.name}` of profile `{name}` has no release `{release}` in the catalogue",
                help=[f"known releases: {', '.join(driver.releases)}"],
            )


def _drivers(machine: Machine) -> tuple[str, ...]:
    return (machine.driver, "dra.net") if machine.nics else (machine.driver,)


def _classes(driver: str) -> Iterator[Object]:
    for entry in catalogue.device_classes(driver):
        spec: Object = {"selectors": [{"cel": {"expression": entry.expression}}]}
        if entry.extended_resource:
            spec["extendedResourceName"] = entry.extended_resource
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": entry.name},
            "spec": spec,
        }


def _node(name: str, machine: Machine) -> Object:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **machine.labels}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}


def _slices(node: str, machine: Machine, release: str) -> Iterator[Object]:
    devices, counter_sets = _devices(node, machine, release)
    annotations = {LINKS: _links(machine, devices)} if machine.links and machine.partitions == 1 else {}
    most = _PER_SLICE_WITH_COUNTERS if counter_sets else _PER_SLICE
    chunks = [devices[at : at + most] for at in range(0, len(devices), most)]
    bodies: list[Object] = [{"devices": chunk} for chunk in chunks]
    if counter_sets:
        bodies.append({"sharedCounters": counter_sets})
    yield from _pool(node, machine.driver, bodies, annotations)
    if machine.nics:
        yield from _pool(node, "dra.net", [{"devices": list(_nics(node, machine))}], {})


def _pool(node: str, driver: str, bodies: list[Object], annotations: dict[str, str]) -> Iterator[Object]:
    for index, body in enumerate(bodies):
        metadata: Object = {"name": f"{node}-{driver}-{index}"}
        if annotations and index == 0:
            metadata["annotations"] = annotations
        pool = {"name": node, "generation": 1, "resourceSliceCount": len(bodies)}
        yield {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceSlice",
            "metadata": metadata,
            "spec": {"driver": driver, "nodeName": node, "pool": pool, **body},
        }


def _links(machine: Machine, devices: list[Object]) -> str:
    """The groups as `gpu-0,gpu-1;gpu-2`, parents only: partitions are joined as their GPU is."""
    names = [str(device["name"]) for device in devices if _is_whole(device)]
    if len(names) != len(machine.numa):
        names = [f"gpu-{index}" for index in range(len(machine.numa))]
    return ";".join(",".join(names[index] for index in group) for group in machine.links)


def _is_whole(device: Object) -> bool:
    return "-mig-" not in str(device["name"])


def _devices(node: str, machine: Machine, release: str) -> tuple[list[Object], list[Object]]:
    if machine.partitions > 1:
        return list(_partitions(node, machine, release)), []
    devices: list[Object] = []
    counter_sets: list[Object] = []
    for index in range(len(machine.numa)):
        whole = _whole(node, machine, release, index)
        if machine.mig and not machine.static_mig:
            capacity = _mig_capacity(machine.mig[-1])
            counters = _counters(capacity, range(machine.mig[-1].slices))
            whole["capacity"] = capacity | {"memory": {"value": _product(machine).memory}}
            counters["memory"] = {"value": _product(machine).memory}
            use = {"counterSet": f"gpu-{index}-counter-set", "counters": counters}
            whole["consumesCounters"] = [use]
            counter_sets.append({"name": use["counterSet"], "counters": counters})
            devices.append(whole)
            devices.extend(_dynamic_mig(machine, release, index, whole))
        elif index in machine.static_mig:
            devices.extend(_static_mig(node, machine, release, index, whole))
        else:
            devices.append(whole)
    return devices, counter_sets


def _product(machine: Machine) -> Product:
    return next(entry for entry in catalogue.products(machine.driver) if entry.name == machine.product)


def _uuid(*parts: object) -> str:
    digest = hashlib.sha256("/".join(str(part) for part in parts).encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:32]}"


def _whole(node: str, machine: Machine, release: str, index: int) -> Object:
    """The device as a whole, with everything that the catalogue says its driver publishes in the release."""
    known = {product.name: product for product in catalogue.products(machine.driver)}.get(machine.product)
    values: dict[str, str | int | bool] = {
        "index": index,
        "minor": index,
        "physicalID": index,
        "cardIndex": index,
        "renderIndex": 128 + index,
        "serial": f"AN{index:08d}",
        "uuid": f"{_uuid_prefix(machine.driver)}{_uuid(node, index)}",
        "chipCount": len(machine.numa),
        "driverVersion": _DRIVER_VERSIONS.get(machine.driver, ""),
        "numaNode": machine.numa[index],
        "numaNodeID": machine.numa[index],
        "socketID": machine.numa[index],
        "numCPUs": 64,
        "pcieRoot": machine.roots[index],
        "pciBusID": _bus_id(machine, index),
        "pciAddr": _bus_id(machine, index),
        "pciAddress": _bus_id(machine, index),
        **(dict(known.values) if known else {}),
        **machine.values,
    }
    attributes: Object = {}
    capacity: Object = {}
    for term in catalogue.terms(machine.driver, release, machine.device_type):
        name = term.name if term.domain == machine.driver else term.qualified
        if term.kind == "capacity":
            if not term.optional or machine.mig or machine.driver == "dra.cpu":
                capacity[name] = _capacity(machine, term.name, values)
            continue
        value = values.get(term.name)
        if value is None and term.optional:
            continue
        if value is None:
            value = machine.product if term.name in _PRODUCT_WORDS else term.example
        if value != "":
            attributes[name] = {term.type: value}
    device: Object = {"name": _name(machine, index), "attributes": attributes}
    if capacity:
        device["capacity"] = capacity
    if any(term.consumable for term in catalogue.terms(machine.driver, release, machine.device_type)):
        device["allowMultipleAllocations"] = True
    return device


_PRODUCT_WORDS = ("productName", "model", "accelerator")


def _uuid_prefix(driver: str) -> str:
    return {"gpu.nvidia.com": "GPU-", "gpu.example.com": "gpu-", "tpu.google.com": "tpu-"}.get(driver, "")


def _bus_id(machine: Machine, index: int) -> str:
    root = machine.roots[index]
    return f"{root[3:7]}:{machine.bus[index]}:00.0" if root else ""


def _name(machine: Machine, index: int) -> str:
    match machine.driver:
        case "gpu.amd.com":
            return f"gpu-{index}-{128 + index}"
        case "gpu.intel.com" | "gaudi.intel.com":
            return f"0000-{machine.bus[index]}-00-0-0x{'0bd5' if machine.driver[1] == 'p' else '1060'}"
        case "tpu.google.com":
            return str(index)
        case "ascend.project-hami.io":
            return f"npu-{index}"
        case "dra.cpu":
            return f"cpudevnuma{index:03d}"
        case _:
            return f"gpu-{index}"


def _capacity(machine: Machine, name: str, values: dict[str, str | int | bool]) -> Object:
    if name == "memory":
        value = _product(machine).memory
    else:
        example = next(
            term.example
            for term in catalogue.terms(machine.driver)
            if term.kind == "capacity" and term.name == name
        )
        value = str(values.get(name, example))
    body: Object = {"value": value}
    if machine.driver == "ascend.project-hami.io":
        step = "1Gi" if name == "memory" else "1"
        body["requestPolicy"] = {"default": value, "validRange": {"min": step, "max": value, "step": step}}
    return body


def _partitions(node: str, machine: Machine, release: str) -> Iterator[Object]:
    memory = int(_product(machine).memory.removesuffix("Mi"))
    for index in range(len(machine.numa)):
        for part in range(machine.partitions):
            device = _whole(node, machine, release, index)
            number = index * machine.partitions + part
            device["name"] = f"gpu-{number}-{128 + number}"
            units = int(str(_product(machine).values["computeUnits"])) // machine.partitions
            device["capacity"] = {
                "memory": {"value": f"{memory // machine.partitions}Mi"},
                "computeUnits": {"value": str(units)},
                "simdUnits": {"value": str(units * 4)},
            }
            yield device


def _mig_capacity(profile: MigProfile) -> Object:
    amounts: dict[str, int | str] = {
        "memory": profile.memory,
        "multiprocessors": profile.multiprocessors,
        "copyEngines": profile.copy_engines,
        "decoders": profile.decoders,
        "encoders": 0,
        "jpegEngines": profile.jpeg_engines,
        "ofaEngines": profile.ofa_engines,
    }
    return {name: {"value": str(amount)} for name, amount in amounts.items()}


def _counters(capacity: Object, slices: range) -> Object:
    """A counter for every capacity under its hyphenated name, and one for every memory slice."""
    named = {
        "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name): amount
        for name, amount in capacity.items()
    }
    return named | {f"memory-slice-{slot}": {"value": "1"} for slot in slices}


def _mig_attributes(machine: Machine, release: str, profile: MigProfile, whole: Object) -> Object:
    shared = whole["attributes"]
    assert isinstance(shared, dict)
    published = {
        term.name if term.domain == machine.driver else term.qualified
        for term in catalogue.terms(machine.driver, release, "mig")
    }
    attributes: Object = {
        name: value for name, value in shared.items() if name in published and name != "uuid"
    }
    attributes["type"] = {"string": "mig"}
    attributes["parentUUID"] = shared["uuid"]
    attributes["profile"] = {"string": profile.name}
    return attributes


def _mig_name(index: int, profile: MigProfile, start: int) -> str:
    return f"gpu-{index}-mig-{profile.name.replace('.', '')}-{profile.profile_id}-{start}"


def _dynamic_mig(machine: Machine, release: str, index: int, whole: Object) -> Iterator[Object]:
    for profile in machine.mig:
        capacity = _mig_capacity(profile)
        for start in profile.starts:
            counters = _counters(capacity, range(start, start + profile.slices))
            yield {
                "name": _mig_name(index, profile, start),
                "attributes": _mig_attributes(machine, release, profile, whole),
                "capacity": capacity,
                "consumesCounters": [{"counterSet": f"gpu-{index}-counter-set", "counters": counters}],
            }


def _static_mig(node: str, machine: Machine, release: str, index: int, whole: Object) -> Iterator[Object]:
    profile = machine.mig[0]
    for start in profile.starts:
        attributes = _mig_attributes(machine, release, profile, whole)
        attributes["uuid"] = {"string": f"MIG-{_uuid(node, index, start)}"}
        yield {
            "name": _mig_name(index, profile, start),
            "attributes": attributes,
            "capacity": _mig_capacity(profile) | {f"memorySlice{start}": {"value": "1"}},
        }


def _nics(node: str, machine: Machine) -> Iterator[Object]:
    for index in range(len(machine.numa)):
        digest = hashlib.sha256(f"{node}/nic/{index}".encode()).hexdigest()
        mac = ":".join(["02", *(digest[at : at + 2] for at in range(0, 10, 2))])
        bus = f"{int(machine.bus[index], 16) - 3:02x}"
        yield {
            "name": f"rdma{index}",
            "attributes": {
                "dra.net/ifName": {"string": f"rdma{index}"},
                "dra.net/mac": {"string": mac},
                "dra.net/pciAddress": {"string": f"0000:{bus}:00.0"},
                "dra.net/pciVendor": {"string": "Mellanox Technologies"},
                "dra.net/pciDevice": {"string": "MT2910 Family [ConnectX-7]"},
                "dra.net/numaNode": {"int": machine.numa[index]},
                "dra.net/mtu": {"int": 4200},
                "dra.net/encapsulation": {"string": "ether"},
                "dra.net/state": {"string": "up"},
                "dra.net/type": {"string": "device"},
                "dra.net/ipv4": {"string": f"192.168.{100 + index}.2"},
                "dra.net/ebpf": {"bool": False},
                "dra.net/sriov": {"bool": False},
                "dra.net/virtual": {"bool": False},
                "dra.net/rdma": {"bool": True},
                "resource.kubernetes.io/pcieRoot": {"string": machine.roots[index]},
            },
        }
