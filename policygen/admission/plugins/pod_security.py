"""PodSecurity: the labels of a namespace say which Pod Security Standard holds in it.

pod-security-admission `admission/admission.go`, `api/helpers.go`. No namespace, user or runtime class is
exempt, and without labels nothing is enforced, as in a server without a configuration file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, cast

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Denied
from policygen.admission.plugins import pod_security_standard as standard
from policygen.admission.plugins import refusal
from policygen.admission.plugins.pod_security_standard import Level
from policygen.admission.request import Object
from policygen.admission.validation.field import FieldErrors, aggregate

Mode: TypeAlias = Literal["enforce", "audit", "warn"]

_PREFIX: Final = "pod-security.kubernetes.io/"
_LEVELS: Final = ("privileged", "baseline", "restricted")
_LATEST: Final = 10_000
_VERSION: Final = re.compile(r"v1\.([0-9]|[1-9][0-9]*)")
_QUIET: Final = frozenset({"exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status"})
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_TEMPLATES: Final[Mapping[tuple[str, str], tuple[str, ...]]] = {
    ("", "PodTemplate"): ("template",),
    ("", "ReplicationController"): ("spec", "template"),
    ("apps", "ReplicaSet"): ("spec", "template"),
    ("apps", "Deployment"): ("spec", "template"),
    ("apps", "StatefulSet"): ("spec", "template"),
    ("apps", "DaemonSet"): ("spec", "template"),
    ("batch", "Job"): ("spec", "template"),
    ("batch", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}


@dataclass(frozen=True, slots=True)
class Setting:
    """A level at a version of the standard."""

    level: Level = "privileged"
    minor: int = _LATEST

    def __str__(self) -> str:
        return f"{self.level}:{'latest' if self.minor == _LATEST else f'v1.{self.minor}'}"

    def violations(self, metadata: Object, spec: Object) -> list[standard.Violation]:
        """What a pod does against it."""
        return standard.violations(self.level, self.minor, metadata, spec)


@dataclass(frozen=True, slots=True)
class Policy:
    """What the labels of a namespace ask for."""

    enforce: Setting = Setting()
    audit: Setting = Setting()
    warn: Setting = Setting()

    def is_open(self) -> bool:
        """Whether no mode asks for anything."""
        return self.enforce.level == self.audit.level == self.warn.level == "privileged"


def validate(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse pods that violate the enforced level; warn about pods and workloads otherwise."""
    kind = (attributes.kind.group, attributes.kind.kind)
    if attributes.operation not in ("CREATE", "UPDATE") or attributes.object is None:
        return
    if kind == ("", "Namespace"):
        if not attributes.subresource:
            _validate_namespace(attributes, cluster)
    elif kind == ("", "Pod") and attributes.resource.resource == "pods":
        if attributes.subresource not in _QUIET:
            _validate_pod(attributes, cluster)
    elif kind in _TEMPLATES and not attributes.subresource:
        _validate_workload(attributes, cluster, _TEMPLATES[kind])


def policy_of(labels: Mapping[str, str]) -> tuple[Policy, FieldErrors]:
    """The policy in a namespace's labels, and what is wrong with them (`PolicyToEvaluate`)."""
    errors = FieldErrors()
    if not any(key.startswith(_PREFIX) for key in labels):
        return Policy(), errors
    return Policy(*(_setting(labels, mode, errors) for mode in ("enforce", "audit", "warn"))), errors


def _setting(labels: Mapping[str, str], mode: str, errors: FieldErrors) -> Setting:
    level: Level = "privileged"
    minor = _LATEST
    key = _PREFIX + mode
    wished = labels.get(key)
    if wished in _LEVELS:
        level = cast(Level, wished)
    elif wished is not None:
        errors.invalid(f"metadata.labels[{key}]", wished, f"must be one of {', '.join(_LEVELS)}")
        level = "restricted" if mode == "enforce" else "privileged"
    version = labels.get(key + "-version")
    if version is not None and version != "latest":
        match = _VERSION.fullmatch(version)
        if match:
            minor = int(match[1])
        else:
            errors.invalid(f"metadata.labels[{key}-version]", version, 'must be "latest" or "v1.x"')
    return Setting(level, minor)


def _labels(obj: Object | None) -> Mapping[str, str]:
    found: Mapping[str, str] = ((obj or {}).get("metadata") or {}).get("labels") or {}
    return found


