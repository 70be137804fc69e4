"""Every claim of the bundle can be allocated somewhere on the inventory, when nothing else is."""

from __future__ import annotations

from policygen.diagnostics import make
from policygen.dra.convert import read_claim
from policygen.verify import claims
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.sources import Located
from policygen.verify.world import World

NAME = "claims can be allocated"
_KINDS = ("ResourceClaimTemplate", "ResourceClaim")


def check(world: World) -> PropertyResult:
    """One finding per claim that fits on no node; templates that are alike are tried once."""
    wanted: dict[str, Located] = {}
    for located in world.subject.manifests:
        if located.value.get("kind") in _KINDS:
            wanted.setdefault(repr(located.value.get("spec")), located)
    if not wanted or not world.inventory:
        skipped = "the bundle has no claim" if not wanted else "no inventory is given"
        return PropertyResult(NAME, world.subject.version, 0, skipped=skipped)
    source = claims.allocator(world.cluster, world.inventory)
    findings = []
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
