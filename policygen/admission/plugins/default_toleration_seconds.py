"""DefaultTolerationSeconds: pods leave a failed node after five minutes unless they say otherwise.

Kubernetes `plugin/pkg/admission/defaulttolerationseconds/admission.go`.
"""

from __future__ import annotations

from typing import Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change
from policygen.admission.request import Object

_SECONDS: Final = 300
_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def admit(attributes: Attributes, _cluster: Cluster) -> Object | None:
    """Append a toleration for each of the two node taints that the pod does not mention."""
    resource, pod = attributes.resource, attributes.object
    if attributes.subresource or pod is None or not change.is_pod(resource.group, resource.resource):
        return None
    if attributes.operation not in ("CREATE", "UPDATE"):
        return None
    tolerations = (pod.get("spec") or {}).get("tolerations") or []
    missing = [taint for taint in _TAINTS if not any(_mentions(item, taint) for item in tolerations)]
    if not missing:
        return None
    return change.with_spec(pod, tolerations=[*tolerations, *map(_toleration, missing)])


def _mentions(toleration: Object, taint: str) -> bool:
    return (toleration.get("key") or taint) == taint and (
        toleration.get("effect") or "NoExecute"
    ) == "NoExecute"


def _toleration(taint: str) -> Object:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
