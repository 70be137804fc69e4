"""NamespaceLifecycle: nothing is made in a namespace that is absent or going away.

Apiserver `pkg/admission/plugin/namespace/lifecycle/admission.go`.
"""

from __future__ import annotations

from typing import Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Denied
from policygen.admission.plugins import refusal
from policygen.admission.request import Object

_IMMORTAL: Final = frozenset({"default", "kube-system", "kube-public"})
_ACCESS_REVIEWS: Final = frozenset({"localsubjectaccessreviews", "localresourceaccessreviews"})


def admit(attributes: Attributes, cluster: Cluster) -> Object | None:
    """Refuse writes into namespaces that do not exist or are terminating; change nothing."""
    kind, name, operation = attributes.kind, attributes.namespace, attributes.operation
    if not kind.group and kind.kind == "Namespace":
        if operation == "DELETE" and attributes.name in _IMMORTAL:
            raise refusal.forbidden(attributes, "this namespace may not be deleted")
        return None
    if not name or operation == "DELETE" or attributes.resource.resource in _ACCESS_REVIEWS:
        return None
    namespace = cluster.namespace(name)
    if namespace is None:
        raise Denied(404, "NotFound", f'namespaces "{name}" not found')
    phase = (namespace.get("status") or {}).get("phase")
    if operation == "CREATE" and phase == "Terminating":
        says = f"unable to create new content in namespace {name} because it is being terminated"
        found = refusal.forbidden(attributes, says)
        raise Denied(found.code, found.reason, found.message, (f"namespace {name} is being terminated",))
    return None
