"""An allocation as the server writes it into `status.allocation` of a claim."""

from __future__ import annotations

from policygen.dra.allocation import Allocation, Chosen
from policygen.dra.model import Gates, Json, Request


def render_result(allocation: Allocation, node_name: str, gates: Gates) -> dict[str, object]:
    """The AllocationResult of a claim."""
    devices: dict[str, object] = {
        "results": [_device_result(chosen, gates) for chosen in allocation.chosen],
    }
    config = _config(allocation)
    if config:
        devices["config"] = config
    result: dict[str, object] = {"devices": devices}
    selector = _node_selector(allocation.chosen, node_name)
    if selector is not None:
        result["nodeSelector"] = selector
    return result


def _device_result(chosen: Chosen, gates: Gates) -> dict[str, object]:
    device, request = chosen.placed.device, chosen.request
    result: dict[str, object] = {
        "request": request.full_name,
        "driver": device.driver,
        "pool": device.pool,
        "device": device.name,
    }
    if request.admin_access:
        result["adminAccess"] = True
    if request.tolerations:
        result["tolerations"] = [toleration.raw for toleration in request.tolerations]
    if gates.device_binding and device.binding_conditions:
        result["bindingConditions"] = list(device.binding_conditions)
    if gates.device_binding and device.binding_failure_conditions:
        result["bindingFailureConditions"] = list(device.binding_failure_conditions)
    if chosen.consumed:
        result["consumedCapacity"] = {name: str(amount) for name, amount in sorted(chosen.consumed.items())}
    return result


def _config(allocation: Allocation) -> list[dict[str, object]]:
    """Configuration of the classes in the order of the requests, each class once, then the claim's own."""
    config: list[dict[str, object]] = []
    by_class: dict[str, list[list[str]]] = {}
    for request, device_class in allocation.selected:
        known = by_class.get(device_class.name)
        if known is not None:
            for names in known:
                names.append(request.full_name)
            continue
        lists = by_class[device_class.name] = []
        for entry in device_class.config:
            names = [request.full_name]
            lists.append(names)
            config.append({"source": "FromClass", "requests": names, **entry})
    for entry in allocation.claim.config:
        config.extend(_claim_config(entry, allocation.selected))
    return config


def _claim_config(entry: Json, selected: tuple[tuple[Request, object], ...]) -> list[dict[str, object]]:
    listed = entry.get("requests")
    names = [str(name) for name in listed] if isinstance(listed, list) else []
    if not names:
        return [{"source": "FromClaim", **{key: value for key, value in entry.items() if key != "requests"}}]
    return [
        {"source": "FromClaim", **entry}
        for request, _ in selected
        if (request.parent or request.name) in names or request.full_name in names
    ]


def _node_selector(chosen: tuple[Chosen, ...], node_name: str) -> dict[str, object] | None:
    """A device that is local to one node binds the claim to it; selectors of slices add up."""
    fields: list[object] = []
    expressions: list[object] = []
    for each in chosen:
        device, entry = each.placed.device, each.placed.slice
        nodes = device.nodes if entry.nodes.per_device else entry.nodes
        if nodes.name or device.binds_to_node:
            requirement = {"key": "metadata.name", "operator": "In", "values": [node_name]}
            return {"nodeSelectorTerms": [{"matchFields": [requirement]}]}
        terms = nodes.selector.get("nodeSelectorTerms") if nodes.selector else None
        if isinstance(terms, list) and len(terms) == 1 and isinstance(terms[0], dict):
            _add_new(fields, terms[0].get("matchFields"))
            _add_new(expressions, terms[0].get("matchExpressions"))
    term = {
        key: listed for key, listed in (("matchFields", fields), ("matchExpressions", expressions)) if listed
    }
    return {"nodeSelectorTerms": [term]} if term else None


def _add_new(target: list[object], requirements: object) -> None:
    for requirement in requirements if isinstance(requirements, list) else ():
        if not any(_same(requirement, known) for known in target):
            target.append(requirement)


def _same(left: object, right: object) -> bool:
    if not isinstance(left, dict) or not isinstance(right, dict):
        return left == right
    return (
        left.get("key") == right.get("key")
        and left.get("operator") == right.get("operator")
        and set(left.get("values") or ()) == set(right.get("values") or ())
    )
