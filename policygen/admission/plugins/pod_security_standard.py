"""The Pod Security Standards: checks of the levels baseline and restricted, by version.

pod-security-admission `policy/check_*.go`. A check returns None, or the reason and the detail of a refusal.
`CHECKS` is the table that `policy/registry.go` builds: baseline checks by id, then restricted ones by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from policygen.admission.pod_resources import containers_of
from policygen.admission.request import Object

Level: TypeAlias = Literal["privileged", "baseline", "restricted"]
Violation: TypeAlias = tuple[str, str]
Check: TypeAlias = Callable[[Object, Object], Violation | None]
"""Of a pod's metadata and spec."""

_DEFAULT_CAPABILITIES: Final = frozenset(
    [
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    ]
)
_SYSCTLS_1_0: Final = frozenset(
    {
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    }
)
_SYSCTLS_1_27: Final = _SYSCTLS_1_0 | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_1_29: Final = _SYSCTLS_1_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_1_32: Final = _SYSCTLS_1_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_SELINUX_1_0: Final = frozenset({"", "container_t", "container_init_t", "container_kvm_t"})
_SELINUX_1_31: Final = _SELINUX_1_0 | {"container_engine_t"}
_APPARMOR_PREFIX: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_FREE_VOLUMES: Final = (
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim", "projected",
    "secret",
)  # fmt: skip
_RESTRICTED_VOLUMES: Final = (
    "hostPath", "gcePersistentDisk", "awsElasticBlockStore", "gitRepo", "nfs", "iscsi", "glusterfs", "rbd",
    "flexVolume", "cinder", "cephfs", "flocker", "fc", "azureFile", "vsphereVolume", "quobyte", "azureDisk",
    "photonPersistentDisk", "portworxVolume", "scaleIO", "storageos",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    level: Level
    versions: tuple[tuple[int, Check], ...]
    """Minor version from which a variant holds, oldest first."""
    overrides: tuple[str, ...] = ()
    """Baseline checks that this restricted one makes superfluous."""

    def at(self, minor: int) -> Check | None:
        return next((check for since, check in reversed(self.versions) if since <= minor), None)


def violations(level: Level, minor: int, metadata: Object, spec: Object) -> list[Violation]:
    """What a pod does against a level, in the server's order."""
    if level == "privileged":
        return []
    found = (check(metadata, spec) for check in _checks(level, minor))
    return [item for item in found if item is not None]


def describe(found: Iterable[Violation]) -> str:
    """`ForbiddenDetail`: reasons, each with its detail in parentheses."""
    return ", ".join(f"{reason} ({detail})" if detail else reason for reason, detail in found)


def reasons(found: Iterable[Violation]) -> str:
    """`ForbiddenReason`."""
    return ", ".join(reason for reason, _ in found)


def _checks(level: Level, minor: int) -> Iterator[Check]:
    rows = [row for row in CHECKS if row.level == "baseline" or level == "restricted"]
    overridden = {name for row in rows if row.at(minor) for name in row.overrides}
    for row in rows:
        check = row.at(minor)
        if check is not None and row.id not in overridden:
            yield check


def _plural(names: Iterable[Any], singular: str, plural: str = "") -> str:
    return singular if len(list(names)) == 1 else plural or singular + "s"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _containers(names: list[str]) -> str:
    return f"{_plural(names, 'container')} {_quoted(names)}"


def _security(holder: Object) -> Object:
    found: Object = holder.get("securityContext") or {}
    return found


def _every(spec: Object) -> list[Object]:
    return containers_of(spec, ephemeral=True)


def _on_windows(spec: Object) -> bool:
    return (spec.get("os") or {}).get("name") == "windows"


def _in_user_namespace(spec: Object) -> bool:
    return spec.get("hostUsers") is False


def _app_armor(metadata: Object, spec: Object) -> Violation | None:
    allowed = ("RuntimeDefault", "Localhost")
    setters: list[str] = []
    values: set[str] = set()
    profile = _security(spec).get("appArmorProfile")
    if profile is not None and profile.get("type") not in allowed:
        setters.append("pod")
        values.add(profile.get("type") or "")
    bad: list[str] = []
    for container in _every(spec):
        profile = _security(container).get("appArmorProfile")
        if profile is not None and profile.get("type") not in allowed:
            bad.append(container.get("name", ""))
            values.add(profile.get("type") or "")
    if bad:
        setters.append(_containers(bad))
    shown = sorted(values)
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in (metadata.get("annotations") or {}).items()
        if key.startswith(_APPARMOR_PREFIX)
        and value not in ("", "runtime/default")
        and not value.startswith("localhost/")
    )
    if annotations:
        shown += annotations
        setters.append(_plural(annotations, "annotation"))
    if not setters:
        return None
    detail = f"{' and '.join(setters)} must not set AppArmor profile type to {_quoted(shown)}"
    return _plural(shown, "forbidden AppArmor profile"), detail


