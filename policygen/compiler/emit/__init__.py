"""IR -> manifests. Objects come from here; admission policies from `emit.admission`, whose entry is

emit_rules(model: Model, found: Diagnostics) -> tuple[Manifest, ...]
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from policygen.compiler.bundle import MANAGED_BY, ORIGIN, PART_OF, Manifest
from policygen.compiler.emit.dra import emit_claim_template, emit_device_class
from policygen.compiler.emit.limits import emit_limits
from policygen.compiler.emit.priority import emit_priority_class
from policygen.compiler.emit.quota import emit_namespace, emit_quota
from policygen.compiler.ir_objects import (
    ClaimTemplate,
    DeviceClass,
    LimitRange,
    Namespace,
    Object,
    PriorityClass,
    ResourceQuota,
)
from policygen.compiler.model import Model


def emit_object(node: Object) -> Manifest:
    """One object as a manifest."""
    match node:
        case Namespace():
            return emit_namespace(node)
        case PriorityClass():
            return emit_priority_class(node)
        case DeviceClass():
            return emit_device_class(node)
        case ClaimTemplate():
            return emit_claim_template(node)
        case ResourceQuota():
            return emit_quota(node)
        case LimitRange():
            return emit_limits(node)
        case _:
            assert_never(node)


def finish(model: Model, manifests: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """The bundle in its order, each object with labels and an annotation that say where it came from."""
    return tuple(sorted((_labelled(model, item) for item in manifests), key=lambda item: item.sort_key))


def _labelled(model: Model, manifest: Manifest) -> Manifest:
    metadata = dict(manifest.object["metadata"])
    labels = {**dict(model.labels), **metadata.get("labels", {})}
    labels |= {MANAGED_BY: "policygen", PART_OF: model.name}
    annotations = {**dict(model.annotations), **metadata.get("annotations", {}), ORIGIN: manifest.origin}
    own = {key: value for key, value in metadata.items() if key not in {"labels", "annotations"}}
    metadata = {
        **own,
        "labels": dict(sorted(labels.items())),
        "annotations": dict(sorted(annotations.items())),
    }
    body = {key: metadata if key == "metadata" else value for key, value in manifest.object.items()}
    return Manifest(body, manifest.origin, manifest.span, manifest.traces)
