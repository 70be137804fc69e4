"""What the server warns about when it stores pods, or what makes them, that it does not refuse.

Kubernetes `pkg/api/pod/warnings.go`, `pkg/api/node/util.go` and the `WarningsOnCreate` of the strategies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policygen.admission.validation import content
from policygen.admission.validation.field import Object
from policygen.kube.gotext import quote
from policygen.kube.quantity import Quantity

_LABELS: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
}
_SYSCTLS: Final = 'non-functional in v1.11+; use the "sysctls" field instead'
_ANNOTATIONS: Final[Mapping[str, str]] = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": _SYSCTLS,
    "security.alpha.kubernetes.io/unsafe-sysctls": _SYSCTLS,
}
_VOLUMES: Final[Mapping[str, str]] = {
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "flocker": "deprecated in v1.22, non-functional in v1.25+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_NO_SELECTOR: Final = "a null labelSelector results in matching no pod"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_NEGATIVE_GRACE: Final = "must be >= 0; negative values are invalid and will be treated as 1"
_DNS_LABEL: Final = "which can result in surprising behavior; a DNS label is recommended"

_TEMPLATES: Final[Mapping[str, str]] = {
    "Deployment": "spec.template",
    "ReplicaSet": "spec.template",
    "StatefulSet": "spec.template",
    "DaemonSet": "spec.template",
    "ReplicationController": "spec.template",
    "Job": "spec.template",
    "CronJob": "spec.jobTemplate.spec.template",
    "PodTemplate": "template",
}
_UNNAMED: Final = frozenset({"DaemonSet", "PodTemplate"})
"""Kinds whose name is no part of host names."""


def created(obj: Object) -> Iterator[str]:
    """Warnings for a new object."""
    kind, name = obj.get("kind") or "", (obj.get("metadata") or {}).get("name") or ""
    if kind == "Pod":
        yield from _named(name, "the Pod's hostname")
        yield from _of_pod(obj, "")
    elif kind in _TEMPLATES:
        if kind not in _UNNAMED:
            yield from _named(name, "Pod names and hostnames")
        yield from _of_template(obj, _TEMPLATES[kind])


def updated(obj: Object, old: Object) -> Iterator[str]:
    """Warnings for a change: none for pods, and none where no template is concerned."""
    path = _TEMPLATES.get(obj.get("kind") or "")
    if path is not None and obj.get("spec") != old.get("spec"):
        yield from _of_template(obj, path)


def _named(name: str, use: str) -> Iterator[str]:
    messages = content.label(name)
    if messages:
        yield f"metadata.name: this is used in {use}, {_DNS_LABEL}: [{' '.join(messages)}]"


def _of_template(obj: Object, path: str) -> Iterator[str]:
    template: Any = obj
    for step in path.split("."):
        template = template.get(step) or {}
    yield from _of_pod(template, f"{path}.")


def _of_pod(pod: Object, path: str) -> Iterator[str]:
    spec, annotations = pod.get("spec") or {}, (pod.get("metadata") or {}).get("annotations") or {}
    at = f"{path}spec"
    yield from _node_labels(spec, at)
    for key, says in _ANNOTATIONS.items():
        if key in annotations:
            yield f"{path}metadata.annotations[{key}]: {says}"
    for index, volume in enumerate(spec.get("volumes") or ()):
        for name in _VOLUMES.keys() & volume.keys():
            shown = "storageOS" if name == "storageos" else name
            yield f"{at}.volumes[{index}].{shown}: {_VOLUMES[name]}"
    yield from _repeated(spec, at)
    yield from _fractional(spec.get("overhead"), f"{at}.overhead")
    for container, where in _containers(spec, at):
        resources = container.get("resources") or {}
        for resource in ("memory", "ephemeral-storage"):
            for side in ("limits", "requests"):
                yield from _fractional(resources.get(side), f"{where}.resources.{side}", (resource,))
        yield from _hidden(container.get("env") or [], f"{where}.env")
    yield from _ports(spec, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield f"{at}.terminationGracePeriodSeconds: {_NEGATIVE_GRACE}"
    yield from _affinity(spec.get("affinity") or {}, f"{at}.affinity")


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for index, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{index}]"


def _node_labels(spec: Object, path: str) -> Iterator[str]:
    for key in spec.get("nodeSelector") or ():
        if key in _LABELS:
            yield f"{path}.nodeSelector[{key}]: {_LABELS[key]}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = f"{path}.affinity.nodeAffinity"
    for index, term in enumerate((node.get(_REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from _node_term(term, f"{at}.{_REQUIRED}.nodeSelectorTerms[{index}]")
    for index, term in enumerate(node.get(_PREFERRED) or ()):
        yield from _node_term(term.get("preference") or {}, f"{at}.{_PREFERRED}[{index}].preference")
    for index, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = f"{path}.topologySpreadConstraints[{index}]", constraint.get("topologyKey") or ""
        if key in _LABELS:
            yield f"{where}.topologyKey: {key} is {_LABELS[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where}.labelSelector: {_NO_SELECTOR}"


def _node_term(term: Object, path: str) -> Iterator[str]:
    for index, expression in enumerate(term.get("matchExpressions") or ()):
        key = expression.get("key") or ""
        if key in _LABELS:
            yield f"{path}.matchExpressions[{index}].key: {key} is {_LABELS[key]}"


def _repeated(spec: Object, path: str) -> Iterator[str]:
    for field, part, noun in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for index, item in enumerate(spec.get(field) or ()):
            value = item.get(part) or ""
            if value in seen:
                yield f"{path}.{field}[{index}].{part}: duplicate {noun} {quote(value)}"
            seen.add(value)
    for index, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path}.imagePullSecrets[{index}].name: invalid empty name ""'


def _fractional(
    amounts: Mapping[str, str] | None, path: str, names: tuple[str, ...] = ("memory", "ephemeral-storage")
) -> Iterator[str]:
    for name in names:
        text = (amounts or {}).get(name)
        if text is not None and "m" in text and Quantity.parse(text).milli_value() % 1000:
            yield f"{path}[{name}]: fractional byte value {quote(text)} is invalid, must be an integer"


def _hidden(env: list[Object], path: str) -> Iterator[str]:
    """A variable that is set again, unless it is built from what it was."""
    seen: set[str] = set()
    for index, variable in enumerate(env):
        name, value = variable.get("name") or "", variable.get("value") or ""
        if name not in seen:
            seen.add(name)
            continue
        reference = f"$({name})"
        if variable.get("valueFrom") is not None or value == reference or reference not in value:
            says = f"hides previous definition of {quote(name)}, which may be dropped when using apply"
            yield f"{path}[{index}]: {says}"


def _ports(spec: Object, path: str) -> Iterator[str]:
    known: dict[tuple[int, str], list[tuple[Object, str]]] = {}
    for container, at in _containers(spec, path):
        for index, port in enumerate(container.get("ports") or ()):
            where = f"{at}.ports[{index}]"
            host, address = port.get("hostPort") or 0, port.get("hostIP") or ""
            number, protocol = port.get("containerPort") or 0, port.get("protocol") or ""
            if address and not host:
                shown = f"Name:{port.get('name') or ''} HostPort:0 ContainerPort:{number} Protocol:{protocol}"
                yield f"{where}: hostIP set without hostPort: {{{shown} HostIP:{address}}}"
            others = known.setdefault((number, protocol), [])
            for other, there in others:
                kind = _conflict(port, other)
                if kind:
                    yield f"{where}: {kind} port definition with {there}"
            others.append((port, where))


def _conflict(port: Object, other: Object) -> str:
    host, address = port.get("hostPort") or 0, port.get("hostIP") or ""
    other_host, other_address = other.get("hostPort") or 0, other.get("hostIP") or ""
    if (host, address) == (other_host, other_address):
        return "duplicate"
    if not host or not other_host:
        return "overlapping"
    ambiguous = host == other_host and bool(address) != bool(other_address)
    return "dangerously ambiguous" if ambiguous else ""


def _affinity(affinity: Object, path: str) -> Iterator[str]:
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path}.{field}.{_REQUIRED}[{index}].labelSelector: {_NO_SELECTOR}"
        for index, weighted in enumerate(terms.get(_PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                at = f"{path}.{field}.{_PREFERRED}[{index}].podAffinityTerm"
                yield f"{at}.labelSelector: {_NO_SELECTOR}"