def _capabilities_baseline(_metadata: Object, spec: Object) -> Violation | None:
    return _added_capabilities(spec, _DEFAULT_CAPABILITIES, "non-default capabilities")


def _added_capabilities(spec: Object, allowed: frozenset[str], reason: str) -> Violation | None:
    bad: list[str] = []
    added: set[str] = set()
    for container in _every(spec):
        wrong = set((_security(container).get("capabilities") or {}).get("add") or ()) - allowed
        if wrong:
            bad.append(container.get("name", ""))
            added |= wrong
    if not bad:
        return None
    return (
        reason,
        f"{_containers(bad)} must not include {_quoted(sorted(added))} in securityContext.capabilities.add",
    )


def _host_namespaces(_metadata: Object, spec: Object) -> Violation | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if spec.get(field)]
    return ("host namespaces", ", ".join(used)) if used else None


def _host_path_volumes(_metadata: Object, spec: Object) -> Violation | None:
    bad = [item.get("name", "") for item in spec.get("volumes") or () if item.get("hostPath") is not None]
    return ("hostPath volumes", f"{_plural(bad, 'volume')} {_quoted(bad)}") if bad else None


def _host_ports(_metadata: Object, spec: Object) -> Violation | None:
    bad: list[str] = []
    ports: set[str] = set()
    for container in _every(spec):
        wrong = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if wrong:
            bad.append(container.get("name", ""))
            ports |= wrong
    if not bad:
        return None
    uses = "uses" if len(bad) == 1 else "use"
    return "hostPort", f"{_containers(bad)} {uses} {_plural(ports, 'hostPort')} {', '.join(sorted(ports))}"


def _host_probes(_metadata: Object, spec: Object) -> Violation | None:
    bad: set[str] = set()
    hosts: set[str] = set()
    for container in _every(spec):
        lifecycle = container.get("lifecycle") or {}
        handlers = [container.get(name) for name in ("livenessProbe", "readinessProbe", "startupProbe")]
        handlers += [lifecycle.get("postStart"), lifecycle.get("preStop")]
        for handler in handlers:
            for action in ("httpGet", "tcpSocket"):
                host = ((handler or {}).get(action) or {}).get("host")
                if host:
                    bad.add(container.get("name", ""))
                    hosts.add(host)
    if not bad:
        return None
    uses = "uses" if len(bad) == 1 else "use"
    what = _plural(hosts, "probe or lifecycle host")
    return "probe or lifecycle host", f"{_containers(sorted(bad))} {uses} {what} {_quoted(sorted(hosts))}"


def _privileged(_metadata: Object, spec: Object) -> Violation | None:
    bad = [item.get("name", "") for item in _every(spec) if _security(item).get("privileged")]
    return ("privileged", f"{_containers(bad)} must not set securityContext.privileged=true") if bad else None


def _proc_mount(_metadata: Object, spec: Object) -> Violation | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for container in _every(spec):
        kind = _security(container).get("procMount")
        if kind is not None and kind != "Default":
            bad.append(container.get("name", ""))
            kinds.add(kind)
    if not bad:
        return None
    return (
        "procMount",
        f"{_containers(bad)} must not set securityContext.procMount to {_quoted(sorted(kinds))}",
    )


def _unless_user_namespace(check: Check) -> Check:
    """Since 1.35 some checks are lifted for pods in a user namespace (KEP-127)."""

    def relaxed(metadata: Object, spec: Object) -> Violation | None:
        return None if _in_user_namespace(spec) else check(metadata, spec)

    return relaxed


def _unless_windows(check: Check) -> Check:
    """Since 1.25 checks that have no meaning there are lifted for pods that say they run on Windows."""

    def relaxed(metadata: Object, spec: Object) -> Violation | None:
        return None if _on_windows(spec) else check(metadata, spec)

    return relaxed


