"""What API defaulting fills in: a table by Go type, applied to an object after its typed round trip.

Follows Kubernetes `pkg/apis/*/v1/defaults.go` and the `+default` markers. A rule belongs to a type and holds
wherever the type occurs, as Go's generated defaulters do; rules of a whole kind (`core/v1.Pod`) run before
those of the types inside.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from policygen.kube import catalog, default_rules, roundtrip
from policygen.kube.schema import KindSchema
from policygen.kube.type_rules import EMPTY_MAP, Rule, TypeRules

_ROUNDED: Final = default_rules.rounded

_CONTAINER: Final[tuple[Rule, ...]] = (
    default_rules.image_pull_policy,
    ("terminationMessagePath", "/dev/termination-log"),
    ("terminationMessagePolicy", "File"),
)
_RESOURCES: Final[tuple[Rule, ...]] = (_ROUNDED("limits", "requests"),)
_MODE: Final[tuple[Rule, ...]] = (("defaultMode", 0o644),)
_ALL_SELECTED: Final[tuple[Rule, ...]] = (
    ("matchPolicy", "Equivalent"),
    ("namespaceSelector", EMPTY_MAP),
    ("objectSelector", EMPTY_MAP),
)
_DEVICE_REQUEST: Final[tuple[Rule, ...]] = (
    ("allocationMode", "ExactCount"),
    default_rules.device_count,
)
_WEBHOOK: Final[tuple[Rule, ...]] = (("failurePolicy", "Fail"), *_ALL_SELECTED, ("timeoutSeconds", 10))

_POLICY_VERSIONS: Final = ("v1", "v1beta1", "v1alpha1")
_ADMISSION: Final[tuple[tuple[str, str, tuple[Rule, ...]], ...]] = (
    *((version, "MutatingAdmissionPolicySpec", (("failurePolicy", "Fail"),)) for version in _POLICY_VERSIONS),
    *(
        (version, "ValidatingAdmissionPolicySpec", (("failurePolicy", "Fail"),))
        for version in _POLICY_VERSIONS
    ),
    *((version, "MatchResources", _ALL_SELECTED) for version in _POLICY_VERSIONS),
    *((version, "NamedRuleWithOperations", (("scope", "*"),)) for version in _POLICY_VERSIONS),
    ("v1", "RuleWithOperations", (("scope", "*"),)),
    *(
        (version, "MutatingWebhook", (*_WEBHOOK, ("reinvocationPolicy", "Never")))
        for version in ("v1", "v1beta1")
    ),
    *((version, "ValidatingWebhook", _WEBHOOK) for version in ("v1", "v1beta1")),
    *((version, "ServiceReference", (("port", 443),)) for version in ("v1", "v1beta1")),
)

TABLE: Final[Mapping[str, tuple[Rule, ...]]] = {
    # pods
    "core/v1.Pod": (default_rules.pod_requests, default_rules.pod_service_links, default_rules.host_ports),
    "core/v1.PodSpec": (
        ("dnsPolicy", "ClusterFirst"),
        ("restartPolicy", "Always"),
        ("securityContext", EMPTY_MAP),
        ("terminationGracePeriodSeconds", 30),
        ("schedulerName", "default-scheduler"),
        _ROUNDED("overhead"),
    ),
    "core/v1.Container": _CONTAINER,
    "core/v1.EphemeralContainer": _CONTAINER,
    "core/v1.ContainerPort": (("protocol", "TCP"),),
    "core/v1.ResourceRequirements": _RESOURCES,
    "core/v1.VolumeResourceRequirements": _RESOURCES,
    "core/v1.Probe": (
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ),
    "core/v1.HTTPGetAction": (("path", "/"), ("scheme", "HTTP")),
    "core/v1.GRPCAction": (("service", ""),),
    "core/v1.ObjectFieldSelector": (("apiVersion", "v1"),),
    "core/v1.FileKeySelector": (("optional", False),),
    # volumes
    "core/v1.Volume": (default_rules.empty_volume,),
    "core/v1.SecretVolumeSource": _MODE,
    "core/v1.ConfigMapVolumeSource": _MODE,
    "core/v1.DownwardAPIVolumeSource": _MODE,
    "core/v1.ProjectedVolumeSource": _MODE,
    "core/v1.ServiceAccountTokenProjection": (("expirationSeconds", 3600),),
    "core/v1.HostPathVolumeSource": (("type", ""),),
    "core/v1.ISCSIVolumeSource": (("iscsiInterface", "default"),),
    "core/v1.ISCSIPersistentVolumeSource": (("iscsiInterface", "default"),),
    "core/v1.RBDVolumeSource": (("pool", "rbd"), ("user", "admin"), ("keyring", "/etc/ceph/keyring")),
    "core/v1.RBDPersistentVolumeSource": (
        ("pool", "rbd"),
        ("user", "admin"),
        ("keyring", "/etc/ceph/keyring"),
    ),
    "core/v1.AzureDiskVolumeSource": (
        ("cachingMode", "ReadWrite"),
        ("kind", "Shared"),
        ("fsType", "ext4"),
        ("readOnly", False),
    ),
    "core/v1.ScaleIOVolumeSource": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
    "core/v1.ScaleIOPersistentVolumeSource": (("storageMode", "ThinProvisioned"), ("fsType", "xfs")),
    "core/v1.ImageVolumeSource": (default_rules.image_volume_pull_policy,),
    "core/v1.PersistentVolumeClaim": (default_rules.status_phase("Pending"),),
    "core/v1.PersistentVolumeClaimSpec": (("volumeMode", "Filesystem"),),
    "core/v1.PersistentVolumeClaimStatus": (_ROUNDED("capacity", "allocatedResources"),),
    "core/v1.PersistentVolume": (default_rules.status_phase("Pending"),),
    "core/v1.PersistentVolumeSpec": (
        ("persistentVolumeReclaimPolicy", "Retain"),
        ("volumeMode", "Filesystem"),
        _ROUNDED("capacity"),
    ),
    # workloads
    "core/v1.ReplicationController": (default_rules.replication_controller_labels,),
    "core/v1.ReplicationControllerSpec": (("replicas", 1),),
    "apps/v1.DeploymentSpec": (
        ("replicas", 1),
        ("revisionHistoryLimit", 10),
        ("progressDeadlineSeconds", 600),
    ),
    "apps/v1.DeploymentStrategy": (
        ("type", "RollingUpdate"),
        default_rules.rolling_update({"maxUnavailable": "25%", "maxSurge": "25%"}),
    ),
    "apps/v1.ReplicaSetSpec": (("replicas", 1),),
    "apps/v1.DaemonSetSpec": (("revisionHistoryLimit", 10),),
    "apps/v1.DaemonSetUpdateStrategy": (
        ("type", "RollingUpdate"),
        default_rules.rolling_update({"maxUnavailable": 1, "maxSurge": 0}),
    ),
    "apps/v1.StatefulSetSpec": (
        ("podManagementPolicy", "OrderedReady"),
        ("replicas", 1),
        ("revisionHistoryLimit", 10),
        ("persistentVolumeClaimRetentionPolicy", EMPTY_MAP),
    ),
    "apps/v1.StatefulSetUpdateStrategy": (
        ("type", "RollingUpdate"),
        default_rules.rolling_update({"partition": 0}),
    ),
    "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy": (
        ("whenDeleted", "Retain"),
        ("whenScaled", "Retain"),
    ),
    "batch/v1.Job": (default_rules.job,),
    "batch/v1.PodFailurePolicyOnPodConditionsPattern": (("status", "True"),),
    "batch/v1.CronJobSpec": (
        ("concurrencyPolicy", "Allow"),
        ("suspend", False),
        ("successfulJobsHistoryLimit", 3),
        ("failedJobsHistoryLimit", 1),
    ),
    "autoscaling/v1.HorizontalPodAutoscalerSpec": (("minReplicas", 1),),
    "autoscaling/v2.HorizontalPodAutoscalerSpec": (("minReplicas", 1), default_rules.autoscaler_metrics),
    # services and the rest of core
    "core/v1.ServiceSpec": (default_rules.service,),
    "core/v1.ServicePort": (("protocol", "TCP"), default_rules.target_port),
    "core/v1.Namespace": (default_rules.namespace_label,),
    "core/v1.Secret": (("type", "Opaque"),),
    "core/v1.EndpointPort": (("protocol", "TCP"),),
    "core/v1.LimitRangeItem": (
        default_rules.limit_range_item,
        _ROUNDED("max", "min", "default", "defaultRequest", "maxLimitRequestRatio"),
    ),
    "core/v1.ResourceQuotaSpec": (_ROUNDED("hard"),),
    "core/v1.ResourceQuotaStatus": (_ROUNDED("hard", "used"),),
    "core/v1.NodeStatus": (default_rules.allocatable, _ROUNDED("capacity", "allocatable")),
    "scheduling/v1.PriorityClass": (("preemptionPolicy", "PreemptLowerPriority"),),
    # dynamic resource allocation
    "resource/v1.ExactDeviceRequest": _DEVICE_REQUEST,
    "resource/v1.DeviceSubRequest": _DEVICE_REQUEST,
    "resource/v1.DeviceToleration": (("operator", "Equal"),),
    "resource/v1beta2.ExactDeviceRequest": _DEVICE_REQUEST,
    "resource/v1beta2.DeviceSubRequest": _DEVICE_REQUEST,
    "resource/v1beta2.DeviceToleration": (("operator", "Equal"),),
    "resource/v1beta1.DeviceRequest": (default_rules.old_device_request,),
    "resource/v1beta1.DeviceSubRequest": _DEVICE_REQUEST,
    "resource/v1beta1.DeviceToleration": (("operator", "Equal"),),
    # admission
    **{f"admissionregistration/{version}.{name}": rules for version, name, rules in _ADMISSION},
}
"""The rules by type. `("field", value)` fills an absent field; functions return what they change."""


def default_object(value: Mapping[str, Any], version: str) -> dict[str, Any]:
    """The object as the API server sees it: decoded, defaulted and encoded again. The input is not changed.

    Kinds that the version does not have are returned as they are. Raises `DecodeError`.
    """
    schema = catalog.load(version).get(value.get("apiVersion", ""), value.get("kind", ""))
    if schema is None:
        return value if isinstance(value, dict) else dict(value)
    return apply(roundtrip.round_trip(value, schema), schema)


def apply(value: dict[str, Any], schema: KindSchema) -> dict[str, Any]:
    """Default an object that is already as Go encodes it (`roundtrip`). The input is not changed."""
    return _rules().apply(value, schema)


@cache
def _rules() -> TypeRules:
    return TypeRules(TABLE)
