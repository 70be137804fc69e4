"""Rules of the plain core kinds: Namespace, ConfigMap, Secret, Service, PersistentVolumeClaim, and others.

Kubernetes `pkg/apis/core/validation/validation.go`. Services and claims are checked for what an injected or
generated object can get wrong.
"""

from __future__ import annotations

from typing import Any, Final

from policygen.admission.validation import content, metadata, resources
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.names import byte_length
from policygen.kube.quantity import Quantity

_MAX_DATA: Final = 1024 * 1024
_ACCESS_MODES: Final = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SERVICE_TYPES: Final = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")


def namespaced_name(found: FieldErrors, obj: Object) -> None:
    """A kind in a namespace of which only `metadata` is looked at."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)


def namespace(found: FieldErrors, obj: Object) -> None:
    """`ValidateNamespace`."""
    metadata.validate(found, obj.get("metadata") or {}, content.label, namespaced=False)
    for name in (obj.get("spec") or {}).get("finalizers") or ():
        metadata.label_name(found, name, "spec.finalizers")
        metadata.kube_finalizer(found, name, "spec.finalizers")


def metadata_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """A kind of which an update is judged by its `metadata` alone."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})


def config_map(found: FieldErrors, obj: Object) -> None:
    """`ValidateConfigMap`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _config_data(found, obj)


def _config_data(found: FieldErrors, obj: Object) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    size = 0
    for key, value in data.items():
        found.messages(f"data[{key}]", key, content.config_key(key))
        if key in binary:
            found.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
        size += byte_length(value)
    for key, value in binary.items():
        found.messages(f"binaryData[{key}]", key, content.config_key(key))
        size += len(value) * 3 // 4
    if size > _MAX_DATA:
        found.too_long("", _MAX_DATA)


def config_map_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateConfigMapUpdate`: what is marked immutable stays."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _kept(found, obj, old, ("data", "binaryData"))
    _config_data(found, obj)


def _kept(found: FieldErrors, obj: Object, old: Object, fields: tuple[str, ...]) -> None:
    if not old.get("immutable"):
        return
    says = "field is immutable when `immutable` is set"
    if not obj.get("immutable"):
        found.forbidden("immutable", says)
    for field in fields:
        if (obj.get(field) or {}) != (old.get(field) or {}):
            found.forbidden(field, says)


def secret(found: FieldErrors, obj: Object) -> None:
    """`ValidateSecret`, without the contents of the typed ones."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    _secret_data(found, obj)


