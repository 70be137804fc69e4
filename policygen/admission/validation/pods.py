"""Rules of pods and pod templates (Kubernetes `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from policygen.admission import pod_resources
from policygen.admission.validation import (
    containers,
    content,
    metadata,
    resources,
    scheduling,
    security,
    volumes,
)
from policygen.admission.validation.field import FieldErrors, Object

MIRROR: Final = "kubernetes.io/config.mirror"
_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_RESTARTS: Final = ("Always", "OnFailure", "Never")
_INT32: Final = 2**31 - 1


def create(found: FieldErrors, pod: Object) -> None:
    """`ValidatePodCreate`."""
    meta, given = pod.get("metadata") or {}, pod.get("spec") or {}
    metadata_and_spec(found, meta, given)
    if given.get("ephemeralContainers"):
        found.forbidden("spec.ephemeralContainers", "cannot be set on create")
    if given.get("nodeName") and given.get("schedulingGates"):
        says = "cannot be set until all schedulingGates have been cleared"
        found.forbidden("spec.nodeName", says)


def metadata_and_spec(found: FieldErrors, meta: Object, given: Object) -> None:
    """`validatePodMetadataAndSpec`."""
    metadata.validate(found, meta, namespaced=True)
    notes = meta.get("annotations")
    if notes:
        _annotations(found, notes, given, "metadata.annotations")
    spec(found, given, "spec", pod_name=meta.get("name") or "", is_pod=True)
    if not given.get("serviceAccountName"):
        for index, volume in enumerate(given.get("volumes") or ()):
            for place, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    at = f"spec.volumes[{index}].projected.sources[{place}].serviceAccountToken"
                    says = "must not be specified when serviceAccountName is not set"
                    found.forbidden(at, says)
    for field in ("containers", "initContainers"):
        for index, container in enumerate(given.get(field) or ()):
            containers.image_whitespace(found, container, f"spec.{field}[{index}]")


def template(found: FieldErrors, given: Object, path: str) -> None:
    """`ValidatePodTemplateSpec`."""
    meta, body = given.get("metadata") or {}, given.get("spec") or {}
    metadata.labels(found, meta.get("labels") or {}, f"{path}.labels")
    notes = meta.get("annotations")
    if notes:
        metadata.annotation_map(found, notes, f"{path}.annotations")
        _annotations(found, notes, body, f"{path}.annotations")
    spec(found, body, f"{path}.spec", pod_name="", is_pod=False)
    if body.get("ephemeralContainers"):
        says = "ephemeral containers not allowed in pod template"
        found.forbidden(f"{path}.spec.ephemeralContainers", says)


def spec(found: FieldErrors, given: Object, path: str, *, pod_name: str, is_pod: bool) -> None:
    """`ValidatePodSpec`."""
    grace = given.get("terminationGracePeriodSeconds")
    if grace is None:
        found.required(f"{path}.terminationGracePeriodSeconds")
    good: Mapping[str, Object] = {}
    if given.get("volumes"):
        good = volumes.validate(found, given["volumes"], pod_name, f"{path}.volumes")
    claims = given.get("resourceClaims") or ()
    if claims:
        scheduling.claims(found, claims, f"{path}.resourceClaims")
    _containers(found, given, path, good)
    if given.get("resources"):
        _pod_resources(found, given, f"{path}.resources")
    if given.get("hostNetwork"):
        _host_network_ports(found, given, path, is_pod=is_pod)
    found.choice(f"{path}.restartPolicy", given.get("restartPolicy"), _RESTARTS)
    found.choice(f"{path}.dnsPolicy", given.get("dnsPolicy"), _DNS_POLICIES)
    if given.get("nodeSelector"):
        metadata.labels(found, given["nodeSelector"], f"{path}.nodeSelector")
    if given.get("securityContext") or given.get("shareProcessNamespace"):
        security.of_pod(found, given.get("securityContext") or {}, given, f"{path}.securityContext")
    if given.get("affinity"):
        scheduling.affinity(found, given["affinity"], f"{path}.affinity")
    _dns(found, given, f"{path}.dnsConfig")
    for index, gate in enumerate(given.get("readinessGates") or ()):
        condition = gate.get("conditionType") or ""
        metadata.label_name(found, condition, f"{path}.readinessGates[{index}].conditionType")
    if given.get("schedulingGates"):
        scheduling.gates(found, given["schedulingGates"], f"{path}.schedulingGates")
    if given.get("topologySpreadConstraints"):
        at = f"{path}.topologySpreadConstraints"
        scheduling.spread_constraints(found, given["topologySpreadConstraints"], at)
    security.host_users(found, given, path)
    _names(found, given, path)
    _rest(found, given, path)


def _containers(found: FieldErrors, given: Object, path: str, good: Mapping[str, Object]) -> None:
    regular, initial = given.get("containers") or [], given.get("initContainers") or []
    pod = containers.Pod(
        volumes=good,
        claims={item["name"] for item in given.get("resourceClaims") or () if item.get("name")},
        grace=given.get("terminationGracePeriodSeconds"),
        restart=given.get("restartPolicy") or "",
        host_users=given.get("hostUsers") is not False,
    )
    containers.regular(found, regular, pod, f"{path}.containers")
    if initial:
        containers.initial(found, initial, regular, pod, f"{path}.initContainers")
    if given.get("ephemeralContainers"):
        at = f"{path}.ephemeralContainers"
        containers.ephemeral(found, given["ephemeralContainers"], [*regular, *initial], pod, at)


def _names(found: FieldErrors, given: Object, path: str) -> None:
    """Names of other objects, and the pod's own in DNS."""
    for field in ("serviceAccountName", "nodeName"):
        if given.get(field):
            found.messages(f"{path}.{field}", given[field], content.subdomain(given[field]))
    deadline = given.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _INT32:
        found.invalid(f"{path}.activeDeadlineSeconds", deadline, content.in_range(1, _INT32))
    for field in ("hostname", "subdomain"):
        if given.get(field):
            found.messages(f"{path}.{field}", given[field], content.label(given[field]))


