"""ServiceAccount: every pod runs as an account and gets its token. An option, off in verification.

Kubernetes `plugin/pkg/admission/serviceaccount/admission.go`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.plugins import change, refusal
from policygen.admission.request import Object

DEFAULT: Final = "default"
MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUME: Final = "kube-api-access"
_MIRROR: Final = "kubernetes.io/config.mirror"


def admit(attributes: Attributes, cluster: Cluster) -> Object | None:
    """Name the account, add its pull secrets, and mount its token, on CREATE of a pod."""
    resource, pod = attributes.resource, attributes.object
    if attributes.operation != "CREATE" or attributes.subresource or pod is None:
        return None
    if not change.is_pod(resource.group, resource.resource):
        return None
    if _MIRROR in ((pod.get("metadata") or {}).get("annotations") or {}):
        return None
    spec = pod.get("spec") or {}
    name = spec.get("serviceAccountName") or DEFAULT
    account = _account(attributes, cluster, name)
    named: dict[str, Any] = {"serviceAccountName": name, "serviceAccount": name}
    if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
        named["imagePullSecrets"] = [{"name": item.get("name", "")} for item in account["imagePullSecrets"]]
    after = change.with_spec(pod, **named)
    if _mounts_token(spec, account):
        after = _with_token(after)
    return None if after == pod else after


def _account(attributes: Attributes, cluster: Cluster, name: str) -> Object:
    found = cluster.get("ServiceAccount", name, attributes.namespace)
    if found is None and name != DEFAULT:  # a controller makes the default one in every namespace
        says = (
            f"error looking up service account {attributes.namespace}/{name}: "
            f'serviceaccount "{name}" not found'
        )
        raise refusal.forbidden(attributes, says)
    return found or {}


def _mounts_token(spec: Object, account: Object) -> bool:
    wish = spec.get("automountServiceAccountToken")
    if wish is None:
        wish = account.get("automountServiceAccountToken")
    return wish is not False


def _with_token(pod: Object) -> Object:
    volumes = (pod.get("spec") or {}).get("volumes") or []
    present = next((item["name"] for item in volumes if item.get("name", "").startswith(_VOLUME + "-")), None)
    name = present or _VOLUME
    mount = {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}
    before = pod
    for field in ("initContainers", "containers"):
        pod = change.each_container(pod, field, _adding(mount))
    if present is None and pod is not before:
        pod = change.with_spec(pod, volumes=[*volumes, _token_volume(name)])
    return pod


def _adding(mount: Object) -> Callable[[Object], Object]:
    def add(container: Object) -> Object:
        mounts = container.get("volumeMounts") or []
        if any(item.get("mountPath") == MOUNT_PATH for item in mounts):
            return container
        return {**container, "volumeMounts": [*mounts, mount]}

    return add


def _token_volume(name: str) -> Object:
    """The volume that the server adds; it puts a random suffix to the name, which is left out here."""
    return {
        "name": name,
        "projected": {
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "path": "namespace",
                                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                            }
                        ]
                    }
                },
            ],
            "defaultMode": 420,
        },
    }
