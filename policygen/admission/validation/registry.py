"""Which rules hold for which kind, and how their faults become a response.

`check` has the shape of a validating plugin; the chain calls it once after the mutating plugins. The objects
have passed the typed round trip and API defaulting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Denied
from policygen.admission.validation import (
    classes,
    core_objects,
    custom,
    devices,
    metadata,
    pod_update,
    pod_warnings,
    pods,
    policies,
    quotas,
    workloads,
)
from policygen.admission.validation.field import FieldErrors, Object, aggregate
from policygen.kube import hub

Create: TypeAlias = Callable[[FieldErrors, Object], None]
Update: TypeAlias = Callable[[FieldErrors, Object, Object], None]
Versioned: TypeAlias = Callable[[FieldErrors, Object, str], None]

_CREATE: Final[Mapping[tuple[str, str], Create]] = {
    ("", "Pod"): pods.create,
    ("", "PodTemplate"): workloads.pod_template,
    ("", "ReplicationController"): workloads.replication_controller,
    ("apps", "Deployment"): workloads.deployment,
    ("apps", "ReplicaSet"): workloads.replica_set,
    ("apps", "StatefulSet"): workloads.stateful_set,
    ("apps", "DaemonSet"): workloads.daemon_set,
    ("batch", "Job"): workloads.job,
    ("batch", "CronJob"): workloads.cron_job,
    ("", "Namespace"): core_objects.namespace,
    ("", "ConfigMap"): core_objects.config_map,
    ("", "Secret"): core_objects.secret,
    ("", "Service"): core_objects.service,
    ("", "ServiceAccount"): core_objects.namespaced_name,
    ("", "PersistentVolumeClaim"): core_objects.volume_claim,
    ("autoscaling", "HorizontalPodAutoscaler"): core_objects.horizontal_autoscaler,
    ("", "ResourceQuota"): quotas.quota,
    ("", "LimitRange"): quotas.limit_range,
    ("scheduling.k8s.io", "PriorityClass"): classes.priority,
    ("node.k8s.io", "RuntimeClass"): classes.runtime,
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): policies.mutating_binding,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): policies.validating_binding,
}
_CREATE_IN_VERSION: Final[Mapping[tuple[str, str], Versioned]] = {
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): policies.mutating_policy,
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): policies.validating_policy,
    ("resource.k8s.io", "ResourceClaim"): devices.claim,
    ("resource.k8s.io", "ResourceClaimTemplate"): devices.template,
    ("resource.k8s.io", "DeviceClass"): devices.device_class,
}
"""Kinds whose expressions are compiled with the libraries of a version."""
_CLAIMS: Final = frozenset(
    {("resource.k8s.io", "ResourceClaim"), ("resource.k8s.io", "ResourceClaimTemplate")}
)
_UPDATE: Final[Mapping[tuple[str, str], Update]] = {
    ("", "Pod"): pod_update.update,
    ("apps", "Deployment"): workloads.deployment_update,
    ("apps", "ReplicaSet"): workloads.replica_set_update,
    ("apps", "StatefulSet"): workloads.stateful_set_update,
    ("apps", "DaemonSet"): workloads.daemon_set_update,
    ("batch", "Job"): workloads.job_update,
    ("batch", "CronJob"): workloads.cron_job_update,
    ("", "Namespace"): core_objects.metadata_update,
    ("", "ConfigMap"): core_objects.config_map_update,
    ("", "Secret"): core_objects.secret_update,
    ("", "ResourceQuota"): quotas.quota_update,
    ("scheduling.k8s.io", "PriorityClass"): classes.priority_update,
    ("node.k8s.io", "RuntimeClass"): classes.runtime_update,
    ("resource.k8s.io", "ResourceClaim"): devices.immutable_spec,
    ("resource.k8s.io", "ResourceClaimTemplate"): devices.immutable_spec,
}
_POD_SUBRESOURCES: Final[Mapping[str, Update]] = {
    "": pod_update.update,
    "ephemeralcontainers": pod_update.update_ephemeral,
    "resize": pod_update.update_resize,
}


def check(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse an object that the server's own rules refuse, with all faults told together.

    What it stores with a warning is warned about.
    """
    found = errors(attributes, cluster)
    if found:
        raise invalid(attributes, found)
    obj, old = attributes.object, attributes.old_object
    known = (attributes.kind.group, attributes.kind.kind) in _CREATE
    if obj is None or attributes.subresource or not known or not cluster.validate_objects:
        return
    for text in pod_warnings.updated(obj, old) if old is not None else pod_warnings.created(obj):
        attributes.warn(text)


