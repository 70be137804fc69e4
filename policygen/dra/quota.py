"""What claims charge against a ResourceQuota at worst.

Follows `pkg/quota/v1/evaluator/core/resource_claims.go` of 1.36: `All` counts as 32 devices, of alternatives
each class is charged with its most expensive one, and every class has three keys. Claims know no scopes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from policygen.diagnostics import Diagnostics
from policygen.dra.convert import read_quantity
from policygen.dra.model import RESULTS_MAX, Claim, DeviceClass, Json, Request
from policygen.kube.quantity import Quantity

OBJECT_COUNT = "count/resourceclaims.resource.k8s.io"
CLASS_SUFFIX = ".deviceclass.resource.k8s.io/devices"
IMPLICIT_PREFIX = "requests.deviceclass.resource.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class Charge:
    """What claims take of one quota key, and what the quota has."""

    key: str
    charged: int
    hard: Quantity | None = None
    used: Quantity | None = None

    @property
    def exceeds(self) -> bool:
        """Whether the quota refuses a claim, or the last of several."""
        if self.hard is None:
            return False
        total = Quantity.of(self.charged)
        return (self.used + total if self.used is not None else total) > self.hard

    @property
    def never_fits(self) -> bool:
        """Whether the quota would refuse this even if nothing else were charged."""
        return self.hard is not None and Quantity.of(self.charged) > self.hard


def class_keys(name: str, extended_resource: str = "") -> tuple[str, ...]:
    """The keys under which a class's devices are counted."""
    keys = (f"{name}{CLASS_SUFFIX}", f"{IMPLICIT_PREFIX}{name}")
    return (*keys, f"requests.{extended_resource}") if extended_resource else keys


def devices_by_class(claim: Claim) -> dict[str, int]:
    """The most devices of each class that a claim may get."""
    total: dict[str, int] = {}
    for slot in claim.slots:
        worst: dict[str, int] = {}
        for request in slot.alternatives:
            worst[request.class_name] = max(worst.get(request.class_name, 0), worst_count(request))
        for name, count in worst.items():
            total[name] = total.get(name, 0) + count
    return total


def worst_count(request: Request) -> int:
    """How many devices a request is charged for."""
    match request.mode:
        case "ExactCount":
            return request.count
        case "All":
            return RESULTS_MAX
        case _:
            return 0


def claim_charges(claims: Iterable[Claim], classes: Mapping[str, DeviceClass]) -> dict[str, int]:
    """What the claims charge together, by quota key."""
    charges: dict[str, int] = {}
    for claim in claims:
        charges[OBJECT_COUNT] = charges.get(OBJECT_COUNT, 0) + 1
        for name, count in devices_by_class(claim).items():
            known = classes.get(name)
            for key in class_keys(name, known.extended_resource if known else ""):
                charges[key] = charges.get(key, 0) + count
    return charges


def against_quota(charges: Mapping[str, int], quota: Json) -> list[Charge]:
    """The charges that a ResourceQuota limits, with what it grants and what `status.used` says is taken."""
    hard, used = _map(_map(quota.get("spec")).get("hard")), _map(_map(quota.get("status")).get("used"))
    return [
        Charge(key, charges[key], read_quantity(hard[key]), read_quantity(used.get(key)))
        for key in charges
        if key in hard
    ]


def check_quota(
    claims: list[Claim], classes: Mapping[str, DeviceClass], quota: Json, found: Diagnostics
) -> None:
    """Say which keys the namespace's claims exceed, and which of their classes the quota does not limit."""
    metadata = _map(quota.get("metadata"))
    name, namespace = str(metadata.get("name", "")), metadata.get("namespace")
    if namespace is not None:
        claims = [claim for claim in claims if claim.namespace in ("", namespace)]
    charges = claim_charges(claims, classes)
    alone = [(claim, against_quota(claim_charges([claim], classes), quota)) for claim in claims]
    never = {charge.key for claim, own in alone for charge in own if charge.never_fits}
    for claim, own in alone:
        for charge in own:
            if charge.never_fits:
                found.error(
                    "quota-exceeded",
                    f"claim `{claim}` charges {charge.charged} of `{charge.key}`, "
                    f"quota `{name}` can never grant more than {charge.hard}",
                )
    for charge in against_quota(charges, quota):
        if charge.exceeds and charge.key not in never:
            taken = f", {charge.used} of it used" if charge.used else ""
            found.warning(
                "quota-exceeded",
                f"the claims charge {charge.charged} of `{charge.key}`, "
                f"quota `{name}` grants {charge.hard}{taken}",
            )
    hard = _map(_map(quota.get("spec")).get("hard"))
    for class_name in sorted({each for claim in claims for each in devices_by_class(claim)}):
        known = classes.get(class_name)
        keys = class_keys(class_name, known.extended_resource if known else "")
        if not any(key in hard for key in keys):
            found.warning(
                "quota-not-limited",
                f"quota `{name}` does not limit devices of class `{class_name}`",
                help=[f"add `{keys[0]}` to `spec.hard`"],
            )


def _map(value: object) -> Json:
    return cast("Json", value) if isinstance(value, Mapping) else {}
