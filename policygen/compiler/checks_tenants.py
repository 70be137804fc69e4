"""Checks of tenants: limits that contradict each other, names that clash, pods that a quota would refuse."""

from __future__ import annotations

from policygen.compiler.model import Limits, Model
from policygen.diagnostics import Diagnostics, Label, Span
from policygen.kube.quantity import Quantity

ADMIN_LABEL = "resource.kubernetes.io/admin-access"


def check_limits(model: Model, found: Diagnostics) -> None:
    """What `ValidateLimitRange` refuses."""
    for tenant in model.tenants:
        for limits in tenant.limits:
            _check_limits(limits, found)


def _check_limits(limits: Limits, found: Diagnostics) -> None:
    parts = {
        "min": limits.min,
        "defaultRequest": limits.default_request,
        "default": limits.default,
        "max": limits.max,
    }
    amounts = {name: {key: Quantity.parse(text) for key, text in part} for name, part in parts.items()}
    order = list(parts)
    for low_index, low in enumerate(order):
        for high in order[low_index + 1 :]:
            for key in sorted(amounts[low].keys() & amounts[high].keys()):
                if amounts[low][key] > amounts[high][key]:
                    found.error(
                        "limits-contradict",
                        f"`{low}` of `{key}` is {amounts[low][key]}, above `{high}` {amounts[high][key]}",
                        limits.span,
                    )
    for key, text in limits.ratio:
        ratio = Quantity.parse(text)
        if ratio < Quantity.of(1):
            found.error("limits-contradict", f"`ratio` of `{key}` is below 1", limits.span)
        given = amounts["defaultRequest"].get(key)
        if given and key in amounts["default"]:
            used = amounts["default"][key].milli_value() / given.milli_value()
            if ratio.approximate_float() < used:
                found.error(
                    "limits-contradict",
                    f"`default` ÷ `defaultRequest` of `{key}` is above `ratio` {ratio}",
                    limits.span,
                    notes=["a container that states neither would be refused"],
                )
        if key in amounts["min"] and key in amounts["max"] and amounts["min"][key]:
            largest = amounts["max"][key].milli_value() / amounts["min"][key].milli_value()
            if ratio.approximate_float() > largest:
                found.error(
                    "limits-contradict",
                    f"`ratio` of `{key}` is {ratio}, above `max` ÷ `min`",
                    limits.span,
                )
    for key in amounts["default"]:
        request = amounts["defaultRequest"].get(key)
        if "/" in key and request is not None and request != amounts["default"][key]:
            found.error(
                "limits-contradict", f"`default` and `defaultRequest` of `{key}` must be equal", limits.span
            )


def check_qos(model: Model, found: Diagnostics) -> None:
    """A quota on requests or limits refuses every pod that does not state them: defaults must exist."""
    for tenant in model.tenants:
        container = next((item for item in tenant.limits if item.type == "Container"), None)
        given = _given(container)
        for quota in tenant.quotas:
            if "BestEffort" in quota.scopes:
                continue
            for key, _ in quota.hard:
                need = _need(key)
                if need is not None and need not in given:
                    found.warning(
                        "quota-without-default",
                        f"pods of tenant `{tenant.name}` that state no `{need}` are refused",
                        quota.span,
                        notes=[f"the quota on `{key}` makes it required"],
                        help=[f"give containers a default: `container: {_default(need)}`"],
                    )


def _given(container: Limits | None) -> set[str]:
    """What LimitRange fills in: a default limit is a default request too, and `max` a default limit."""
    if container is None:
        return set()
    limits = {key for key, _ in (*container.default, *container.max)}
    requests = limits | {key for key, _ in (*container.default_request, *container.min)}
    return {f"limits.{key}" for key in limits} | {f"requests.{key}" for key in requests}


def _need(key: str) -> str | None:
    if key in {"cpu", "memory"}:
        return f"requests.{key}"
    return key if key in {"requests.cpu", "requests.memory", "limits.cpu", "limits.memory"} else None


def _default(need: str) -> str:
    kind, _, resource = need.partition(".")
    return "{" + ("default" if kind == "limits" else "defaultRequest") + ": {" + resource + ": …}}"


def check_names(model: Model, found: Diagnostics) -> None:
    """No namespace belongs to two tenants."""
    owners: dict[str, tuple[str, Span]] = {}
    for tenant in model.tenants:
        for namespace in tenant.namespaces:
            if namespace in owners:
                found.error(
                    "duplicate-name",
                    f"namespace `{namespace}` belongs to tenant `{owners[namespace][0]}` already",
                    tenant.span,
                    related=[Label(owners[namespace][1], "declared here")],
                )
            owners.setdefault(namespace, (tenant.name, tenant.span))


def check_admin_access(model: Model, found: Diagnostics) -> None:
    """Administrative access works in namespaces with a label only, which the spec must set or know."""
    labels = {namespace: dict(tenant.labels) for tenant in model.tenants for namespace in tenant.namespaces}
    for claim in model.claims:
        for request in claim.requests:
            if not any(item.admin_access for item in request.alternatives):
                continue
            for namespace in claim.namespaces:
                if labels.get(namespace, {}).get(ADMIN_LABEL) != "true":
                    found.error(
                        "admin-access-label",
                        f"namespace `{namespace}` lacks the label that administrative access needs",
                        request.span,
                        notes=["without it the API server refuses the claim"],
                        help=[f'add `labels: {{{ADMIN_LABEL}: "true"}}` to its tenant'],
                    )