def _validate_namespace(attributes: Attributes, cluster: Cluster) -> None:
    policy, errors = policy_of(_labels(attributes.object))
    if attributes.operation == "CREATE":
        if errors:
            raise _invalid_namespace(attributes, errors)
        return
    before, old_errors = policy_of(_labels(attributes.old_object))
    if errors and [str(item) for item in errors.items] != [str(item) for item in old_errors.items]:
        raise _invalid_namespace(attributes, errors)
    enforce, old = policy.enforce, before.enforce
    relaxed = enforce.minor == old.minor and _LEVELS.index(enforce.level) <= _LEVELS.index(old.level)
    if enforce.level == "privileged" or relaxed:
        return
    for warning in _existing_pods(attributes.name, enforce, cluster):
        attributes.warn(warning)


def _invalid_namespace(attributes: Attributes, errors: FieldErrors) -> Denied:
    told = aggregate(map(str, errors.items))
    message = f'Namespace "{refusal.object_name(attributes)}" is invalid: {told}'
    return Denied(422, "Invalid", message, tuple(item.body for item in errors.items))


def _existing_pods(namespace: str, enforce: Setting, cluster: Cluster) -> Iterator[str]:
    names: dict[str, list[str]] = {}
    for pod in cluster.list("Pod", namespace):
        found = enforce.violations(pod.get("metadata") or {}, pod.get("spec") or {})
        if found:
            names.setdefault(standard.reasons(found), []).append(pod["metadata"].get("name", ""))
    if names:
        violate = f'violate the new PodSecurity enforce level "{enforce}"'
        yield f'existing pods in namespace "{namespace}" {violate}'
    told = []
    for warning, pods in names.items():
        others = len(pods) - 1
        more = f" (and {others} other pod{'s' if others > 1 else ''})" if others else ""
        told.append(f"{min(pods)}{more}: {warning}")
    yield from sorted(told)


def _validate_pod(attributes: Attributes, cluster: Cluster) -> None:
    policy, _ = policy_of(_labels(cluster.namespace(attributes.namespace)))
    pod = attributes.object or {}
    if policy.is_open():
        return
    if attributes.operation == "UPDATE" and not _matters(pod, attributes.old_object or {}):
        return
    metadata, spec = pod.get("metadata") or {}, pod.get("spec") or {}
    found = policy.enforce.violations(metadata, spec)
    _note_audit(attributes, policy, metadata, spec)
    if found:
        says = f'violates PodSecurity "{policy.enforce}": {standard.describe(found)}'
        raise refusal.forbidden(attributes, says)
    _warn(attributes, policy, metadata, spec)


def _validate_workload(attributes: Attributes, cluster: Cluster, path: tuple[str, ...]) -> None:
    policy, _ = policy_of(_labels(cluster.namespace(attributes.namespace)))
    if policy.audit.level == policy.warn.level == "privileged":
        return
    template: Object = attributes.object or {}
    for step in path:
        template = template.get(step) or {}
    if not template:
        return
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    _note_audit(attributes, policy, metadata, spec)
    _warn(attributes, policy, metadata, spec)


def _warn(attributes: Attributes, policy: Policy, metadata: Object, spec: Object) -> None:
    found = policy.warn.violations(metadata, spec)
    if found:
        attributes.warn(f'would violate PodSecurity "{policy.warn}": {standard.describe(found)}')


def _note_audit(attributes: Attributes, policy: Policy, metadata: Object, spec: Object) -> None:
    attributes.audit_annotations[_PREFIX + "enforce-policy"] = str(policy.enforce)
    found = policy.audit.violations(metadata, spec)
    if found:
        told = f'would violate PodSecurity "{policy.audit}": {standard.describe(found)}'
        attributes.audit_annotations[_PREFIX + "audit-violations"] = told


def _matters(pod: Object, old: Object) -> bool:
    """Whether an update touches what the standards look at (`isSignificantPodUpdate`)."""
    spec, before = pod.get("spec") or {}, old.get("spec") or {}
    notes = (pod.get("metadata") or {}).get("annotations") or {}
    old_notes = (old.get("metadata") or {}).get("annotations") or {}
    if notes.get(_SECCOMP_POD) != old_notes.get(_SECCOMP_POD):
        return True

    def differs(one: Object, other: Object) -> bool:
        key = _SECCOMP_CONTAINER + one.get("name", "")
        return one.get("image") != other.get("image") or notes.get(key) != old_notes.get(key)

    for field in ("containers", "initContainers"):
        after, earlier = spec.get(field) or [], before.get(field) or []
        if len(after) != len(earlier) or any(map(differs, after, earlier)):
            return True
    known = {item.get("name"): item for item in before.get("ephemeralContainers") or ()}
    return any(
        item.get("name") not in known or differs(item, known[item.get("name")])
        for item in spec.get("ephemeralContainers") or ()
    )
