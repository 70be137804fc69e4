"""PriorityClass."""

from __future__ import annotations

from typing import Any

from policygen.compiler.bundle import Manifest
from policygen.compiler.ir_objects import PriorityClass


def emit_priority_class(node: PriorityClass) -> Manifest:
    """A PriorityClass. The preemption policy is always written: it cannot be changed later."""
    body: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": node.name},
        "value": node.value,
        "preemptionPolicy": node.preemption,
    }
    if node.is_default:
        body["globalDefault"] = True
    if node.description:
        body["description"] = node.description
    return Manifest(body, node.origin, node.span)