def _selinux(allowed: frozenset[str]) -> Check:
    def check(_metadata: Object, spec: Object) -> Violation | None:
        kinds: set[str] = set()
        flags: set[str] = set()

        def is_bad(holder: Object) -> bool:
            options = _security(holder).get("seLinuxOptions")
            if options is None:
                return False
            kind = options.get("type") or ""
            wrong = {field for field in ("user", "role") if options.get(field)}
            kinds.update({kind} - allowed)
            flags.update(wrong)
            return kind not in allowed or bool(wrong)

        setters = ["pod"] if is_bad(spec) else []
        bad = [item.get("name", "") for item in _every(spec) if is_bad(item)]
        setters += [_containers(bad)] if bad else []
        if not setters:
            return None
        data = [f"{_plural(kinds, 'type')} {_quoted(sorted(kinds))}"] if kinds else []
        data += [f"{field} may not be set" for field in ("user", "role") if field in flags]
        detail = f"{' and '.join(setters)} set forbidden securityContext.seLinuxOptions: {'; '.join(data)}"
        return "seLinuxOptions", detail

    return check


def _seccomp_setters(spec: Object) -> tuple[list[str], set[str], bool, list[str]]:
    """Who sets a bad profile, which, whether the pod sets a good one, and which containers set none."""
    setters: list[str] = []
    values: set[str] = set()
    good = ("RuntimeDefault", "Localhost")
    profile = _security(spec).get("seccompProfile")
    pod_sets = profile is not None and profile.get("type") in good
    if profile is not None and not pod_sets:
        setters.append("pod")
        values.add(profile.get("type") or "")
    bad: list[str] = []
    silent: list[str] = []
    for container in _every(spec):
        profile = _security(container).get("seccompProfile")
        if profile is None:
            silent.append(container.get("name", ""))
        elif profile.get("type") not in good:
            bad.append(container.get("name", ""))
            values.add(profile.get("type") or "")
    if bad:
        setters.append(_containers(bad))
    return setters, values, pod_sets, silent


def _seccomp_baseline_1_0(metadata: Object, spec: Object) -> Violation | None:
    annotations = metadata.get("annotations") or {}
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + item.get("name", "") for item in _every(spec))]
    bad = sorted(
        f'{key}="{annotations[key]}"'
        for key in dict.fromkeys(keys)
        if key in annotations
        and annotations[key] not in ("runtime/default", "docker/default")
        and not annotations[key].startswith("localhost/")
    )
    return ("seccompProfile", f"forbidden {_plural(bad, 'annotation')} {', '.join(bad)}") if bad else None


def _seccomp_baseline_1_19(_metadata: Object, spec: Object) -> Violation | None:
    setters, values, _, _ = _seccomp_setters(spec)
    return _bad_seccomp(setters, values)


def _bad_seccomp(setters: list[str], values: set[str]) -> Violation | None:
    if not setters:
        return None
    detail = f"must not set securityContext.seccompProfile.type to {_quoted(sorted(values))}"
    return "seccompProfile", f"{' and '.join(setters)} {detail}"


def _seccomp_restricted(_metadata: Object, spec: Object) -> Violation | None:
    setters, values, pod_sets, silent = _seccomp_setters(spec)
    if setters:
        return _bad_seccomp(setters, values)
    if pod_sets or not silent:
        return None
    must = 'must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return "seccompProfile", f"pod or {_containers(silent)} {must}"


def _sysctls(allowed: frozenset[str]) -> Check:
    def check(_metadata: Object, spec: Object) -> Violation | None:
        named = [item.get("name", "") for item in _security(spec).get("sysctls") or ()]
        bad = [name for name in named if name not in allowed]
        return ("forbidden sysctls", ", ".join(bad)) if bad else None

    return check


def _windows_host_process(_metadata: Object, spec: Object) -> Violation | None:
    def sets(holder: Object) -> bool:
        return bool((_security(holder).get("windowsOptions") or {}).get("hostProcess"))

    bad = [item.get("name", "") for item in _every(spec) if sets(item)]
    setters = (["pod"] if sets(spec) else []) + ([_containers(bad)] if bad else [])
    if not setters:
        return None
    return (
        "hostProcess",
        f"{' and '.join(setters)} must not set securityContext.windowsOptions.hostProcess=true",
    )


def _allow_privilege_escalation(_metadata: Object, spec: Object) -> Violation | None:
    bad = [
        item.get("name", "")
        for item in _every(spec)
        if _security(item).get("allowPrivilegeEscalation") is not False
    ]
    if not bad:
        return None
    must = "must set securityContext.allowPrivilegeEscalation=false"
    return "allowPrivilegeEscalation != false", f"{_containers(bad)} {must}"


def _capabilities_restricted(_metadata: Object, spec: Object) -> Violation | None:
    missing = [
        item.get("name", "")
        for item in _every(spec)
        if "ALL" not in ((_security(item).get("capabilities") or {}).get("drop") or ())
    ]
    details = (
        [f'{_containers(missing)} must set securityContext.capabilities.drop=["ALL"]'] if missing else []
    )
    added = _added_capabilities(spec, frozenset({"NET_BIND_SERVICE"}), "")
    details += [added[1]] if added else []
    return ("unrestricted capabilities", "; ".join(details)) if details else None


