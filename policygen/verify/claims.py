"""Which devices a pod's claims get on an inventory, as the scheduler's allocator chooses them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.dra import explain
from policygen.dra.allocation import AllocationError, SelectorError
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_slice
from policygen.dra.model import Claim
from policygen.dra.pools import Inventory
from policygen.dra.quota import Charge, against_quota, claim_charges
from policygen.dra.selectors import SelectorMatcher
from policygen.kube.quantity import Quantity

GROUP = "resource.k8s.io"


def allocator(cluster: Cluster, slices: Sequence[Mapping[str, Any]]) -> Allocator:
    """The allocator of an inventory's slices with the cluster's DeviceClasses."""
    classes = [read_class(obj) for obj in cluster.list("DeviceClass", group=GROUP)]
    inventory = Inventory(read_slice(obj) for obj in slices if obj.get("kind") == "ResourceSlice")
    return Allocator(inventory, {item.name: item for item in classes}, SelectorMatcher(cluster.version))


@dataclass(frozen=True, slots=True)
class TooMany:
    """A quota that never grants what claims charge, whatever else the namespace holds."""

    quota: Mapping[str, Any]
    charge: Charge

    @property
    def text(self) -> str:
        """`quota `gpus` grants 2 of `…`, and 4 are charged`."""
        name = (self.quota.get("metadata") or {}).get("name")
        charge = self.charge
        return f"quota `{name}` grants {charge.hard} of `{charge.key}`, and {charge.charged} are charged"


def over_quota(claims: Sequence[Claim], namespace: str, cluster: Cluster) -> Iterator[TooMany]:
    """The quotas of a namespace that grant less than claims charge at worst; one key of each."""
    quotas = [quota for quota in cluster.list("ResourceQuota", namespace) if not _is_scoped(quota)]
    if not quotas or not claims:
        return
    classes = {item.name: item for item in map(read_class, cluster.list("DeviceClass", group=GROUP))}
    charges = claim_charges(claims, classes)
    for quota in quotas:
        for charge in against_quota(charges, quota):
            if charge.hard is not None and Quantity.of(charge.charged) > charge.hard:
                yield TooMany(quota, charge)
                break


def _is_scoped(quota: Mapping[str, Any]) -> bool:
    """Whether a quota is about some pods alone: it counts no claims, which know no scopes."""
    spec = quota.get("spec") or {}
    return bool(spec.get("scopes") or spec.get("scopeSelector"))


def made_claims(pod: Mapping[str, Any], cluster: Cluster) -> dict[str, Claim]:
    """The claims that are created for a pod from templates: those that a quota can refuse."""
    entries = (pod.get("spec") or {}).get("resourceClaims") or []
    made = {str(entry.get("name")) for entry in entries if entry.get("resourceClaimTemplateName")}
    return {name: claim for name, claim in pod_claims(pod, cluster).items() if claim and name in made}


def never_created(pod: Mapping[str, Any], cluster: Cluster) -> dict[str, str]:
    """Claim → why it would never be created: a quota of the pod's namespace grants less.

    Claims that fit one by one and not together wait for each other.
    """
    namespace = str((pod.get("metadata") or {}).get("namespace") or "")
    claims = made_claims(pod, cluster)
    found = {}
    for name, claim in claims.items():
        for excess in over_quota([claim], namespace, cluster):
            found[name] = f"would never be created: {excess.text}"
            break
    if not found and len(claims) > 1:
        for excess in over_quota(list(claims.values()), namespace, cluster):
            return dict.fromkeys(claims, f"would never be created with the others: {excess.text}")
    return found


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
    refused = never_created(pod, cluster)
    if refused:
        reason = f"{next(iter(refused.values()))}, so the pod waits"
        return {name: refused.get(name, reason) for name in claims}
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
