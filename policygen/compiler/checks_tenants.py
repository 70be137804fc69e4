"""Checks of tenants: limits that contradict each other, names that clash, pods that a quota would refuse."""

from __future__ import annotations

from typing import Literal

from policygen.compiler.model import Claim, Limits, Model, Tenant
from policygen.compiler.model_actions import InjectClaim, ReplaceLimits
from policygen.compiler.resolve_claims import MAX_DEVICES
from policygen.diagnostics import Diagnostics, Label, Span, make
from policygen.dra.quota import OBJECT_COUNT, class_keys
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


def check_quotas(model: Model, found: Diagnostics) -> None:
    """A claim that alone takes more than a tenant's quota grants is never created, and its pod never runs."""
    for tenant in model.tenants:
        for claim in model.claims:
            if set(claim.namespaces) & set(tenant.namespaces):
                _check_quota(model, tenant, claim, found)


def _check_quota(model: Model, tenant: Tenant, claim: Claim, found: Diagnostics) -> None:
    over = _over_quota(tenant, claim)
    if over is None:
        return
    key, charged, granted = over
    place = tenant.span
    for quota in tenant.quotas:
        if key in dict(quota.hard):
            place = quota.span
    message = f"claim `{claim.name}` takes {charged} of `{key}`, and tenant `{tenant.name}` has {granted}"
    notes = ["the API server refuses the claim, so a pod that needs it stays pending"]
    if charged == MAX_DEVICES:
        notes.append(f"`count: all` is charged as {MAX_DEVICES} devices")
    help = [f"grant at least {charged}, or ask for fewer devices"]
    by_count = _others_fit(model, tenant, claim)
    if by_count:
        notes.append("other counts of the rule fit, so this may be meant")
    severity: Literal["error", "warning"] = "warning" if by_count else "error"
    related = [Label(place, "the quota")]
    found.add(make(severity, "quota-exceeded", message, claim.span, related=related, notes=notes, help=help))


def _over_quota(tenant: Tenant, claim: Claim) -> tuple[str, int, str] | None:
    """The first key of which one claim takes more than all that is granted, with both amounts."""
    charges = {OBJECT_COUNT: 1}
    for request in claim.requests:
        worst: dict[tuple[str, str], int] = {}
        for item in request.alternatives:
            owner = (item.device.class_name, item.device.extended_resource or "")
            worst[owner] = max(worst.get(owner, 0), MAX_DEVICES if item.count is None else item.count)
        for (name, extended), count in worst.items():
            for key in class_keys(name, extended):
                charges[key] = charges.get(key, 0) + count
    for key, charged in charges.items():
        for quota in tenant.quotas:
            granted = dict(quota.hard).get(key)
            unscoped = not quota.scopes and not quota.scope_priorities
            if granted is not None and unscoped and Quantity.of(charged) > Quantity.parse(granted):
                return key, charged, granted
    return None


def _others_fit(model: Model, tenant: Tenant, claim: Claim) -> bool:
    """Whether every rule that uses the claim here has claims for other counts that the quota grants."""
    fitting = {other.name for other in model.claims if _over_quota(tenant, other) is None}
    uses = []
    for rule in model.rules:
        for action in rule.actions:
            if isinstance(action, ReplaceLimits | InjectClaim):
                refs = (
                    [action.claim] if isinstance(action, InjectClaim) else [ref for _, ref in action.by_count]
                )
                names = {ref.name for ref in refs}
                if claim.name in names:
                    uses.append(bool(names & fitting))
    return bool(uses) and all(uses)


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