def _secret_data(found: FieldErrors, obj: Object) -> None:
    data = obj.get("data") or {}
    for key in data:
        found.messages(f"data[{key}]", key, content.config_key(key))
    if sum(len(value) * 3 // 4 for value in data.values()) > _MAX_DATA:
        found.too_long("data", _MAX_DATA)


def secret_update(found: FieldErrors, obj: Object, old: Object) -> None:
    """`ValidateSecretUpdate`."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    if obj.get("type") != old.get("type"):
        found.invalid("type", obj.get("type") or "", metadata.IMMUTABLE)
    _kept(found, obj, old, ("data",))
    _secret_data(found, obj)


def service(found: FieldErrors, obj: Object) -> None:
    """`ValidateService`: ports, selector and type."""
    metadata.validate(found, obj.get("metadata") or {}, content.label_1035, namespaced=True)
    spec = obj.get("spec") or {}
    kind, ports = spec.get("type") or "", spec.get("ports") or []
    if not ports and spec.get("clusterIP") != "None" and kind != "ExternalName":
        found.required("spec.ports")
    names: set[str] = set()
    for index, port in enumerate(ports):
        _service_port(found, port, names, several=len(ports) > 1, path=f"spec.ports[{index}]")
    if spec.get("selector"):
        metadata.labels(found, spec["selector"], "spec.selector")
    affinity = spec.get("sessionAffinity") or ""
    if not affinity:
        found.required("spec.sessionAffinity")
    elif affinity not in ("ClientIP", "None"):
        found.unsupported("spec.sessionAffinity", affinity, ("ClientIP", "None"))
    if not kind:
        found.required("spec.type")
    elif kind not in _SERVICE_TYPES:
        found.unsupported("spec.type", kind, _SERVICE_TYPES)
    seen: set[tuple[Any, Any]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol"), port.get("port"))
        if key in seen:
            shown = {"Name": "", "Protocol": key[0], "Port": key[1]}
            found.duplicate(f"spec.ports[{index}]", shown)
        seen.add(key)


def _service_port(found: FieldErrors, port: Object, names: set[str], *, several: bool, path: str) -> None:
    name = port.get("name") or ""
    if several and not name:
        found.required(f"{path}.name")
    elif name:
        found.messages(f"{path}.name", name, content.label(name))
        if name in names:
            found.duplicate(f"{path}.name", name)
        names.add(name)
    number = port.get("port") or 0
    found.messages(f"{path}.port", number, content.port_number(number))
    protocol = port.get("protocol") or ""
    if not protocol:
        found.required(f"{path}.protocol")
    elif protocol not in _PROTOCOLS:
        found.unsupported(f"{path}.protocol", protocol, _PROTOCOLS)
    target = port.get("targetPort", 0)
    messages = content.port_name(target) if isinstance(target, str) else content.port_number(target)
    found.messages(f"{path}.targetPort", target, messages)


def volume_claim(found: FieldErrors, obj: Object) -> None:
    """`ValidatePersistentVolumeClaim`."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    volume_claim_spec(found, obj.get("spec") or {}, "spec")


def volume_claim_spec(found: FieldErrors, spec: Object, path: str) -> None:
    """`ValidatePersistentVolumeClaimSpec`, also of an ephemeral volume."""
    modes = spec.get("accessModes") or []
    if not modes:
        found.required(f"{path}.accessModes", "at least 1 access mode is required")
    metadata.selector(found, spec.get("selector"), f"{path}.selector")
    for mode in modes:
        if mode not in _ACCESS_MODES:
            found.unsupported(f"{path}.accessModes", mode, _ACCESS_MODES)
    if "ReadWriteOncePod" in modes and set(modes) & (set(_ACCESS_MODES) - {"ReadWriteOncePod"}):
        found.forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes")
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    at = f"{path}.resources[storage]"
    if size is None:
        found.required(at)
    elif Quantity.parse(str(size)).sign <= 0:
        found.invalid(at, str(Quantity.parse(str(size))), content.NOT_POSITIVE)
    else:
        resources.amount(found, "storage", size, at)
    for field in ("storageClassName", "volumeAttributesClassName"):
        if spec.get(field):
            found.messages(f"{path}.{field}", spec[field], content.subdomain(spec[field]))
    mode = spec.get("volumeMode")
    if mode is not None and mode not in ("Block", "Filesystem"):
        found.unsupported(f"{path}.volumeMode", mode, ("Block", "Filesystem"))


def horizontal_autoscaler(found: FieldErrors, obj: Object) -> None:
    """`ValidateHorizontalPodAutoscaler`: bounds and target (`pkg/apis/autoscaling/validation`)."""
    metadata.validate(found, obj.get("metadata") or {}, namespaced=True)
    spec = obj.get("spec") or {}
    least, most = spec.get("minReplicas"), spec.get("maxReplicas") or 0
    if least is not None and least < 1:
        found.invalid("spec.minReplicas", least, "must be greater than or equal to 1")
    if most < 1:
        found.invalid("spec.maxReplicas", most, "must be greater than 0")
    if least is not None and most < least:
        says = "must be greater than or equal to `minReplicas`"
        found.invalid("spec.maxReplicas", most, says)
    target = spec.get("scaleTargetRef") or {}
    for field in ("kind", "name"):
        value = target.get(field)
        if not value:
            found.required(f"spec.scaleTargetRef.{field}")
        else:
            found.messages(f"spec.scaleTargetRef.{field}", value, content.path_segment(value))
