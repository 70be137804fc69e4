"""DeviceClass and ResourceClaimTemplate, in the shape of `resource.k8s.io/v1`."""

from __future__ import annotations

from typing import Any

from policygen.compiler.bundle import Manifest, Trace
from policygen.compiler.ir_objects import ClaimTemplate, DeviceClass, Opaque, Request, Selector, Subrequest
from policygen.compiler.model_actions import Toleration

API_VERSION = "resource.k8s.io/v1"


def emit_device_class(node: DeviceClass) -> Manifest:
    """A DeviceClass."""
    spec: dict[str, Any] = {"selectors": _selectors(node.selectors)}
    if node.configs:
        spec["config"] = [_opaque(config) for config in node.configs]
    if node.extended_resource:
        spec["extendedResourceName"] = node.extended_resource
    traces = tuple(
        Trace(("spec", "selectors", index), selector.span, "selector")
        for index, selector in enumerate(node.selectors)
    )
    body = {
        "apiVersion": API_VERSION,
        "kind": "DeviceClass",
        "metadata": {"name": node.name},
        "spec": spec,
    }
    return Manifest(body, node.origin, node.span, traces)


def emit_claim_template(node: ClaimTemplate) -> Manifest:
    """A ResourceClaimTemplate."""
    devices: dict[str, Any] = {"requests": [_request(request) for request in node.requests]}
    if node.constraints:
        devices["constraints"] = [
            {
                **({"requests": list(item.requests)} if item.requests else {}),
                ("distinctAttribute" if item.distinct else "matchAttribute"): item.attribute,
            }
            for item in node.constraints
        ]
    if node.configs:
        devices["config"] = [
            {**({"requests": list(config.requests)} if config.requests else {}), **_opaque(config)}
            for config in node.configs
        ]
    body = {
        "apiVersion": API_VERSION,
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": node.name, "namespace": node.namespace},
        "spec": {"spec": {"devices": devices}},
    }
    return Manifest(body, node.origin, node.span)


def _request(request: Request) -> dict[str, Any]:
    """`exactly` for one way, `firstAvailable` for several."""
    if len(request.ways) == 1:
        return {"name": request.name, "exactly": _way(request.ways[0])}
    return {
        "name": request.name,
        "firstAvailable": [{"name": way.name, **_way(way)} for way in request.ways],
    }


def _way(way: Subrequest) -> dict[str, Any]:
    result: dict[str, Any] = {"deviceClassName": way.class_name}
    if way.selectors:
        result["selectors"] = _selectors(way.selectors)
    if way.count is None:
        result["allocationMode"] = "All"
    else:
        result["allocationMode"] = "ExactCount"
        result["count"] = way.count
    if way.admin_access:
        result["adminAccess"] = True
    if way.tolerations:
        result["tolerations"] = [toleration(item) for item in way.tolerations]
    if way.capacity:
        result["capacity"] = {"requests": dict(way.capacity)}
    return result


def toleration(item: Toleration) -> dict[str, Any]:
    """A toleration as Kubernetes spells it."""
    fields = {
        "key": item.key,
        "operator": item.operator,
        "value": item.value,
        "effect": item.effect,
        "tolerationSeconds": item.seconds,
    }
    return {key: value for key, value in fields.items() if value is not None}


def _selectors(selectors: tuple[Selector, ...]) -> list[dict[str, Any]]:
    return [{"cel": {"expression": selector.expression}} for selector in selectors]


def _opaque(config: Opaque) -> dict[str, Any]:
    return {"opaque": {"driver": config.driver, "parameters": config.parameters}}
