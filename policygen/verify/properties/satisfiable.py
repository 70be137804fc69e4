"""Every claim of the bundle can be created under the quotas, and allocated when nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

from policygen.diagnostics import Label, Span, make
from policygen.dra.convert import read_claim
from policygen.kube import objects
from policygen.verify import claims
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.sources import Located
from policygen.verify.world import World

NAME = "claims can be allocated"
_KINDS = ("ResourceClaimTemplate", "ResourceClaim")


def check(world: World) -> PropertyResult:
    """One finding per claim that a quota refuses or that fits on no node; like ones are allocated once."""
    refused = tuple(_refused(world))
    wanted: dict[str, Located] = {}
    for located in world.subject.manifests:
        if located.value.get("kind") in _KINDS:
            wanted.setdefault(repr(located.value.get("spec")), located)
    if not wanted or not world.inventory:
        skipped = "the bundle has no claim" if not wanted else "no inventory is given"
        return PropertyResult(NAME, world.subject.version, len(refused), refused, skipped=skipped)
    source = claims.allocator(world.cluster, world.inventory)
    findings = list(refused)
    for located in wanted.values():
        chosen, reason = claims.first_node(source, [read_claim(located.value)])
        if chosen is None:
            diagnostic = make(
                "error",
                "verify-unsatisfiable-claim",
                f"`{located.title}` fits on no node of the inventory: {reason}",
                located.at(("metadata", "name")),
                notes=claims.reasons(source, read_claim(located.value)),
                help=["change the claim or the class, or name the inventory that is meant"],
            )
            findings.append(Finding(diagnostic, located.name, located.value))
    return PropertyResult(NAME, world.subject.version, len(wanted), tuple(findings))


def _refused(world: World) -> Iterator[Finding]:
    """Claims that a quota never grants: each of the bundle alone, then those that a pod gets together."""
    alone: set[tuple[str, str]] = set()
    for located in world.subject.manifests:
        if located.value.get("kind") in _KINDS:
            namespace = str((located.value.get("metadata") or {}).get("namespace") or "")
            for excess in claims.over_quota([read_claim(located.value)], namespace, world.cluster):
                alone.add((namespace, located.name))
                what = f"`{located.title}` of namespace `{namespace}`"
                yield _over(world, what, located.at(("metadata", "name")), excess, located.name)
    said: set[tuple[str, ...]] = set()
    for trial, outcome in zip(world.trials, world.outcomes, strict=True):
        pod = outcome.object
        if pod is None or not outcome.allowed or pod.get("kind") != "Pod":
            continue
        namespace = str((pod.get("metadata") or {}).get("namespace") or "")
        entries = (pod.get("spec") or {}).get("resourceClaims") or []
        names = sorted(str(each.get("resourceClaimTemplateName")) for each in entries)
        if (namespace, *names) in said or any((namespace, name) in alone for name in names):
            continue
        said.add((namespace, *names))
        made = list(claims.made_claims(pod, world.cluster).values())
        for excess in claims.over_quota(made, namespace, world.cluster):
            yield _over(world, f"what a pod of namespace `{namespace}` claims", trial.span, excess, "")


def _over(world: World, what: str, span: Span | None, excess: claims.TooMany, name: str) -> Finding:
    quota = objects.identity(excess.quota)
    granting = [item.span for item in world.subject.manifests if objects.identity(item.value) == quota]
    charge = excess.charge
    diagnostic = make(
        "error",
        "verify-claim-over-quota",
        f"{what} can never be created: {excess.text}",
        span,
        f"charges {charge.charged}",
        related=[Label(place, f"grants {charge.hard}") for place in granting],
        help=["grant as many as the largest claim charges at worst, or let the claim ask for fewer"],
    )
    return Finding(diagnostic, name)
