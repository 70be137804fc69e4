"""Small inventories and claims for tests."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from policygen.dra.allocation import AllocatedState, SelectorError
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_slice
from policygen.dra.model import Claim, Device, DeviceClass, DeviceId, Node
from policygen.dra.pools import Inventory

DRIVER = "d.example.com"
NODE = Node("n0", {"kubernetes.io/hostname": "n0"})


def device(name: str, **attributes: int | str | bool) -> dict[str, object]:
    """A device whose attributes are ints, strings and bools."""
    kinds = {int: "int", str: "string", bool: "bool"}
    return {"name": name, "attributes": {key: {kinds[type(v)]: v} for key, v in attributes.items()}}


def inventory(devices: Iterable[dict[str, object]], **spec: object) -> Inventory:
    """One pool with one slice on node `n0`."""
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    body = {"driver": DRIVER, "nodeName": "n0", "pool": pool, "devices": list(devices), **spec}
    return Inventory([read_slice({"metadata": {"name": "s"}, "spec": body})])


def claim(requests: Sequence[dict[str, object]], constraints: Sequence[dict[str, object]] = ()) -> Claim:
    """A claim `t/c`."""
    spec = {"devices": {"requests": list(requests), "constraints": list(constraints)}}
    return read_claim({"metadata": {"name": "c", "namespace": "t"}, "spec": spec})


def exactly(name: str, count: int = 1, selector: str = "", **more: object) -> dict[str, object]:
    """A request for so many devices of class `any`."""
    body: dict[str, object] = {"deviceClassName": "any", "count": count, **more}
    if selector:
        body["selectors"] = [{"cel": {"expression": selector}}]
    return {"name": name, "exactly": body}


def match_attribute(name: str, *requests: str) -> dict[str, object]:
    """A match constraint."""
    return {"matchAttribute": f"{DRIVER}/{name}", **({"requests": list(requests)} if requests else {})}


CLASSES: dict[str, DeviceClass] = {"any": read_class({"metadata": {"name": "any"}, "spec": {}})}


class Words:
    """A matcher for selectors such as `numa 1`: an attribute and its value; `fail` fails."""

    def matches(self, expression: str, device: Device) -> bool:
        """Compare as text."""
        if expression == "fail":
            raise SelectorError("runtime", "no such key: fail")
        name, _, value = expression.partition(" ")
        found = device.attributes.get(name)
        return found is not None and str(found[1]) == value


def allocator(found: Inventory, used: Iterable[str] = (), max_steps: int = 50_000) -> Allocator:
    """An allocator with some of the pool's devices in use."""
    held = frozenset(DeviceId(DRIVER, "n0", name) for name in used)
    return Allocator(found, CLASSES, Words(), AllocatedState(held), max_steps)


def chosen(subject: Allocator, *claims: Claim) -> list[tuple[str, str]] | None:
    """Request and device, in order."""
    found = subject.allocate(NODE, claims)
    if found is None:
        return None
    return [
        (each.request.full_name, each.placed.device.name)
        for allocation in found
        for each in allocation.chosen
    ]
