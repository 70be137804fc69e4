"""What a pod asks for in sum (component-helpers `resource/helpers.go`), and its QoS class."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from policygen.admission.request import Object
from policygen.kube.quantity import Quantity
from policygen.kube.strategy import qos_class

Quantities: TypeAlias = dict[str, Quantity]
Which: TypeAlias = Literal["requests", "limits"]

ZERO: Final = Quantity.of(0)


def parse(given: Mapping[str, Any] | None) -> Quantities:
    """A resource list with its texts read."""
    return {name: Quantity.parse(str(value)) for name, value in given.items()} if given else {}


def of_container(container: Object, which: Which) -> Quantities:
    """What one container requests, or its limits."""
    return parse((container.get("resources") or {}).get(which))


def is_sidecar(container: Object) -> bool:
    """An init container that keeps running."""
    return container.get("restartPolicy") == "Always"


def pod_total(pod: Object, which: Which) -> Quantities:
    """The requests or limits that count for the whole pod, overhead included.

    Containers and sidecars add up; each other init container needs its own share beside the sidecars before
    it; what the pod itself states replaces the sum for the resources that it states.
    """
    spec = pod.get("spec") or {}
    total: Quantities = {}
    for container in spec.get("containers") or ():
        add_into(total, of_container(container, which))
    if spec.get("initContainers"):
        _add_init_containers(total, spec["initContainers"], which)
    stated = parse((spec.get("resources") or {}).get(which))
    total.update({name: value for name, value in stated.items() if supported_for_pod(name)})
    if spec.get("overhead"):
        overhead = parse(spec["overhead"])
        if which == "limits":
            overhead = {name: value for name, value in overhead.items() if total.get(name)}
        add_into(total, overhead)
    return total


def _add_init_containers(total: Quantities, containers: Iterable[Object], which: Which) -> None:
    sidecars: Quantities = {}
    peak: Quantities = {}
    for container in containers:
        asked = of_container(container, which)
        if is_sidecar(container):
            add_into(total, asked)
            add_into(sidecars, asked)
            asked = dict(sidecars)
        else:
            add_into(asked, sidecars)
        raise_to(peak, asked)
    raise_to(total, peak)


def supported_for_pod(name: str) -> bool:
    """The resources that may be stated for a whole pod."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def add_into(total: Quantities, more: Mapping[str, Quantity]) -> None:
    """Add each quantity to that of its name."""
    for name, value in more.items():
        total[name] = total[name] + value if name in total else value


def raise_to(total: Quantities, floor: Mapping[str, Quantity]) -> None:
    """Make each quantity at least as large."""
    for name, value in floor.items():
        if name not in total or value > total[name]:
            total[name] = value


def is_best_effort(pod: Object) -> bool:
    """Whether no container asks for CPU or memory; the class in the status decides where there is one."""
    known = (pod.get("status") or {}).get("qosClass")
    return bool((known or qos_class(pod)) == "BestEffort")


def containers_of(spec: Object, *, ephemeral: bool = False) -> list[Object]:
    """Init containers, containers, and where asked ephemeral ones, in the server's order of visiting."""
    found = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    return [*found, *(spec.get("ephemeralContainers") or ())] if ephemeral else found