def _rest(found: FieldErrors, given: Object, path: str) -> None:
    if given.get("tolerations"):
        scheduling.tolerations(found, given["tolerations"], f"{path}.tolerations")
    for index, alias in enumerate(given.get("hostAliases") or ()):
        at = f"{path}.hostAliases[{index}]"
        ip_address(found, alias.get("ip") or "", f"{at}.ip")
        for place, name in enumerate(alias.get("hostnames") or ()):
            found.messages(f"{at}.hostnames[{place}]", name, content.subdomain(name))
    for field in ("priorityClassName", "runtimeClassName"):
        value = given.get(field)
        if value or (value is not None and field == "runtimeClassName"):
            found.messages(f"{path}.{field}", value, content.subdomain(value))
    preemption = given.get("preemptionPolicy")
    if preemption is not None:
        found.choice(
            f"{path}.preemptionPolicy", given.get("preemptionPolicy"), ("PreemptLowerPriority", "Never")
        )
    if given.get("overhead"):
        resources.requirements(found, {"limits": given["overhead"]}, f"{path}.overhead")
    if given.get("os") is not None:
        security.operating_system(found, given, path)


def ip_address(found: FieldErrors, value: str, path: str) -> None:
    """`IsValidIP`."""
    import ipaddress

    try:
        ipaddress.ip_address(value)
    except ValueError:
        says = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
        found.invalid(path, value, says)


def _host_network_ports(found: FieldErrors, given: Object, path: str, *, is_pod: bool) -> None:
    """`validatePodHostNetworkDeps`."""
    for index, container in enumerate(given.get("containers") or ()):
        for place, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort") or 0
            if (is_pod or host) and host != (port.get("containerPort") or 0):
                at = f"{path}.containers[{index}].ports[{place}].hostPort"
                found.invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def _pod_resources(found: FieldErrors, given: Object, path: str) -> None:
    """`validatePodResources`: what the pod states covers what its containers ask for."""
    stated = given["resources"]
    if stated.get("claims") is not None:
        found.forbidden(f"{path}.claims", "claims cannot be set for Resources at pod-level")
    resources.pod_requirements(found, stated, path)
    alone = {"spec": {**given, "resources": {}, "overhead": None}}
    requests = pod_resources.parse(stated.get("requests"))
    for name, asked in pod_resources.pod_total(alone, "requests").items():
        if not pod_resources.supported_for_pod(name):
            continue
        whole = requests.get(name, pod_resources.ZERO)
        if asked > whole:
            says = f"must be greater than or equal to aggregate container requests of {asked}"
            found.invalid(f"{path}.requests[{name}]", str(whole), says)
    limits = pod_resources.parse(stated.get("limits"))
    for index, container in enumerate(given.get("containers") or ()):
        for name, limit in pod_resources.of_container(container, "limits").items():
            if name in limits and limit > limits[name]:
                at = f"{path}.containers[{index}][{name}].limits"
                says = f"must be less than or equal to pod limits of {limits[name]}"
                found.invalid(at, str(limit), says)