def errors(attributes: Attributes, cluster: Cluster) -> FieldErrors:
    """The faults of the object in a request; none for requests without an object."""
    found, obj = FieldErrors(), attributes.object
    key = (attributes.kind.group, attributes.kind.kind)
    if obj is None or not cluster.validate_objects:
        return found
    if attributes.operation == "CREATE" and not attributes.subresource:
        _create(found, obj, key, attributes, cluster)
    elif attributes.operation == "UPDATE":
        _update(found, obj, key, attributes, cluster)
    return found


def _create(
    found: FieldErrors, obj: Object, key: tuple[str, str], attributes: Attributes, cluster: Cluster
) -> None:
    plain, versioned = _CREATE.get(key), _CREATE_IN_VERSION.get(key)
    if key in _CLAIMS:
        obj = hub.claim(obj, attributes.kind.version)
    if plain is not None:
        plain(found, obj)
    elif versioned is not None:
        _admin_access(found, obj, attributes, cluster)
        versioned(found, obj, cluster.version)
    else:
        _other(found, obj, attributes, cluster)


def _other(found: FieldErrors, obj: Object, attributes: Attributes, cluster: Cluster) -> None:
    """A kind without rules here: its schema where it is custom, else only its metadata."""
    schema = cluster.schema(attributes.kind)
    if schema is not None and not schema.builtin:
        custom.validate(found, obj, schema, cluster.version)
    else:
        namespaced = cluster.resource(attributes.kind).namespaced
        metadata.validate(found, obj.get("metadata") or {}, namespaced=namespaced, core=False)


def _update(
    found: FieldErrors, obj: Object, key: tuple[str, str], attributes: Attributes, cluster: Cluster
) -> None:
    old = attributes.old_object or {}
    if key == ("", "Pod"):
        rule: Update | None = _POD_SUBRESOURCES.get(attributes.subresource)
    elif key == ("autoscaling", "Scale"):
        rule = workloads.scale_update
    elif attributes.subresource:
        return
    else:
        rule = _UPDATE.get(key)
    if key in _CLAIMS:
        obj, old = (hub.claim(each, attributes.kind.version) for each in (obj, old))
    if rule is not None:
        rule(found, obj, old)
    elif key in _CREATE_IN_VERSION:
        _versioned_update(found, obj, old, key, cluster)
    elif key in _CREATE:
        metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
        _CREATE[key](found, obj)
    else:
        schema = cluster.schema(attributes.kind)
        if schema is not None and not schema.builtin:
            custom.validate_update(found, obj, old, schema, cluster.version, attributes.warn)
        else:
            metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})


def _versioned_update(
    found: FieldErrors, obj: Object, old: Object, key: tuple[str, str], cluster: Cluster
) -> None:
    if key[1] == "DeviceClass":
        devices.device_class_update(found, obj, old, cluster.version)
        return
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    if (obj.get("spec") or {}) != (old.get("spec") or {}):  # stored expressions are not compiled again
        _CREATE_IN_VERSION[key](found, obj, cluster.version)


def _admin_access(found: FieldErrors, obj: Object, attributes: Attributes, cluster: Cluster) -> None:
    """Only namespaces that are marked may ask for access to devices in use (`AuthorizedForAdmin`)."""
    spec, path = obj.get("spec") or {}, "spec"
    if attributes.kind.kind == "ResourceClaimTemplate":
        spec, path = spec.get("spec") or {}, "spec.spec"
    elif attributes.kind.kind != "ResourceClaim":
        return
    for index, request in enumerate((spec.get("devices") or {}).get("requests") or ()):
        if not (request.get("exactly") or {}).get("adminAccess"):
            continue
        namespace = cluster.namespace(attributes.namespace) or {}
        labels = (namespace.get("metadata") or {}).get("labels") or {}
        if labels.get("resource.kubernetes.io/admin-access") != "true":
            label = "`resource.kubernetes.io/admin-access: true`"
            says = f"admin access to devices requires the {label} label on the containing namespace"
            found.forbidden(f"{path}.devices.requests[{index}].exactly.adminAccess", says)


def invalid(attributes: Attributes, found: FieldErrors) -> Denied:
    """`apierrors.NewInvalid`."""
    kind = attributes.kind
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    meta = (attributes.object or {}).get("metadata") or {}
    name = meta.get("name") or ""
    message = f'{qualified} "{name}" is invalid: {aggregate(map(str, found.items))}'
    return Denied(422, "Invalid", message, tuple(item.body for item in found.items))
