"""Rules of security contexts (Kubernetes `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

import re
from typing import Any, Final

from policygen.admission.validation import content, internal
from policygen.admission.validation.field import FieldErrors, Object
from policygen.admission.validation.volumes import descending_path
from policygen.kube.names import byte_length

_PROFILES: Final = ("Localhost", "RuntimeDefault", "Unconfined")
_SYSCTL_SEGMENT: Final = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL: Final = rf"^({_SYSCTL_SEGMENT}[\./])*{_SYSCTL_SEGMENT}$"
_SYSCTL_RE: Final = re.compile(_SYSCTL)
_IPC_SYSCTLS: Final = ("kernel.shm", "kernel.msg", "fs.mqueue.")
_WINDOWS_POD: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls",
    "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy",
)  # fmt: skip
_WINDOWS_CONTAINER: Final = (
    "appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem",
    "privileged", "allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup",
)  # fmt: skip


def of_container(found: FieldErrors, given: Object, path: str, *, host_users: bool) -> None:
    """`ValidateSecurityContext`."""
    _ids(found, given, ("runAsUser", "runAsGroup"), path)
    mount = given.get("procMount")
    if mount is not None:
        if mount not in ("Default", "Unmasked"):
            found.unsupported(f"{path}.procMount", mount, ("Default", "Unmasked"))
        if host_users and mount == "Unmasked":
            found.invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`")
    _seccomp(found, given.get("seccompProfile"), f"{path}.seccompProfile")
    if given.get("allowPrivilegeEscalation") is False:
        if given.get("privileged"):
            says = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            found.invalid(path, internal.shown(given, internal.SECURITY_CONTEXT), says)
        if "CAP_SYS_ADMIN" in ((given.get("capabilities") or {}).get("add") or ()):
            says = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
            found.invalid(path, internal.shown(given, internal.SECURITY_CONTEXT), says)
    _app_armor(found, given.get("appArmorProfile"), f"{path}.appArmorProfile")


def of_pod(found: FieldErrors, given: Object, spec: Object, path: str) -> None:
    """`validatePodSpecSecurityContext`."""
    _ids(found, given, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for index, group in enumerate(given.get("supplementalGroups") or ()):
        found.messages(f"{path}.supplementalGroups[{index}]", group, content.user_id(group))
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        says = "ShareProcessNamespace and HostPID cannot both be enabled"
        found.invalid(f"{path}.shareProcessNamespace", True, says)
    if given.get("sysctls"):
        _sysctls(found, given["sysctls"], spec, f"{path}.sysctls")
    _one_of(found, given, "fsGroupChangePolicy", ("Always", "OnRootMismatch"), path)
    _seccomp(found, given.get("seccompProfile"), f"{path}.seccompProfile")
    _app_armor(found, given.get("appArmorProfile"), f"{path}.appArmorProfile")
    _one_of(found, given, "supplementalGroupsPolicy", ("Merge", "Strict"), path)
    _one_of(found, given, "seLinuxChangePolicy", ("MountOption", "Recursive"), path)


def host_users(found: FieldErrors, spec: Object, path: str) -> None:
    """`validateHostUsers`: a pod in a user namespace shares no other namespace with the host."""
    if spec.get("hostUsers") is not False:
        return
    for field, shown in (("hostNetwork", "hostNetwork"), ("hostPID", "HostPID"), ("hostIPC", "HostIPC")):
        if spec.get(field):
            found.forbidden(f"{path}.{shown}", "when `hostUsers` is false")


def operating_system(found: FieldErrors, spec: Object, path: str) -> None:
    """`validateOS`, `validateLinux` and `validateWindows`: each system refuses the other's settings."""
    name = (spec.get("os") or {}).get("name") or ""
    if not name:
        found.required(f"{path}.os.name", "cannot be empty")
    elif name not in ("linux", "windows"):
        found.unsupported(f"{path}.os", name, ("linux", "windows"))
    elif name == "linux":
        says = "windows options cannot be set for a linux pod"
        for holder, at in _holders(spec, path):
            if (holder.get("securityContext") or {}).get("windowsOptions") is not None:
                found.forbidden(f"{at}.securityContext.windowsOptions", says)
    else:
        _windows(found, spec, path)


