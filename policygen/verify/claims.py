"""Which devices a pod's claims get on an inventory, as the scheduler's allocator chooses them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.dra import explain
from policygen.dra.allocation import AllocationError, SelectorError
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_slice
from policygen.dra.model import Claim
from policygen.dra.pools import Inventory
from policygen.dra.selectors import SelectorMatcher

GROUP = "resource.k8s.io"


def allocator(cluster: Cluster, slices: Sequence[Mapping[str, Any]]) -> Allocator:
    """The allocator of an inventory's slices with the cluster's DeviceClasses."""
    classes = [read_class(obj) for obj in cluster.list("DeviceClass", group=GROUP)]
    inventory = Inventory(read_slice(obj) for obj in slices if obj.get("kind") == "ResourceSlice")
    return Allocator(inventory, {item.name: item for item in classes}, SelectorMatcher(cluster.version))


def pod_claims(pod: Mapping[str, Any], cluster: Cluster) -> dict[str, Claim | None]:
    """The claims of a pod by the names that it gives them; None for one that its namespace does not have."""
    namespace = str((pod.get("metadata") or {}).get("namespace") or "")
    found: dict[str, Claim | None] = {}
    for entry in (pod.get("spec") or {}).get("resourceClaims") or []:
        template, name = entry.get("resourceClaimTemplateName"), entry.get("resourceClaimName")
        kind = "ResourceClaimTemplate" if template else "ResourceClaim"
        stored = cluster.get(kind, str(template or name or ""), namespace, GROUP)
        found[str(entry.get("name"))] = None if stored is None else read_claim(stored)
    return found


def allocate(
    pod: Mapping[str, Any], cluster: Cluster, slices: Sequence[Mapping[str, Any]]
) -> dict[str, tuple[str, ...] | str]:
    """Claim → names of the devices on the first node that has them all, or why there is none."""
    claims = pod_claims(pod, cluster)
    missing = [name for name, claim in claims.items() if claim is None]
    if missing:
        return dict.fromkeys(
            claims, f"its template is missing from the pod's namespace: {', '.join(missing)}"
        )
    wanted = {name: claim for name, claim in claims.items() if claim is not None}
    chosen, reason = first_node(allocator(cluster, slices), list(wanted.values()))
    if chosen is None:
        return dict.fromkeys(wanted, reason)
    return dict(zip(wanted, chosen, strict=True))


def first_node(source: Allocator, claims: Sequence[Claim]) -> tuple[list[tuple[str, ...]] | None, str]:
    """The devices of each claim on the first node where all fit together, or the reason why none does."""
    reason = "the inventory has no node"
    for node in source.inventory.nodes():
        try:
            found = source.allocate(node, claims)
        except (AllocationError, SelectorError) as error:
            reason = f"the allocator fails on node `{node.name}`: {error}"
            continue
        if found is not None:
            return [tuple(each.placed.device.name for each in allocation.chosen) for allocation in found], ""
        reason = "no node has the devices"
    return None, reason


def reasons(source: Allocator, claim: Claim, limit: int = 4) -> list[str]:
    """Node by node what a claim lacks; nodes with the same reasons are told together."""
    nodes: dict[str, list[str]] = {}
    for node in source.inventory.nodes():
        try:
            text = "; ".join(explain.reasons(source, node, [claim]))
        except (AllocationError, SelectorError) as error:
            text = str(error)
        nodes.setdefault(text, []).append(node.name)
    return [f"{', '.join(names[:3])}: {text}" for text, names in list(nodes.items())[:limit]]
