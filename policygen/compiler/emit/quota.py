"""ResourceQuota and Namespace."""

from __future__ import annotations

from typing import Any

from policygen.compiler.bundle import Manifest
from policygen.compiler.ir_objects import Namespace, ResourceQuota


def emit_quota(node: ResourceQuota) -> Manifest:
    """A ResourceQuota; the priority scope is a selector, the others are plain names."""
    spec: dict[str, Any] = {"hard": dict(node.quota.hard)}
    if node.quota.scopes:
        spec["scopes"] = list(node.quota.scopes)
    if node.quota.scope_priorities:
        expression = {
            "scopeName": "PriorityClass",
            "operator": "In",
            "values": list(node.quota.scope_priorities),
        }
        spec["scopeSelector"] = {"matchExpressions": [expression]}
    body = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": node.quota.name, "namespace": node.namespace},
        "spec": spec,
    }
    return Manifest(body, node.origin, node.span)


def emit_namespace(node: Namespace) -> Manifest:
    """A Namespace with the tenant's labels."""
    metadata: dict[str, Any] = {"name": node.name}
    if node.labels:
        metadata["labels"] = dict(node.labels)
    if node.annotations:
        metadata["annotations"] = dict(node.annotations)
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    return Manifest(body, node.origin, node.span)
