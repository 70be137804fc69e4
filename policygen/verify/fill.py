"""Putting values at places that an object does not have yet: what is around them is made, and valid."""

from __future__ import annotations

from random import Random
from typing import Any, Final

from policygen.kube.schema import KindSchema, ListOf, Node, child
from policygen.verify.analysis import ANY, Path
from policygen.verify.paths import ABSENT
from policygen.verify.variants import pod_specs, replaced

_ITEMS: Final[dict[str, Any]] = {
    "claims": {"name": "made"},
    "containers": {"name": "made", "image": "example.com/made:1"},
    "env": {"name": "MADE", "value": "made"},
    "ephemeralContainers": {"name": "made-debug", "image": "example.com/made:1"},
    "initContainers": {"name": "made-init", "image": "example.com/made:1"},
    "matchExpressions": {"key": "example.com/made", "operator": "Exists"},
    "nodeSelectorTerms": {"matchExpressions": [{"key": "example.com/made", "operator": "Exists"}]},
    "ownerReferences": {"apiVersion": "example.com/v1", "kind": "Made", "name": "made", "uid": "made"},
    "ports": {"containerPort": 8080},
    "requiredDuringSchedulingIgnoredDuringExecution": {
        "topologyKey": "example.com/made",
        "labelSelector": {},
    },
    "resourceClaims": {"name": "made", "resourceClaimTemplateName": "made"},
    "tolerations": {"key": "example.com/made", "operator": "Exists"},
    "topologySpreadConstraints": {
        "maxSkew": 1,
        "topologyKey": "example.com/made",
        "whenUnsatisfiable": "ScheduleAnyway",
    },
    "volumeDevices": {"name": "made-disk", "devicePath": "/dev/made"},
    "volumeMounts": {"name": "made", "mountPath": "/made"},
    "volumes": {"name": "made", "emptyDir": {}},
}
"""A valid item of each list that may be absent."""

_PREFERRED: Final[dict[str, Any]] = {
    "nodeAffinity": {
        "weight": 1,
        "preference": {"matchExpressions": [{"key": "example.com/made", "operator": "Exists"}]},
    },
    "podAffinity": {
        "weight": 1,
        "podAffinityTerm": {"topologyKey": "example.com/made", "labelSelector": {}},
    },
}
_PREFERRED_LIST: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def filled(
    obj: dict[str, Any], path: Path, value: Any, schema: KindSchema | None, random: Random | None = None
) -> dict[str, Any]:
    """A copy with a value at a path, or without it for `ABSENT`.

    A wildcard is an item of a list, or the value of a key: without `random` the first, made when there is
    none.
    """
    found = _filled(obj, path, (), value, None if schema is None else schema.root, random)
    return found if isinstance(found, dict) else obj


def _filled(at: Any, rest: Path, above: Path, value: Any, node: Node | None, random: Random | None) -> Any:
    if not rest:
        return value
    step, below = rest[0], rest[1:]
    if isinstance(node, ListOf) or isinstance(at, list):
        return _item(at if isinstance(at, list) else [], rest, above, value, node, random)
    known = dict(at) if isinstance(at, dict) else {}
    if step == ANY:
        if not known:
            return at
        step = random.choice(sorted(known)) if random else min(known)
    inner = None if node is None else child(node, step)
    if not below and value is ABSENT:
        known.pop(step, None)
        return known
    start = known.get(step)
    if start is None and below[:1] == (ANY,) and inner is None:
        start = []
    known[step] = _filled(start, below, (*above, step), value, inner, random)
    return {key: item for key, item in known.items() if item is not None}


def _item(
    items: list[Any], rest: Path, above: Path, value: Any, node: Node | None, random: Random | None
) -> list[Any]:
    below = rest[1:] if rest[0] == ANY or rest[0].isdigit() else rest
    items = list(items)
    if not items or (random is not None and random.random() < 0.3 and len(items) < 4):
        items.append(new_item(above))
    index = random.randrange(len(items)) if random is not None else 0
    inner = child(node, "[]") if isinstance(node, ListOf) else None
    if not below:
        if value is ABSENT:
            del items[index]
        else:
            items[index] = value
        return items
    items[index] = _filled(items[index], below, above, value, inner, random)
    return items


def new_item(path: Path) -> Any:
    """A valid item of the list at a path."""
    name = path[-1] if path else ""
    if name == _PREFERRED_LIST and len(path) > 1:
        return _PREFERRED["nodeAffinity" if path[-2] == "nodeAffinity" else "podAffinity"]
    return _ITEMS.get(name, {})


def consistent(obj: dict[str, Any]) -> dict[str, Any]:
    """An object whose containers have names of their own, and find the claims and volumes that they name."""
    for steps, spec in list(pod_specs(obj)):
        obj = replaced(obj, steps, _complete(spec))
    return obj


def _complete(spec: dict[str, Any]) -> dict[str, Any]:
    spec = dict(spec)
    containers = [
        item
        for key in ("containers", "initContainers")
        for item in spec.get(key) or []
        if isinstance(item, dict)
    ]
    claims = _named(
        claim for item in containers for claim in (item.get("resources") or {}).get("claims") or []
    )
    mounts = _named(mount for item in containers for mount in item.get("volumeMounts") or [])
    devices = _named(device for item in containers for device in item.get("volumeDevices") or [])
    _add(spec, "resourceClaims", claims, lambda name: {"name": name, "resourceClaimTemplateName": "made"})
    _add(spec, "volumes", devices, lambda name: {"name": name, "persistentVolumeClaim": {"claimName": name}})
    _add(spec, "volumes", mounts, lambda name: {"name": name, "emptyDir": {}})
    return spec


def _named(items: Any) -> list[str]:
    return [item["name"] for item in items if isinstance(item, dict) and isinstance(item.get("name"), str)]


def _add(spec: dict[str, Any], key: str, names: list[str], make: Any) -> None:
    have = _named(spec.get(key) or [])
    missing = [name for name in dict.fromkeys(names) if name not in have]
    if missing:
        spec[key] = [*(spec.get(key) or []), *(make(name) for name in missing)]