def _restricted_volumes(_metadata: Object, spec: Object) -> Violation | None:
    bad: list[str] = []
    kinds: set[str] = set()
    for volume in spec.get("volumes") or ():
        if any(volume.get(kind) is not None for kind in _FREE_VOLUMES):
            continue
        bad.append(volume.get("name", ""))
        kinds.add(next((kind for kind in _RESTRICTED_VOLUMES if volume.get(kind) is not None), "unknown"))
    if not bad:
        return None
    uses = "uses" if len(bad) == 1 else "use"
    what = f"{uses} {_plural(kinds, 'restricted volume type')} {_quoted(sorted(kinds))}"
    return "restricted volume types", f"{_plural(bad, 'volume')} {_quoted(bad)} {what}"


def _run_as_non_root(_metadata: Object, spec: Object) -> Violation | None:
    pod_wish = _security(spec).get("runAsNonRoot")
    setters = ["pod"] if pod_wish is False else []
    wishes = [(item.get("name", ""), _security(item).get("runAsNonRoot")) for item in _every(spec)]
    explicit = [name for name, wish in wishes if wish is False]
    setters += [_containers(explicit)] if explicit else []
    if setters:
        detail = f"{' and '.join(setters)} must not set securityContext.runAsNonRoot=false"
        return "runAsNonRoot != true", detail
    silent = [] if pod_wish else [name for name, wish in wishes if wish is None]
    if not silent:
        return None
    return "runAsNonRoot != true", f"pod or {_containers(silent)} must set securityContext.runAsNonRoot=true"


def _run_as_user(_metadata: Object, spec: Object) -> Violation | None:
    setters = ["pod"] if _security(spec).get("runAsUser") == 0 else []
    bad = [item.get("name", "") for item in _every(spec) if _security(item).get("runAsUser") == 0]
    setters += [_containers(bad)] if bad else []
    return ("runAsUser=0", f"{' and '.join(setters)} must not set runAsUser=0") if setters else None


CHECKS: Final = (
    _Row("appArmorProfile", "baseline", ((0, _app_armor),)),
    _Row("capabilities_baseline", "baseline", ((0, _capabilities_baseline),)),
    _Row("hostNamespaces", "baseline", ((0, _host_namespaces),)),
    _Row("hostPathVolumes", "baseline", ((0, _host_path_volumes),)),
    _Row("hostPorts", "baseline", ((0, _host_ports),)),
    _Row("hostProbesAndHostLifecycle", "baseline", ((34, _host_probes),)),
    _Row("privileged", "baseline", ((0, _privileged),)),
    _Row("procMount", "baseline", ((0, _proc_mount), (35, _unless_user_namespace(_proc_mount)))),
    _Row("seLinuxOptions", "baseline", ((0, _selinux(_SELINUX_1_0)), (31, _selinux(_SELINUX_1_31)))),
    _Row("seccompProfile_baseline", "baseline", ((0, _seccomp_baseline_1_0), (19, _seccomp_baseline_1_19))),
    _Row(
        "sysctls",
        "baseline",
        (
            (0, _sysctls(_SYSCTLS_1_0)),
            (27, _sysctls(_SYSCTLS_1_27)),
            (29, _sysctls(_SYSCTLS_1_29)),
            (32, _sysctls(_SYSCTLS_1_32)),
        ),
    ),
    _Row("windowsHostProcess", "baseline", ((0, _windows_host_process),)),
    _Row(
        "allowPrivilegeEscalation",
        "restricted",
        ((8, _allow_privilege_escalation), (25, _unless_windows(_allow_privilege_escalation))),
    ),
    _Row(
        "capabilities_restricted",
        "restricted",
        ((22, _capabilities_restricted), (25, _unless_windows(_capabilities_restricted))),
        overrides=("capabilities_baseline",),
    ),
    _Row("restrictedVolumes", "restricted", ((0, _restricted_volumes),), overrides=("hostPathVolumes",)),
    _Row(
        "runAsNonRoot", "restricted", ((0, _run_as_non_root), (35, _unless_user_namespace(_run_as_non_root)))
    ),
    _Row("runAsUser", "restricted", ((23, _run_as_user), (35, _unless_user_namespace(_run_as_user)))),
    _Row(
        "seccompProfile_restricted",
        "restricted",
        ((19, _seccomp_restricted), (25, _unless_windows(_seccomp_restricted))),
        overrides=("seccompProfile_baseline",),
    ),
)
