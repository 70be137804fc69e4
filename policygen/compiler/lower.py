"""Model -> the objects that must exist. Rules are lowered by `ir_rules`, when their policies are planned."""

from __future__ import annotations

from policygen.compiler.ir_objects import (
    AttributeConstraint,
    ClaimTemplate,
    DeviceClass,
    LimitRange,
    Namespace,
    Object,
    Opaque,
    PriorityClass,
    Request,
    ResourceQuota,
    Subrequest,
)
from policygen.compiler.model import Alternative, Claim, Device, DeviceConfig, Model, Priority, Tenant
from policygen.compiler.selectors import class_selectors, request_selectors


def lower(model: Model) -> tuple[Object, ...]:
    """Every object of the bundle that is no admission policy."""
    objects: list[Object] = []
    for tenant in model.tenants:
        objects += _tenant(tenant)
    objects += [
        PriorityClass(
            p.name, p.value, p.preemption, p.is_default, p.description, f"priorities/{p.name}", p.span
        )
        for p in model.priorities
        if not p.exists
    ]
    objects += [_device(device) for device in model.devices if not device.exists]
    for claim in model.claims:
        objects += _claim(claim)
    return tuple(objects)


def _tenant(tenant: Tenant) -> list[Object]:
    objects: list[Object] = []
    origin = f"tenants/{tenant.name}"
    for namespace in tenant.namespaces:
        if tenant.labels or tenant.annotations:
            objects.append(Namespace(namespace, tenant.labels, tenant.annotations, origin, tenant.span))
        objects += [
            ResourceQuota(
                namespace, quota, f"{origin}/quotas/{quota.key}" if quota.key else origin, quota.span
            )
            for quota in tenant.quotas
        ]
        if tenant.limits:
            objects.append(LimitRange(tenant.name, namespace, tenant.limits, origin, tenant.limits[0].span))
    return objects


def _priority(priority: Priority) -> PriorityClass:
    return PriorityClass(
        name=priority.name,
        value=priority.value,
        preemption=priority.preemption,
        is_default=priority.is_default,
        description=priority.description,
        origin=f"priorities/{priority.name}",
        span=priority.span,
    )


def _device(device: Device) -> DeviceClass:
    return DeviceClass(
        name=device.class_name,
        selectors=class_selectors(device),
        extended_resource=device.extended_resource,
        configs=_configs(device.configs),
        origin=f"devices/{device.name}",
        span=device.span,
    )


def _claim(claim: Claim) -> list[Object]:
    requests = tuple(
        Request(request.name, tuple(_subrequest(item) for item in request.alternatives))
        for request in claim.requests
    )
    constraints = tuple(AttributeConstraint(c.attribute, c.distinct, c.requests) for c in claim.constraints)
    configs = _configs(claim.configs)
    return [
        ClaimTemplate(
            claim.template, namespace, requests, constraints, configs, f"claims/{claim.name}", claim.span
        )
        for namespace in claim.namespaces
    ]


def _subrequest(item: Alternative) -> Subrequest:
    return Subrequest(
        name=item.name,
        class_name=item.device.class_name,
        selectors=request_selectors(item.conditions, item.cel),
        count=item.count,
        capacity=item.capacity,
        tolerations=item.tolerations,
        admin_access=item.admin_access,
    )


def _configs(configs: tuple[DeviceConfig, ...]) -> tuple[Opaque, ...]:
    return tuple(Opaque(config.driver, config.parameters, config.requests) for config in configs)
