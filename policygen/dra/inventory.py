"""What a set of manifests says about devices: slices, classes, nodes, taint rules, claims and what they hold.

Slices that the server would refuse, and pools that the allocator would pass over, are diagnostics here;
the rest of the inventory is used all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from policygen.diagnostics import Diagnostics
from policygen.dra.allocation import AllocatedState
from policygen.dra.consumable import Amounts, add
from policygen.dra.convert import (
    read_claim,
    read_class,
    read_node,
    read_quantity,
    read_slice,
    read_taint,
)
from policygen.dra.model import Claim, Device, DeviceClass, DeviceId, Gates, Json, Node, Slice, Taint
from policygen.dra.pools import Inventory
from policygen.dra.selectors import VERSION
from policygen.dra.validate import Problem, slice_problems
from policygen.dra.validate_claim import claim_problems, class_problems
from policygen.kube import validate

if TYPE_CHECKING:
    from policygen.diagnostics import Span
    from policygen.kube.reader import Document

GROUP = "resource.k8s.io/"
VERSIONS = ("v1", "v1beta2", "v1beta1")
_STEP = re.compile(r"\.?([^.\[\]]+)|\[([^\]]*)\]")


@dataclass(frozen=True, slots=True)
class TaintRule:
    """A DeviceTaintRule: which devices get a taint on top of their own."""

    name: str
    taint: Taint
    driver: str = ""
    pool: str = ""
    device: str = ""

    def applies(self, device: Device) -> bool:
        """An empty part of the selector means any; an empty selector taints every device."""
        return (
            self.driver in ("", device.driver)
            and self.pool in ("", device.pool)
            and self.device in ("", device.name)
        )


@dataclass(slots=True)
class Cluster:
    """Everything that bears on devices, of any number of files."""

    gates: Gates = field(default_factory=Gates)
    slices: list[Slice] = field(default_factory=list)
    classes: dict[str, DeviceClass] = field(default_factory=dict)
    nodes: dict[str, Node] = field(default_factory=dict)
    claims: list[Claim] = field(default_factory=list)
    claim_documents: list[Document] = field(default_factory=list)
    """Where each claim was read from."""
    rules: list[TaintRule] = field(default_factory=list)
    quotas: list[Json] = field(default_factory=list)
    links: dict[tuple[str, str], tuple[tuple[str, ...], ...]] = field(default_factory=dict)
    allocated: set[DeviceId] = field(default_factory=set)
    capacity: dict[DeviceId, Amounts] = field(default_factory=dict)
    _documents: dict[str, Document] = field(default_factory=dict)

    def document_of(self, claim: Claim) -> Document | None:
        """The document that a claim was read from."""
        for known, document in zip(self.claims, self.claim_documents, strict=True):
            if known is claim:
                return document
        return None

    def place(self, slice_name: str) -> Span | None:
        """Where a slice is written; found only when asked, because that reads its document again."""
        document = self._documents.get(slice_name)
        return document.span(("metadata", "name")) if document is not None else None

    def inventory(self) -> Inventory:
        """The slices with the taints of all rules, indexed."""
        return Inventory((_with_taints(entry, self.rules) for entry in self.slices), self.gates)

    def state(self) -> AllocatedState:
        """What the claims that have an allocation hold."""
        return AllocatedState(frozenset(self.allocated), dict(self.capacity))

    def all_nodes(self, inventory: Inventory) -> tuple[Node, ...]:
        """The Node objects, or without any the nodes that slices name."""
        return tuple(self.nodes.values()) or inventory.nodes()


def read_cluster(
    documents: Iterable[Document], found: Diagnostics, *, list_attributes: bool = False
) -> Cluster:
    """Sort objects by kind; kinds that say nothing about devices are passed over.

    `list_attributes` says that the feature gate `DRAListTypeAttributes` is on.
    """
    cluster = Cluster(gates=Gates(list_attributes=list_attributes))
    for document in documents:
        _add(cluster, document, found)
    _check_pools(cluster, found)
    return cluster


def _add(cluster: Cluster, document: Document, found: Diagnostics) -> None:
    obj = document.value
    version, kind = str(obj.get("apiVersion", "")), obj.get("kind")
    if version.startswith(GROUP):
        served = version.removeprefix(GROUP)
        if served not in VERSIONS and not (kind == "DeviceTaintRule" and served == "v1alpha3"):
            found.error(
                "unserved-version",
                f"no server from 1.32 on serves `{kind}` in `{version}`",
                document.span(("apiVersion",)),
                help=[f"versions that are read: {', '.join(VERSIONS)}"],
            )
            return
    match version.startswith(GROUP), kind:
        case True, "ResourceSlice":
            _add_slice(cluster, document, found)
        case True, "DeviceClass":
            _check_accepted(document, class_problems(obj), found)
            device_class = read_class(obj)
            cluster.classes[device_class.name] = device_class
        case True, "ResourceClaim" | "ResourceClaimTemplate":
            _check_accepted(document, claim_problems(obj), found)
            _add_claim(cluster, document)
        case True, "DeviceTaintRule":
            cluster.rules.append(_taint_rule(obj))
        case False, "Node":
            node = read_node(obj)
            cluster.nodes[node.name] = node
        case False, "ResourceQuota":
            cluster.quotas.append(obj)
        case _:
            pass


def _check_accepted(document: Document, problems: list[Problem], found: Diagnostics) -> None:
    """Fields that a server does not know, and then what it has against the values."""
    obj = document.value
    kind, name = obj.get("kind"), _map(obj.get("metadata")).get("name", "")
    unknown = validate.check(obj, VERSION)
    for problem in unknown[:_SHOWN]:
        old_shape = _OLD_SHAPE.search(problem.message) is not None
        found.error(
            "invalid-claim",
            f"the API server refuses {kind} `{name}`: {problem.message}",
            document.span(problem.path),
            help=["from v1beta2 on it stands under `exactly`: `requests: [{name: …, exactly: {…}}]`"]
            if old_shape
            else [problem.help]
            if problem.help
            else [],
        )
    for refusal in [] if unknown else problems[:_SHOWN]:
        first, *rest = refusal.reason.splitlines() or [""]
        found.error(
            "invalid-claim",
            f"the API server refuses {kind} `{name}`: {refusal.path}: {first}",
            document.span(path_of(refusal.path)),
            notes=rest,
        )


_OLD_SHAPE = re.compile(r"requests\[\d+\]\.(deviceClassName|selectors|count|allocationMode|adminAccess)`")


def _add_slice(cluster: Cluster, document: Document, found: Diagnostics) -> None:
    name = _map(document.value.get("metadata")).get("name", "")
    problems = slice_problems(document.value, list_attributes=cluster.gates.list_attributes)
    for problem in problems[:_SHOWN]:
        found.error(
            "invalid-slice",
            f"the API server refuses ResourceSlice `{name}`: {problem}",
            document.span(path_of(problem.path)),
        )
    if len(problems) > _SHOWN:
        found.error(
            "invalid-slice",
            f"the API server refuses ResourceSlice `{name}` for {len(problems) - _SHOWN} more reasons",
            document.span(),
        )
    entry = read_slice(document.value)
    cluster.slices.append(entry)
    cluster._documents[entry.name] = document
    annotations = _map(_map(document.value.get("metadata")).get("annotations"))
    links = annotations.get(_LINKS)
    if isinstance(links, str):
        groups = tuple(tuple(group.split(",")) for group in links.split(";"))
        cluster.links[entry.driver, entry.pool] = groups


_SHOWN = 10
_LINKS = "policygen.dev/links"


def path_of(path: str) -> tuple[str | int, ...]:
    """`spec.devices[3].attributes[a/b]` as the keys and indexes that it names."""
    steps: list[str | int] = []
    for match in _STEP.finditer(path):
        key, inside = match.groups()
        if key is not None:
            steps.append(key)
        else:
            steps.append(int(inside) if inside.isdecimal() else inside)
    return tuple(steps)


def _map(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else {}


def _add_claim(cluster: Cluster, document: Document) -> None:
    """A claim with an allocation holds devices; one without is to be allocated."""
    obj = document.value
    allocation = _map(_map(obj.get("status")).get("allocation"))
    if not allocation:
        cluster.claims.append(read_claim(obj))
        cluster.claim_documents.append(document)
        return
    results = _map(allocation.get("devices")).get("results")
    for result in results if isinstance(results, list) else ():
        entry = _map(result)
        if entry.get("adminAccess") is True:
            continue
        device = DeviceId(*(str(entry.get(key, "")) for key in ("driver", "pool", "device")))
        if entry.get("shareID") is None and not entry.get("consumedCapacity"):
            cluster.allocated.add(device)
            continue
        amounts: Amounts = {}
        for name, value in _map(entry.get("consumedCapacity")).items():
            quantity = read_quantity(value)
            if quantity is not None:
                amounts[name] = quantity
        cluster.capacity[device] = add(cluster.capacity.get(device), amounts)


def _taint_rule(obj: Json) -> TaintRule:
    spec = _map(obj.get("spec"))
    selector = _map(spec.get("deviceSelector"))
    return TaintRule(
        name=str(_map(obj.get("metadata")).get("name", "")),
        taint=read_taint(_map(spec.get("taint"))),
        driver=str(selector.get("driver") or ""),
        pool=str(selector.get("pool") or ""),
        device=str(selector.get("device") or ""),
    )


def _with_taints(entry: Slice, rules: list[TaintRule]) -> Slice:
    if not rules:
        return entry
    devices = []
    for device in entry.devices:
        added = tuple(rule.taint for rule in rules if rule.applies(device))
        devices.append(replace(device, taints=device.taints + added) if added else device)
    return replace(entry, devices=tuple(devices))


def _check_pools(cluster: Cluster, found: Diagnostics) -> None:
    """Pools of which the allocator takes nothing, and why."""
    pools: dict[tuple[str, str], list[Slice]] = {}
    for entry in cluster.slices:
        pools.setdefault((entry.driver, entry.pool), []).append(entry)
    for (driver, name), entries in pools.items():
        newest = max(entry.generation for entry in entries)
        current = [entry for entry in entries if entry.generation == newest]
        first = current[0]
        old = len(entries) - len(current)
        if old:
            found.warning(
                "outdated-slice",
                f"pool `{driver}/{name}`: {_count(old, 'slice')} of an older generation than {newest} "
                f"{'is' if old == 1 else 'are'} ignored",
                cluster.place(next(e.name for e in entries if e.generation < newest)),
            )
        if len(current) != first.slice_count:
            found.warning(
                "incomplete-pool",
                f"pool `{driver}/{name}` is incomplete: "
                f"{len(current)} of {_count(first.slice_count, 'slice')}",
                cluster.place(first.name),
                notes=["nothing is allocated from it, and `allocationMode: All` fails on its nodes"],
            )
        seen: dict[str, str] = {}
        for entry in current:
            for device in entry.devices:
                if device.name in seen and seen[device.name] != entry.name:
                    found.warning(
                        "duplicate-device",
                        f"pool `{driver}/{name}` has two devices `{device.name}`, "
                        f"in slices `{seen[device.name]}` and `{entry.name}`",
                        cluster.place(entry.name),
                        notes=["nothing is allocated from a pool with duplicate device names"],
                    )
                seen.setdefault(device.name, entry.name)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
