"""StorageObjectInUseProtection: claims and volumes are not removed while something uses them.

Kubernetes `plugin/pkg/admission/storage/storageobjectinuseprotection/admission.go`.
"""

from __future__ import annotations

from typing import Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.request import Object

_FINALIZERS: Final = {
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


def admit(attributes: Attributes, _cluster: Cluster) -> Object | None:
    """Append the finalizer of the kind when an object is made."""
    resource, obj = attributes.resource, attributes.object
    finalizer = _FINALIZERS.get((resource.group, resource.resource))
    if finalizer is None or obj is None or attributes.subresource or attributes.operation != "CREATE":
        return None
    metadata = obj.get("metadata") or {}
    present = metadata.get("finalizers") or []
    if finalizer in present:
        return None
    return {**obj, "metadata": {**metadata, "finalizers": [*present, finalizer]}}
