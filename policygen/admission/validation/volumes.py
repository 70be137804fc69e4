"""Rules of a pod's volumes (Kubernetes `pkg/apis/core/validation/validation.go`, `validateVolumeSource`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from policygen.admission.validation import content, metadata
from policygen.admission.validation.core_objects import volume_claim_spec
from policygen.admission.validation.downward import field_selector, resource_selector
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.quantity import Quantity

_MODE: Final = "must be a number between 0 and 0777 (octal), both inclusive"
_MORE: Final = "may not specify more than 1 volume type"
_DOWNWARD: Final = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_HOST_PATH_TYPES: Final = (
    "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket",
)  # fmt: skip


def validate(found: FieldErrors, volumes: list[Object], pod_name: str, path: str) -> dict[str, Object]:
    """`ValidateVolumes`; returns the good volumes by name, which mounts may refer to."""
    made = (
        {f"{pod_name}-{item.get('name')}" for item in volumes if item.get("ephemeral")} if pod_name else set()
    )
    good: dict[str, Object] = {}
    for index, volume in enumerate(volumes):
        at, name = f"{path}[{index}]", volume.get("name") or ""
        before = len(found)
        _source(found, volume, name, pod_name, at)
        if not name:
            found.required(f"{at}.name")
        else:
            found.messages(f"{at}.name", name, content.label(name))
        if name in good:
            found.duplicate(f"{at}.name", name)
        if len(found) == before:
            good[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim is not None and claim in made:
            says = "must not reference a PVC that gets created for an ephemeral volume"
            found.invalid(f"{at}.persistentVolumeClaim.claimName", claim, says)
    return good


def _source(found: FieldErrors, volume: Object, name: str, pod_name: str, path: str) -> None:
    kinds = [kind for kind in _SOURCES if volume.get(kind) is not None]
    for position, kind in enumerate(kinds):
        at, rule = _SOURCES[kind]
        if position:
            found.forbidden(f"{path}.{at}", _MORE)
        elif rule is not None:
            rule(found, volume[kind], f"{path}.{at}")
    if not kinds:
        found.required(path, "must specify a volume type")
    if kinds[:1] == ["ephemeral"] and pod_name and name:
        claim = f"{pod_name}-{name}"
        for message in content.subdomain(claim):
            found.invalid(f"{path}.name", name, f'PVC name "{claim}": {message}')


def _empty_dir(found: FieldErrors, source: Object, path: str) -> None:
    limit = source.get("sizeLimit")
    if limit is not None and Quantity.parse(str(limit)).sign < 0:
        found.forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")


def _host_path(found: FieldErrors, source: Object, path: str) -> None:
    if not source.get("path"):
        found.required(f"{path}.path")
        return
    no_backsteps(found, source["path"], f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        found.unsupported(f"{path}.type", kind, _HOST_PATH_TYPES)


def _needs(*fields: str) -> Callable[[FieldErrors, Object, str], None]:
    def rule(found: FieldErrors, source: Object, path: str) -> None:
        for field in fields:
            if not source.get(field):
                found.required(f"{path}.{field}")

    return rule


def _nfs(found: FieldErrors, source: Object, path: str) -> None:
    _needs("server", "path")(found, source, path)
    where = source.get("path") or ""
    if not where.startswith("/"):
        found.invalid(f"{path}.path", where, "must be an absolute path")


def _keyed(name_field: str) -> Callable[[FieldErrors, Object, str], None]:
    """A Secret or ConfigMap: its name, its mode, and which keys go where."""

    def rule(found: FieldErrors, source: Object, path: str) -> None:
        if not source.get(name_field):
            found.required(f"{path}.{name_field}")
        _mode(found, source.get("defaultMode"), f"{path}.defaultMode")
        for index, item in enumerate(source.get("items") or ()):
            _key_to_path(found, item, f"{path}.items[{index}]")

    return rule


def _mode(found: FieldErrors, mode: int | None, path: str) -> None:
    if mode is not None and not 0 <= mode <= 0o777:
        found.invalid(path, mode, _MODE)


def _key_to_path(found: FieldErrors, item: Object, path: str) -> None:
    for field in ("key", "path"):
        if not item.get(field):
            found.required(f"{path}.{field}")
    local_path(found, item.get("path") or "", f"{path}.path")
    _mode(found, item.get("mode"), f"{path}.mode")


def _downward(found: FieldErrors, source: Object, path: str) -> None:
    _mode(found, source.get("defaultMode"), f"{path}.defaultMode")
    for item in source.get("items") or ():
        _downward_file(found, item, path)


def _downward_file(found: FieldErrors, item: Object, path: str) -> None:
    if not item.get("path"):
        found.required(f"{path}.path")
    local_path(found, item.get("path") or "", f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        field_selector(found, field, _DOWNWARD, f"{path}.fieldRef")
        if resource is not None:
            says = "fieldRef and resourceFieldRef can not be specified simultaneously"
            found.invalid(path, "resource", says)
    elif resource is not None:
        resource_selector(found, resource, f"{path}.resourceFieldRef", in_volume=True)
    else:
        found.required(path, "one of fieldRef and resourceFieldRef is required")
    _mode(found, item.get("mode"), f"{path}.mode")


def _projected(found: FieldErrors, source: Object, path: str) -> None:
    _mode(found, source.get("defaultMode"), f"{path}.defaultMode")
    taken: set[str] = set()
    for index, part in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{index}]"
        kinds = [kind for kind in _PROJECTIONS if part.get(kind) is not None]
        for kind in kinds:
            _PROJECTIONS[kind](found, part[kind], path, f"{at}.{kind}", taken)
        if len(kinds) > 1:
            found.forbidden(at, "may not specify more than 1 volume type per source")


def _take(found: FieldErrors, where: str, taken: set[str], path: str, shown: str) -> None:
    if where in taken:
        found.invalid(path, shown, "conflicting duplicate paths")
    elif where:
        taken.add(where)


def _projected_keys(found: FieldErrors, part: Object, path: str, at: str, taken: set[str]) -> None:
    name = part.get("name") or ""
    if not name:
        found.required(f"{at}.name")
    for index, item in enumerate(part.get("items") or ()):
        _key_to_path(found, item, f"{at}.items[{index}]")
        _take(found, item.get("path") or "", taken, path, name)


def _projected_downward(found: FieldErrors, part: Object, path: str, at: str, taken: set[str]) -> None:
    for item in part.get("items") or ():
        _downward_file(found, item, at)
        _take(found, item.get("path") or "", taken, path, item.get("path") or "")


def _projected_token(found: FieldErrors, part: Object, path: str, at: str, _taken: set[str]) -> None:
    seconds = part.get("expirationSeconds") or 0
    if seconds < 600:
        says = "may not specify a duration less than 10 minutes"
        found.invalid(f"{at}.expirationSeconds", seconds, says)
    if seconds > 1 << 32:
        says = "may not specify a duration larger than 2^32 seconds"
        found.invalid(f"{at}.expirationSeconds", seconds, says)
    where = part.get("path") or ""
    if not where:
        found.required(f"{path}.path")
    else:
        local_path(found, where, f"{path}.path")


def _projected_bundle(found: FieldErrors, part: Object, path: str, at: str, taken: set[str]) -> None:
    name, signer, where = part.get("name"), part.get("signerName"), part.get("path") or ""
    if name is not None and signer is not None:
        found.invalid(at, part, "only one of name and signerName may be used")
    elif name is not None:
        if not name:
            found.required(f"{at}.name", "must be a valid object name")
        if part.get("labelSelector") is not None:
            says = "labelSelector must be unset if name is specified"
            found.invalid(f"{at}.labelSelector", part["labelSelector"], says)
    elif signer is not None:
        if not signer:
            found.required(f"{at}.signerName", "must be a valid signer name")
        metadata.selector(found, part.get("labelSelector"), f"{at}.labelSelector")
    else:
        found.required(at, "either name or signerName must be specified")
    if not where:
        found.required(f"{at}.path")
    local_path(found, where, f"{at}.path")
    _take(found, where, taken, path, where)


def local_path(found: FieldErrors, where: str, path: str) -> None:
    """`ValidateLocalNonReservedPath`."""
    descending_path(found, where, path)
    if where.startswith("..") and not where.startswith("../"):
        found.invalid(path, where, "must not start with '..'")


def descending_path(found: FieldErrors, where: str, path: str) -> None:
    """`validateLocalDescendingPath`."""
    if where.startswith("/"):
        found.invalid(path, where, "must be a relative path")
    no_backsteps(found, where, path)


def no_backsteps(found: FieldErrors, where: str, path: str) -> None:
    """`validatePathNoBacksteps`."""
    if ".." in where.split("/"):
        found.invalid(path, where, "must not contain '..'")


def _claim(found: FieldErrors, source: Object, path: str) -> None:
    _needs("claimName")(found, source, path)


def _csi(found: FieldErrors, source: Object, path: str) -> None:
    driver = source.get("driver") or ""
    if not driver:
        found.required(f"{path}.driver")
    else:
        found.messages(f"{path}.driver", driver, content.subdomain(driver.lower()))
    secret = source.get("nodePublishSecretRef")
    if secret is not None and not secret.get("name"):
        found.required(f"{path}.nodePublishSecretRef.name")


def _image(found: FieldErrors, source: Object, path: str) -> None:
    if not source.get("reference"):
        found.required(f"{path}.reference")
    policy = source.get("pullPolicy")
    if policy not in ("Always", "IfNotPresent", "Never"):
        found.unsupported(f"{path}.pullPolicy", policy or "", ("Always", "IfNotPresent", "Never"))


def _ephemeral(found: FieldErrors, source: Object, path: str) -> None:
    template = source.get("volumeClaimTemplate")
    if template is None:
        found.required(f"{path}.volumeClaimTemplate")
        return
    metadata.template(found, template.get("metadata") or {}, f"{path}.volumeClaimTemplate.metadata")
    volume_claim_spec(found, template.get("spec") or {}, f"{path}.volumeClaimTemplate.spec")


_PROJECTIONS: Final[Mapping[str, Callable[[FieldErrors, Object, str, str, set[str]], None]]] = {
    "secret": _projected_keys,
    "configMap": _projected_keys,
    "downwardAPI": _projected_downward,
    "serviceAccountToken": _projected_token,
    "clusterTrustBundle": _projected_bundle,
}
_SOURCES: Final[Mapping[str, tuple[str, Callable[[FieldErrors, Object, str], None] | None]]] = {
    "emptyDir": ("emptyDir", _empty_dir),
    "hostPath": ("hostPath", _host_path),
    "gitRepo": ("gitRepo", _needs("repository")),
    "gcePersistentDisk": ("gcePersistentDisk", _needs("pdName")),
    "awsElasticBlockStore": ("awsElasticBlockStore", _needs("volumeID")),
    "secret": ("secret", _keyed("secretName")),
    "nfs": ("nfs", _nfs),
    "iscsi": ("iscsi", _needs("targetPortal", "iqn")),
    "glusterfs": ("glusterfs", _needs("endpoints", "path")),
    "flocker": ("flocker", None),
    "persistentVolumeClaim": ("persistentVolumeClaim", _claim),
    "rbd": ("rbd", _needs("monitors", "image")),
    "cinder": ("cinder", _needs("volumeID")),
    "cephfs": ("cephfs", _needs("monitors")),
    "quobyte": ("quobyte", _needs("volume")),
    "downwardAPI": ("downwardAPI", _downward),
    "fc": ("fc", None),
    "flexVolume": ("flexVolume", _needs("driver")),
    "configMap": ("configMap", _keyed("name")),
    "azureFile": ("azureFile", _needs("secretName", "shareName")),
    "vsphereVolume": ("vsphereVolume", _needs("volumePath")),
    "photonPersistentDisk": ("photonPersistentDisk", _needs("pdID")),
    "portworxVolume": ("portworxVolume", _needs("volumeID")),
    "azureDisk": ("azureDisk", _needs("diskName", "diskURI")),
    "storageos": ("storageos", _needs("volumeName")),
    "projected": ("projected", _projected),
    "scaleIO": ("scaleIO", _needs("gateway", "system", "volumeName")),
    "csi": ("csi", _csi),
    "ephemeral": ("ephemeral", _ephemeral),
    "image": ("image", _image),
}
"""In the order in which the server looks; after the first one set, every other is one too many."""
