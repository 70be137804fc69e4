"""Rules of containers (Kubernetes `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policygen.admission.validation import content, resources, security
from policygen.admission.validation.downward import field_selector, resource_selector
from policygen.admission.validation.field import FieldErrors, Object
from policygen.admission.validation.volumes import descending_path, local_path, no_backsteps

_ENV_FIELDS: Final = (
    "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
    "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
)  # fmt: skip
_PROTOCOLS: Final = ("SCTP", "TCP", "UDP")
_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES: Final = ("File", "FallbackToLogsOnError")
_RESTARTS: Final = ("Always", "Never", "OnFailure")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_INIT_ONLY: Final = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL: Final = (
    "ports", "resources", "resizePolicy", "restartPolicyRules", "livenessProbe", "readinessProbe",
    "startupProbe", "lifecycle",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Pod:
    """What the rules of a container look at in its pod."""

    volumes: Mapping[str, Object]
    claims: Collection[str]
    grace: int | None
    restart: str
    host_users: bool


def regular(found: FieldErrors, given: list[Object], pod: Pod, path: str) -> None:
    """`validateContainers`."""
    if not given:
        found.required(path)
        return
    names: set[str] = set()
    for index, container in enumerate(given):
        at = f"{path}[{index}]"
        _common(found, container, pod, at)
        name = container.get("name") or ""
        if name in names:
            found.duplicate(f"{at}.name", name)
        names.add(name)
        _running(found, container, pod, at)
        _restart(found, container, at)
    _host_ports(found, given, path)


def initial(found: FieldErrors, given: list[Object], others: list[Object], pod: Pod, path: str) -> None:
    """`validateInitContainers`."""
    names = {container.get("name") or "" for container in others}
    for index, container in enumerate(given):
        at = f"{path}[{index}]"
        _common(found, container, pod, at)
        _restart(found, container, at)
        name = container.get("name") or ""
        if name in names:
            found.duplicate(f"{at}.name", name)
        elif name:
            names.add(name)
        _host_ports(found, [container], path)
        if container.get("restartPolicy") == "Always":
            _running(found, container, pod, at)
            continue
        for field in ("lifecycle", *_PROBES):
            if container.get(field) is not None:
                found.forbidden(f"{at}.{field}", _INIT_ONLY)


def ephemeral(found: FieldErrors, given: list[Object], others: list[Object], pod: Pod, path: str) -> None:
    """`validateEphemeralContainers`."""
    targets = {container.get("name") or "" for container in others}
    names = set(targets)
    says = "cannot be set for an Ephemeral Container"
    for index, container in enumerate(given):
        at, name = f"{path}[{index}]", container.get("name") or ""
        _common(found, container, pod, at)
        image_whitespace(found, container, at)
        if name in names:
            found.duplicate(f"{at}.name", name)
        names.add(name)
        target = container.get("targetContainerName")
        if target and target not in targets:
            found.not_found(f"{at}.targetContainerName", target)
        for field in _NOT_EPHEMERAL:
            if container.get(field):
                found.forbidden(f"{at}.{field}", says)
        for position, mount in enumerate(container.get("volumeMounts") or ()):
            for field in ("subPath", "subPathExpr"):
                if mount.get(field):
                    found.forbidden(f"{at}.volumeMounts[{position}].{field}", says)


def image_whitespace(found: FieldErrors, container: Object, path: str) -> None:
    """`validateContainerOnlyForPod`."""
    image = container.get("image") or ""
    if image != image.strip():
        found.invalid(f"{path}.image", image, "must not have leading or trailing whitespace")


def _common(found: FieldErrors, container: Object, pod: Pod, path: str) -> None:
    """`validateContainerCommon`."""
    name = container.get("name")
    if not name:
        found.required(f"{path}.name")
    else:
        messages = content.label(name)
        if messages:
            found.messages(f"{path}.name", name, messages)
    if not container.get("image"):
        found.required(f"{path}.image")
    found.choice(
        f"{path}.terminationMessagePolicy", container.get("terminationMessagePolicy"), _MESSAGE_POLICIES
    )
    mounts, devices = container.get("volumeMounts") or (), container.get("volumeDevices") or ()
    if container.get("ports"):
        _ports(found, container["ports"], f"{path}.ports")
    if container.get("env"):
        _env(found, container["env"], f"{path}.env")
    if container.get("envFrom"):
        _env_from(found, container["envFrom"], f"{path}.envFrom")
    if mounts:
        _mounts(found, container, pod.volumes, f"{path}.volumeMounts")
    if devices:
        _devices(found, container, pod.volumes, f"{path}.volumeDevices")
        if not pod.host_users:
            found.forbidden(f"{path}.volumeDevices", "when `hostUsers` is false")
    found.choice(f"{path}.imagePullPolicy", container.get("imagePullPolicy"), _PULL_POLICIES)
    if container.get("resources"):
        resources.requirements(found, container["resources"], f"{path}.resources", pod.claims)
    if container.get("resizePolicy"):
        _resize(found, container["resizePolicy"], pod.restart, f"{path}.resizePolicy")
    if container.get("securityContext"):
        at = f"{path}.securityContext"
        security.of_container(found, container["securityContext"], at, host_users=pod.host_users)


def _restart(found: FieldErrors, container: Object, path: str) -> None:
    """`validateContainerRestartPolicy`, with its rules, as since 1.35."""
    policy, rules = container.get("restartPolicy"), container.get("restartPolicyRules") or []
    if policy is None:
        if rules:
            says = "must be specified when `restartPolicyRules` are set"
            found.required(f"{path}.restartPolicy", says)
    elif policy not in _RESTARTS:
        found.unsupported(f"{path}.restartPolicy", policy, _RESTARTS)
    if len(rules) > 20:
        found.too_many(f"{path}.restartPolicyRules", len(rules), 20)
    for index, rule in enumerate(rules):
        at = f"{path}.restartPolicyRules[{index}]"
        if rule.get("action") not in ("Restart", "RestartAllContainers"):
            found.unsupported(f"{at}.action", rule.get("action") or "", ("Restart",))
        codes = rule.get("exitCodes")
        if codes is None:
            found.required(f"{at}.exitCodes", "must be specified")
            continue
        if codes.get("operator") not in ("In", "NotIn"):
            found.unsupported(f"{at}.exitCodes.operator", codes.get("operator") or "", ("In", "NotIn"))
        if len(codes.get("values") or ()) > 255:
            found.too_many(f"{at}.exitCodes.values", len(codes["values"]), 255)


def _ports(found: FieldErrors, ports: list[Object], path: str) -> None:
    names: set[str] = set()
    for index, port in enumerate(ports):
        at, name = f"{path}[{index}]", port.get("name")
        if name:
            messages = content.port_name(name)
            if messages:
                found.messages(f"{at}.name", name, messages)
            elif name in names:
                found.duplicate(f"{at}.name", name)
            else:
                names.add(name)
        number, host = port.get("containerPort") or 0, port.get("hostPort") or 0
        if not number:
            found.required(f"{at}.containerPort")
        else:
            found.messages(f"{at}.containerPort", number, content.port_number(number))
        if host:
            found.messages(f"{at}.hostPort", host, content.port_number(host))
        found.choice(f"{at}.protocol", port.get("protocol"), _PROTOCOLS)


def _host_ports(found: FieldErrors, containers: list[Object], path: str) -> None:
    """`AccumulateUniqueHostPorts`."""
    taken: set[str] = set()
    for index, container in enumerate(containers):
        for position, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort")
            if not host:
                continue
            key = f"{port.get('protocol') or ''}/{port.get('hostIP') or ''}/{host}"
            if key in taken:
                found.duplicate(f"{path}[{index}].ports[{position}].hostPort", key)
            taken.add(key)


def _env(found: FieldErrors, variables: list[Object], path: str) -> None:
    """`ValidateEnv`."""
    for index, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            found.required(f"{path}[{index}].name")
        else:
            messages = content.env_name(name)
            if messages:
                found.messages(f"{path}[{index}].name", name, messages)
        if variable.get("valueFrom") is not None:
            _value_from(found, variable, f"{path}[{index}].valueFrom")


def _value_from(found: FieldErrors, variable: Object, path: str) -> None:
    """`validateEnvVarValueFrom`."""
    source, number = variable["valueFrom"], 0
    if source.get("fieldRef") is not None:
        number += 1
        field_selector(found, source["fieldRef"], _ENV_FIELDS, f"{path}.fieldRef")
    if source.get("resourceFieldRef") is not None:
        number += 1
        resource_selector(found, source["resourceFieldRef"], f"{path}.resourceFieldRef", in_volume=False)
    for kind in ("configMapKeyRef", "secretKeyRef"):
        if source.get(kind) is not None:
            number += 1
            _key_selector(found, source[kind], f"{path}.{kind}")
    if source.get("fileKeyRef") is not None:
        number += 1
        _file_key(found, source["fileKeyRef"], f"{path}.fileKeyRef")
    if not number:
        kinds = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
        found.invalid(path, "", f"must specify one of: {kinds}")
    elif variable.get("value"):
        found.invalid(path, "", "may not be specified when `value` is not empty")
    elif number > 1:
        found.invalid(path, "", "may not have more than one field specified at a time")


def _key_selector(found: FieldErrors, given: Object, path: str) -> None:
    name, key = given.get("name") or "", given.get("key") or ""
    found.messages(f"{path}.name", name, content.subdomain(name))
    if not key:
        found.required(f"{path}.key")
    else:
        found.messages(f"{path}.key", key, content.config_key(key))


def _file_key(found: FieldErrors, given: Object, path: str) -> None:
    key = given.get("key") or ""
    if not key:
        found.required(f"{path}.key")
    else:
        found.messages(f"{path}.key", key, content.env_name(key))
    if not given.get("volumeName"):
        found.required(f"{path}.volumeName")
    where = given.get("path") or ""
    if not where:
        found.required(f"{path}.path")
    else:
        local_path(found, where, f"{path}.path")


def _env_from(found: FieldErrors, sources: list[Object], path: str) -> None:
    """`ValidateEnvFrom`."""
    for index, source in enumerate(sources):
        at, prefix, number = f"{path}[{index}]", source.get("prefix"), 0
        if prefix:
            found.messages(f"{at}.prefix", prefix, content.env_name(prefix))
        for kind in ("configMapRef", "secretRef"):
            reference = source.get(kind)
            if reference is None:
                continue
            number += 1
            name = reference.get("name")
            if not name:
                found.required(f"{at}.{kind}.name")
            else:
                found.messages(f"{at}.{kind}.name", name, content.subdomain(content.masked(name)))
        if not number:
            found.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
        elif number > 1:
            found.invalid(path, "", "may not have more than one field specified at a time")


def _mounts(found: FieldErrors, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    """`ValidateVolumeMounts`."""
    devices = {item.get("name"): item.get("devicePath") for item in container.get("volumeDevices") or ()}
    points: set[str] = set()
    for index, mount in enumerate(container["volumeMounts"]):
        at, name, point = f"{path}[{index}]", mount.get("name") or "", mount.get("mountPath") or ""
        if not name:
            found.required(f"{at}.name")
        if name not in volumes:
            found.not_found(f"{at}.name", name)
        if not point:
            found.required(f"{at}.mountPath")
        if point in points:
            found.invalid(f"{at}.mountPath", point, "must be unique")
        points.add(point)
        if name in devices:
            found.invalid(f"{at}.name", name, "must not already exist in volumeDevices")
        if point in devices.values():
            found.invalid(f"{at}.mountPath", point, "must not already exist as a path in volumeDevices")
        if mount.get("subPath") or mount.get("subPathExpr"):
            _sub_paths(found, mount, volumes.get(name) or {}, at, path)
        if mount.get("mountPropagation") is not None:
            _propagation(found, mount["mountPropagation"], container, f"{path}.mountPropagation")
        if mount.get("recursiveReadOnly") is not None:
            _recursive_read_only(found, mount, f"{path}.recursiveReadOnly")


def _sub_paths(found: FieldErrors, mount: Object, volume: Object, at: str, path: str) -> None:
    fields = [field for field in ("subPath", "subPathExpr") if mount.get(field)]
    if volume.get("image") is not None:
        for field in fields:
            found.invalid(f"{at}.{field}", mount[field], "not allowed in image volume sources")
    for field in fields:
        if field == "subPathExpr" and len(fields) > 1:
            says = "subPathExpr and subPath are mutually exclusive"
            found.invalid(f"{at}.subPathExpr", mount[field], says)
        descending_path(found, mount[field], f"{path}.{field}")


def _propagation(found: FieldErrors, mode: str, container: Object, path: str) -> None:
    choices = ("Bidirectional", "HostToContainer", "None")
    if mode not in choices:
        found.unsupported(path, mode, choices)
    if mode == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        says = "Bidirectional mount propagation is available only to privileged containers"
        found.forbidden(path, says)


def _recursive_read_only(found: FieldErrors, mount: Object, path: str) -> None:
    mode = mount["recursiveReadOnly"]
    if mode in ("Enabled", "IfPossible"):
        if not mount.get("readOnly"):
            found.forbidden(path, "may only be specified when readOnly is true")
        if mount.get("mountPropagation") not in (None, "None"):
            says = "may only be specified when mountPropagation is None or not specified"
            found.forbidden(path, says)
    elif mode != "Disabled":
        found.unsupported(path, mode, ("Disabled", "Enabled", "IfPossible"))


def _devices(found: FieldErrors, container: Object, volumes: Mapping[str, Object], path: str) -> None:
    """`ValidateVolumeDevices`."""
    mounts = {item.get("name"): item.get("mountPath") for item in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for index, device in enumerate(container["volumeDevices"]):
        at, name, where = f"{path}[{index}]", device.get("name") or "", device.get("devicePath") or ""
        volume = volumes.get(name)
        if not name:
            found.required(f"{at}.name")
        if name in names:
            found.invalid(f"{at}.name", name, "must be unique")
        if volume is None:
            found.not_found(f"{at}.name", name)
        elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
            says = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            found.invalid(f"{at}.name", name, says)
        if not where:
            found.required(f"{at}.devicePath")
        if where in paths:
            found.invalid(f"{at}.devicePath", where, "must be unique")
        probe = FieldErrors()
        no_backsteps(probe, where, "")
        if probe:
            found.invalid(f"{at}.devicePath", where, "can not contain backsteps ('..')")
        else:
            paths.add(where)
        if name in mounts:
            found.invalid(f"{at}.name", name, "must not already exist in volumeMounts")
        if where in mounts.values():
            found.invalid(f"{at}.devicePath", where, "must not already exist as a path in volumeMounts")
        names.add(name)


def _resize(found: FieldErrors, policies: list[Object], restart: str, path: str) -> None:
    """`validateResizePolicy`."""
    seen: set[str] = set()
    for index, policy in enumerate(policies):
        resource, action = policy.get("resourceName") or "", policy.get("restartPolicy") or ""
        if resource in seen:
            found.duplicate(f"{path}[{index}]", resource)
        seen.add(resource)
        for value, choices in (
            (resource, ("cpu", "memory")),
            (action, ("NotRequired", "RestartContainer")),
        ):
            if not value:
                found.required(path)
            elif value not in choices:
                found.unsupported(path, value, choices)
        if restart == "Never" and action != "NotRequired":
            found.invalid(path, action, "must be 'NotRequired' when `restartPolicy` is 'Never'")


def _running(found: FieldErrors, container: Object, pod: Pod, path: str) -> None:
    """Lifecycle and probes, which only containers that keep running have."""
    lifecycle = container.get("lifecycle")
    if lifecycle:
        for hook in ("postStart", "preStop"):
            if lifecycle.get(hook) is not None:
                _handler(found, lifecycle[hook], pod.grace, f"{path}.lifecycle.{hook}")
    for field in _PROBES:
        probe = container.get(field)
        if probe is not None:
            _probe(found, probe, field, f"{path}.{field}")


def _probe(found: FieldErrors, probe: Object, field: str, path: str) -> None:
    _handler(found, probe, None, path)
    for name in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        value = probe.get(name) or 0
        if value < 0:
            found.invalid(f"{path}.{name}", value, content.NEGATIVE)
    grace = probe.get("terminationGracePeriodSeconds")
    if grace is not None and grace <= 0:
        found.invalid(f"{path}.terminationGracePeriodSeconds", grace, "must be greater than 0")
    if field == "readinessProbe":
        if grace is not None:
            says = "must not be set for readinessProbes"
            found.invalid(f"{path}.terminationGracePeriodSeconds", grace, says)
    elif (probe.get("successThreshold") or 0) != 1:
        found.invalid(f"{path}.successThreshold", probe.get("successThreshold") or 0, "must be 1")


def _handler(found: FieldErrors, handler: Object, grace: int | None, path: str) -> None:
    """`validateHandler`."""
    kinds = [
        kind for kind in ("exec", "httpGet", "tcpSocket", "grpc", "sleep") if handler.get(kind) is not None
    ]
    for kind in kinds[1:]:
        found.forbidden(f"{path}.{kind}", "may not specify more than 1 handler type")
    if not kinds:
        found.required(path, "must specify a handler type")
        return
    kind = kinds[0]
    action, at = handler[kind], f"{path}.{kind}"
    match kind:
        case "exec":
            if not action.get("command"):
                found.required(f"{at}.command")
        case "httpGet":
            _http(found, action, at)
        case "tcpSocket" | "grpc":
            _port(found, action.get("port", 0), f"{at}.port")
        case _:
            seconds = action.get("seconds") or 0
            if grace is not None and not 0 <= seconds <= grace:
                says = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
                found.invalid(at, seconds, says)


def _http(found: FieldErrors, action: Object, path: str) -> None:
    if not action.get("path"):
        found.required(f"{path}.path")
    _port(found, action.get("port", 0), f"{path}.port")
    scheme = action.get("scheme") or ""
    if scheme not in ("HTTP", "HTTPS"):
        found.unsupported(f"{path}.scheme", scheme, ("HTTP", "HTTPS"))
    for header in action.get("httpHeaders") or ():
        name = header.get("name") or ""
        found.messages(f"{path}.httpHeaders", name, content.http_header(name))


def _port(found: FieldErrors, port: Any, path: str) -> None:
    """`ValidatePortNumOrName`."""
    messages = content.port_name(port) if isinstance(port, str) else content.port_number(port)
    found.messages(path, port, messages)