def _dns(found: FieldErrors, given: Object, path: str) -> None:
    """`validatePodDNSConfig`."""
    config: Mapping[str, Any] | None = given.get("dnsConfig")
    if given.get("dnsPolicy") == "None":
        if config is None:
            found.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
            return
        if not config.get("nameservers"):
            says = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            found.required(f"{path}.nameservers", says)
            return
    if config is None:
        return
    servers, searches = config.get("nameservers") or [], config.get("searches") or []
    if len(servers) > 3:
        found.invalid(f"{path}.nameservers", servers, "must not have more than 3 nameservers")
    for index, server in enumerate(servers):
        ip_address(found, server, f"{path}.nameservers[{index}]")
    if len(searches) > 32:
        found.invalid(f"{path}.searches", searches, "must not have more than 32 search paths")
    if len(" ".join(searches)) > 2048:
        says = "must not have more than 2048 characters (including spaces) in the search list"
        found.invalid(f"{path}.searches", searches, says)
    for index, search in enumerate(searches):
        if search != ".":
            name = search.removesuffix(".")
            found.messages(f"{path}.searches[{index}]", name, content.subdomain(name.replace("_", "-")))
    for index, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            found.required(f"{path}.options[{index}]", "must not be empty")


def _annotations(found: FieldErrors, notes: Mapping[str, str], given: Object, path: str) -> None:
    """`ValidatePodSpecificAnnotations`."""
    if MIRROR in notes and not given.get("nodeName"):
        says = "must set spec.nodeName if mirror pod annotation is set"
        found.invalid(f"{path}[{MIRROR}]", notes[MIRROR], says)
    if _SECCOMP_POD in notes:
        _seccomp(found, notes[_SECCOMP_POD], f"{path}.{_SECCOMP_POD}")
    for key, value in notes.items():
        if key.startswith(_SECCOMP_CONTAINER):
            _seccomp(found, value, f"{path}.{key}")
    names = {item.get("name") for item in pod_resources.containers_of(given, ephemeral=True)}
    for key, value in notes.items():
        if key.startswith(_APP_ARMOR):
            name = key.removeprefix(_APP_ARMOR)
            if name not in names:
                found.invalid(f"{path}[{key}]", name, "container not found")
            if value not in ("", "runtime/default", "unconfined") and not value.startswith("localhost/"):
                found.invalid(f"{path}[{key}]", value, f'invalid AppArmor profile name: "{value}"')
    cost = notes.get(_DELETION_COST)
    if cost is not None:
        _deletion_cost(found, cost, f"{path}[{_DELETION_COST}]")


def _deletion_cost(found: FieldErrors, cost: str, path: str) -> None:
    digits = cost.lstrip("-")
    is_number = digits.isascii() and digits.isdigit() and len(cost) - len(digits) <= 1
    plain = is_number and (digits == "0" or not digits.startswith("0"))
    if not plain or not -(2**31) <= int(cost) <= _INT32:
        found.invalid(path, cost, "must be a 32bit integer")


def _seccomp(found: FieldErrors, profile: str, path: str) -> None:
    if profile in ("runtime/default", "docker/default", "unconfined"):
        return
    if profile.startswith("localhost/"):
        volumes.descending_path(found, profile.removeprefix("localhost/"), path)
    else:
        found.invalid(path, profile, "must be a valid seccomp profile")
