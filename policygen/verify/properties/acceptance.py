"""The API server of the target version accepts every manifest, in its own words where it does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from policygen.admission.cluster import Cluster
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World, create

NAME = "accepted by the server"

_UNSERVED: Final = "Kubernetes {} does not serve this version of the API: build for it with `--kubernetes`"
_FIELD: Final = re.compile(r"is invalid: \[?([\w.\[\]]+):")


def check(world: World) -> PropertyResult:
    """Create each manifest, in the bundle's order, on a server that has none of the others' policies."""
    findings = tuple(_refusals(world))
    return PropertyResult(NAME, world.subject.version, len(world.subject.manifests), findings)


def _refusals(world: World) -> Iterator[Finding]:
    for located in world.subject.manifests:
        trial = create(located.value, located.title)
        outcome = admit(_before(world.bare, trial.request), trial.request)
        if outcome.allowed:
            continue
        version = world.subject.version
        diagnostic = make(
            "error",
            "verify-not-accepted",
            f"the API server refuses `{located.title}`",
            located.at(_field(outcome.message)),
            notes=[f"the API server of {version} would say: {outcome.message}"],
            help=[_UNSERVED.format(version) if outcome.code == 404 else "correct the manifest, or the spec"],
        )
        yield Finding(diagnostic, located.name, located.value)


def _field(message: str) -> tuple[str | int, ...]:
    """The path of the field that a refusal is about; the object's name when it names none."""
    found = _FIELD.search(message)
    if found is None:
        return "metadata", "name"
    steps = (step.strip("[]") for step in found[1].replace("[", ".[").split("."))
    return tuple(int(step) if step.isdigit() else step for step in steps)


def _before(cluster: Cluster, request: AdmissionRequest) -> Cluster:
    """The server as it is before the object is created."""
    key = (request.kind.group, request.kind.kind)
    stored = {
        name: obj
        for name, obj in cluster.objects.get(key, {}).items()
        if name != (request.namespace, request.name)
    }
    return replace(cluster, objects={**cluster.objects, key: stored})
