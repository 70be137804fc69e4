"""Rules of references into the pod itself: `fieldRef` and `resourceFieldRef`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from policygen.admission.validation import metadata
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.quantity import Quantity

RESOURCES: Final = (
    "limits.cpu", "limits.ephemeral-storage", "limits.memory",
    "requests.cpu", "requests.ephemeral-storage", "requests.memory",
)  # fmt: skip
_SUBSCRIPT: Final = re.compile(r"(metadata\.(?:annotations|labels))\['(.*)'\]", re.DOTALL)
_LABELS: Final = frozenset(
    "metadata." + name for name in ("annotations", "labels", "name", "namespace", "uid")
) | frozenset(
    {"spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName"}
    | {"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host"}
)
_SUFFIXED: Final = frozenset(
    ["1"] + [f"1{suffix}" for suffix in ("k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")]
)
_DIVISORS: Final = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"


def field_selector(found: FieldErrors, given: Object, choices: Iterable[str], path: str) -> None:
    """`validateObjectFieldSelector`."""
    version, field = given.get("apiVersion") or "", given.get("fieldPath") or ""
    for name, value in (("apiVersion", version), ("fieldPath", field)):
        if not value:
            found.required(f"{path}.{name}")
            return
    match = _SUBSCRIPT.fullmatch(field)
    wrong = ""
    if version != "v1":
        wrong = f"unsupported pod version: {version}"
    elif not match and field not in _LABELS:
        wrong = f"field label not supported: {field}"
    if wrong:
        found.invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {wrong}")
    elif match:
        key = match[2].lower() if match[1] == "metadata.annotations" else match[2]
        metadata.label_name(found, key, path)
    else:
        field = "spec.nodeName" if field == "spec.host" else field
        if field not in choices:
            found.unsupported(f"{path}.fieldPath", field, choices)


def resource_selector(found: FieldErrors, given: Object, path: str, *, in_volume: bool) -> None:
    """`validateContainerResourceFieldSelector`."""
    resource = given.get("resource") or ""
    if in_volume and not given.get("containerName"):
        found.required(f"{path}.containerName")
    elif not resource:
        found.required(f"{path}.resource")
    elif resource not in RESOURCES and not _is_huge(resource):
        found.unsupported(f"{path}.resource", resource, RESOURCES)
    _divisor(found, resource, given.get("divisor"), path)


def _is_huge(resource: str) -> bool:
    return resource.startswith(("requests.hugepages-", "limits.hugepages-"))


def _divisor(found: FieldErrors, resource: str, divisor: Any, path: str) -> None:
    value = Quantity.parse(str(divisor)) if divisor is not None else None
    if not value:
        return
    kind = resource.partition(".")[2]
    if kind == "cpu":
        if str(value) not in ("1m", "1"):
            says = "only divisor's values 1m and 1 are supported with the cpu resource"
            found.invalid(f"{path}.divisor", resource, says)
        return
    words = {"memory": "memory", "ephemeral-storage": "local ephemeral storage"}
    word = "hugepages" if _is_huge(resource) else words.get(kind)
    if word and str(value) not in _SUFFIXED:
        says = f"only divisor's values {_DIVISORS} are supported with the {word} resource"
        found.invalid(f"{path}.divisor", resource, says)
