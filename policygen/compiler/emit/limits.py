"""LimitRange."""

from __future__ import annotations

from typing import Any

from policygen.compiler.bundle import Manifest
from policygen.compiler.ir_objects import LimitRange
from policygen.compiler.model import Limits


def emit_limits(node: LimitRange) -> Manifest:
    """A LimitRange with one item a kind of limits."""
    body = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": node.name, "namespace": node.namespace},
        "spec": {"limits": [_item(item) for item in node.limits]},
    }
    return Manifest(body, node.origin, node.span)


def _item(item: Limits) -> dict[str, Any]:
    parts = {
        "default": item.default,
        "defaultRequest": item.default_request,
        "min": item.min,
        "max": item.max,
        "maxLimitRequestRatio": item.ratio,
    }
    return {"type": item.type, **{key: dict(value) for key, value in parts.items() if value}}