def _windows(found: FieldErrors, spec: Object, path: str) -> None:
    says = "cannot be set for a windows pod"
    for field in ("hostUsers", "shareProcessNamespace"):
        if spec.get(field) is not None:
            found.forbidden(f"{path}.{field}", says)
    for field in ("hostPID", "hostIPC"):
        if spec.get(field):
            found.forbidden(f"{path}.{field}", says)
    for holder, at in _holders(spec, path):
        context = holder.get("securityContext") or {}
        for field in _WINDOWS_POD if holder is spec else _WINDOWS_CONTAINER:
            if context.get(field) is not None:
                found.forbidden(f"{at}.securityContext.{field}", says)


def _holders(spec: Object, path: str) -> list[tuple[Object, str]]:
    """The pod and its containers, each with its path."""
    found = [(spec, path)]
    for field in ("initContainers", "containers", "ephemeralContainers"):
        found += [(item, f"{path}.{field}[{index}]") for index, item in enumerate(spec.get(field) or ())]
    return found


def _ids(found: FieldErrors, given: Object, fields: tuple[str, ...], path: str) -> None:
    for field in fields:
        value = given.get(field)
        if value is not None:
            found.messages(f"{path}.{field}", value, content.user_id(value))


def _one_of(found: FieldErrors, given: Object, field: str, choices: tuple[str, ...], path: str) -> None:
    value = given.get(field)
    if value is not None and value not in choices:
        found.unsupported(f"{path}.{field}", value, choices)


def _seccomp(found: FieldErrors, profile: Any, path: str) -> None:
    if profile is None:
        return
    kind, local = profile.get("type") or "", profile.get("localhostProfile")
    if not kind:
        found.required(f"{path}.type", "type is required when seccompProfile is set")
    elif kind not in _PROFILES:
        found.unsupported(f"{path}.type", kind, _PROFILES)
    if kind == "Localhost":
        if local is None:
            found.required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost")
        else:
            descending_path(found, local, f"{path}.localhostProfile")
    elif local is not None:
        shown = {"Type": kind, "LocalhostProfile": local}
        says = "can only be set when seccomp type is Localhost"
        found.invalid(f"{path}.localhostProfile", shown, says)


def _app_armor(found: FieldErrors, profile: Any, path: str) -> None:
    if profile is None:
        return
    kind, local, at = profile.get("type") or "", profile.get("localhostProfile"), f"{path}.localhostProfile"
    if kind == "Localhost":
        if not (local or "").strip():
            if local:
                found.invalid(at, local, "must not be padded with whitespace")
            else:
                found.required(at, "must be set when AppArmor type is Localhost")
        elif local != local.strip():
            found.invalid(at, local, "must not be padded with whitespace")
        elif byte_length(local) > 4095:
            found.too_long(at, 4095)
    elif kind in ("RuntimeDefault", "Unconfined"):
        if local is not None:
            found.invalid(at, local, "can only be set when AppArmor type is Localhost")
    elif not kind:
        found.required(f"{path}.type", "type is required when appArmorProfile is set")
    else:
        found.unsupported(f"{path}.type", kind, _PROFILES)


def _sysctls(found: FieldErrors, given: list[Object], spec: Object, path: str) -> None:
    seen: set[str] = set()
    for index, item in enumerate(given):
        at, name = f"{path}[{index}].name", item.get("name") or ""
        if not name:
            found.required(at)
        elif len(name) > 253 or not _SYSCTL_RE.match(name):
            found.invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}")
        elif name in seen:
            found.duplicate(at, name)
        seen.add(name)
        dotted = name.replace("/", ".")
        if spec.get("hostNetwork") and dotted.startswith("net."):
            found.invalid(at, name, "may not be specified when 'hostNetwork' is true")
        if spec.get("hostIPC") and (dotted.startswith(_IPC_SYSCTLS) or dotted == "kernel.sem"):
            found.invalid(at, name, "may not be specified when 'hostIPC' is true")
