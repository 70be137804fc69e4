"""Objects that differ from one at hand in a single way, for properties that try many."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from policygen.verify.analysis import ANY
from policygen.verify.paths import ABSENT

Steps = tuple[str | int, ...]

POD_LISTS = ("containers", "initContainers", "ephemeralContainers")


def places(obj: Any, path: Sequence[str]) -> list[Steps]:
    """Where a path with wildcards stands in an object; for each list its first and its last item."""
    found: list[tuple[Steps, Any]] = [((), obj)]
    for step in path:
        below: list[tuple[Steps, Any]] = []
        for steps, value in found:
            if isinstance(value, list) and (step == ANY or step.isdigit()):
                ends = sorted({0, len(value) - 1}) if value else []
                below += [((*steps, index), value[index]) for index in ends]
            elif isinstance(value, dict) and step == ANY:
                below += [((*steps, key), item) for key, item in list(value.items())[:2]]
            elif isinstance(value, dict) and step in value:
                below.append(((*steps, step), value[step]))
        found = below
    return [steps for steps, _ in found]


def replaced(value: Any, steps: Steps, new: Any) -> Any:
    """A copy with another value at a place, or with nothing there for `ABSENT`."""
    if not steps:
        return new
    step, rest = steps[0], steps[1:]
    if isinstance(step, str):
        if not rest and new is ABSENT:
            return {key: item for key, item in value.items() if key != step}
        return {**value, step: replaced(value[step], rest, new)}
    if not rest and new is ABSENT:
        return [*value[:step], *value[step + 1 :]]
    return [*value[:step], replaced(value[step], rest, new), *value[step + 1 :]]


def pod_specs(obj: Any, steps: Steps = ()) -> Iterator[tuple[Steps, dict[str, Any]]]:
    """Every pod spec in an object: a map with a list of containers, which have images."""
    if isinstance(obj, dict):
        containers = obj.get("containers")
        if isinstance(containers, list) and containers and all(isinstance(item, dict) for item in containers):
            yield steps, obj
        for key, item in obj.items():
            yield from pod_specs(item, (*steps, key))
    elif isinstance(obj, list):
        for index, item in enumerate(obj):
            yield from pod_specs(item, (*steps, index))


def container_variants(obj: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The object with one container, with many, with init and with ephemeral containers."""
    for steps, spec in pod_specs(obj):
        first = spec["containers"][0]
        forms: list[tuple[str, dict[str, Any]]] = [
            ("one bare container", {**spec, "containers": [{"name": "bare", "image": "example.com/bare:1"}]}),
            ("many containers", {**spec, "containers": [*spec["containers"], *copies(first, 3)]}),
            ("an init container", {**spec, "initContainers": copies(first, 1, "init")}),
        ]
        for title, changed in forms:
            yield title, replaced(obj, steps, changed)


def copies(container: dict[str, Any], count: int, prefix: str = "copy") -> list[dict[str, Any]]:
    """The same container under other names, without what only one container may have."""
    kept = {key: item for key, item in container.items() if key not in ("ports", "name")}
    return [{"name": f"{prefix}-{index}", **kept} for index in range(count)]
