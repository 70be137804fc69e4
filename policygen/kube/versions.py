"""What exists in which Kubernetes version: kinds and fields from the schemas, feature gates from a table.

Users get answers that say since when: "1.34 has no `x`; 1.36 has it".
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Final, Literal, TypeAlias

from policygen.diagnostics import Span, fail
from policygen.kube import catalog
from policygen.kube.catalog import SUPPORTED

Stage: TypeAlias = Literal["absent", "alpha", "beta-off", "beta", "ga"]
"""`alpha` and `beta-off` are there, but only where the cluster's owner has turned them on."""

_ON: Final = frozenset({"beta", "ga"})


def _stages(*stages: Stage) -> Mapping[str, Stage]:
    return dict(zip(SUPPORTED, stages, strict=True))


FEATURES: Final[Mapping[str, Mapping[str, Stage]]] = {
    "MutatingAdmissionPolicy": _stages("beta-off", "beta-off", "ga", "ga"),
    "DynamicResourceAllocation": _stages("ga", "ga", "ga", "ga"),
    "DRAPrioritizedList": _stages("beta", "beta", "ga", "ga"),
    "DRAAdminAccess": _stages("beta", "beta", "ga", "ga"),
    "DRAExtendedResource": _stages("alpha", "alpha", "beta", "ga"),
    "DRADeviceTaints": _stages("alpha", "alpha", "beta", "ga"),
    "DRADeviceTaintRules": _stages("absent", "alpha", "beta-off", "ga"),
    "DRAPartitionableDevices": _stages("alpha", "alpha", "beta", "beta"),
    "DRAConsumableCapacity": _stages("alpha", "alpha", "beta", "beta"),
    "DRADeviceBindingConditions": _stages("alpha", "alpha", "beta", "beta"),
    "DRAResourceClaimDeviceStatus": _stages("beta", "beta", "beta", "ga"),
    "DRAListTypeAttributes": _stages("absent", "absent", "alpha", "alpha"),
    "DRANodeAllocatableResources": _stages("absent", "absent", "alpha", "alpha"),
    "DRAResourcePoolStatus": _stages("absent", "absent", "alpha", "alpha"),
    "DRAWorkloadResourceClaims": _stages("absent", "absent", "alpha", "beta"),
    "DRASchedulerFilterTimeout": _stages("beta", "beta", "beta", "beta"),
    "GenericWorkload": _stages("absent", "alpha", "alpha", "beta"),
    "GangScheduling": _stages("absent", "alpha", "alpha", "beta"),
    "UserNamespacesSupport": _stages("beta", "beta", "ga", "ga"),
    "MatchLabelKeysInPodTopologySpread": _stages("beta", "beta", "beta", "beta"),
    "PodLevelResources": _stages("beta", "beta", "beta", "beta"),
}
"""Feature gates that matter to placement and quota, by version (upstream `pkg/features/kube_features.go`)."""

_UNRECORDED: Final = frozenset({"1.37"})
_OFF_BY_DEFAULT: Final = ("alpha", "beta")
"""Versions of an API that are served only where they are turned on (KEP-3136: new betas are off)."""


def parse(text: str, span: Span | None = None) -> str:
    """A supported version from what a user wrote: `1.36`, `v1.36` or `1.36.2`. Others are an error."""
    parts = text.strip().removeprefix("v").split(".")
    version = ".".join(parts[:2])
    if version not in SUPPORTED or len(parts) > 3 or not all(part.isdigit() for part in parts):
        known = f"{SUPPORTED[0]} to {SUPPORTED[-1]}"
        fail(
            "unsupported-version",
            f"Kubernetes version `{text}` is not supported",
            span,
            help=[f"choose one of {known}"],
        )
    return version


def is_recorded(version: str) -> bool:
    """Whether the version's behaviour was recorded from its server; otherwise it is schema-checked only."""
    return version not in _UNRECORDED


def at_least(version: str, least: str) -> bool:
    """Whether a supported version is not older than another one."""
    return SUPPORTED.index(version) >= SUPPORTED.index(least)


def stage(feature: str, version: str) -> Stage:
    """The stage of a feature gate; `KeyError` for a gate that the table lacks."""
    return FEATURES[feature][version]


def enabled(feature: str, version: str) -> bool:
    """Whether a feature gate is on in a stock cluster of the version."""
    return FEATURES[feature][version] in _ON


def enabled_since(feature: str) -> str | None:
    """The first supported version in which a gate is on by default."""
    return next((version for version in SUPPORTED if enabled(feature, version)), None)


def feature_missing(feature: str, version: str) -> str | None:
    """Why a feature cannot be used, in words for the user; None when it can."""
    found = stage(feature, version)
    if found in _ON:
        return None
    state = "does not have" if found == "absent" else "has, but turns off by default,"
    since = enabled_since(feature)
    later = f"; it is on from {since}" if since else "; no supported version turns it on"
    return f"Kubernetes {version} {state} the feature `{feature}`{later}"


@cache
def kind_versions(api_version: str, kind: str) -> tuple[str, ...]:
    """The supported versions that know a kind."""
    return tuple(version for version in SUPPORTED if catalog.load(version).has(api_version, kind))


def served_by_default(api_version: str, version: str) -> bool:
    """Whether a stock cluster serves an apiVersion: beta and alpha versions have to be turned on."""
    number = api_version.rpartition("/")[2]
    return not any(mark in number for mark in _OFF_BY_DEFAULT) or (
        api_version == "scheduling.k8s.io/v1beta1" and at_least(version, "1.37")
    )


def kind_missing(api_version: str, kind: str, version: str) -> str | None:
    """Why a kind cannot be used, in words for the user; None when the version has it."""
    having = kind_versions(api_version, kind)
    if version in having:
        return None
    since = f"; {having[0]} has it" if having else ""
    other = preferred(kind, version, _group(api_version))
    instead = f", {version} has `{other}`" if other else ""
    return f"Kubernetes {version} has no `{kind}` in `{api_version}`{since}{instead}"


def preferred(kind: str, version: str, group: str | None = None) -> str | None:
    """The best apiVersion of a kind: stable before beta before alpha, the newest of each."""
    found = catalog.load(version).api_versions(kind)
    if group is not None:
        found = tuple(name for name in found if _group(name) == group)
    return max(found, key=_rank, default=None)


@cache
def field_versions(api_version: str, kind: str, path: str | tuple[str, ...]) -> tuple[str, ...]:
    """The supported versions in which a kind has a field, such as `spec.hostUsers`."""
    found = []
    for version in SUPPORTED:
        schema = catalog.load(version).get(api_version, kind)
        if schema is not None and schema.at(path) is not None:
            found.append(version)
    return tuple(found)


def field_missing(api_version: str, kind: str, path: str, version: str) -> str | None:
    """Why a field cannot be used, in words for the user; None when the version has it."""
    having = field_versions(api_version, kind, path)
    if version in having:
        return None
    since = f"; {having[0]} has it" if having else ""
    return f"Kubernetes {version} has no field `{path}` in `{api_version}` `{kind}`{since}"


def _group(api_version: str) -> str:
    return api_version.rpartition("/")[0]


def _rank(api_version: str) -> tuple[int, str]:
    """Kubernetes' order of versions: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha3`."""
    number = api_version.rpartition("/")[2]
    return (0 if "alpha" in number else 1 if "beta" in number else 2), number
