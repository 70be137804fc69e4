"""Actions of a rule become nodes of the IR, each value in the form in which the API server stores it.

Items are written with the defaults that the API server fills in (`fieldRef.apiVersion`, `defaultMode`, …), so
that a stored item and a wanted one compare equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import assert_never

from policygen.compiler import ir
from policygen.compiler import model_actions as m
from policygen.compiler.model_actions import Json
from policygen.compiler.model_match import Requirement

SHARED_MEMORY = "shared-memory"
"""The name of the memory volume."""
_SHM_PATH = "/dev/shm"  # noqa: S108 - a path in a container


def lower_rules(rules: Sequence[m.Rule]) -> dict[str, tuple[ir.Node, ...]]:
    """The nodes of every rule by its name.

    A toleration that another one of the bundle covers is added unless an equal one is there; otherwise it
    would depend on the order of policies whether the bundle adds one or both.
    """
    nodes = {rule.name: lower_rule(rule) for rule in rules}
    every = [
        item.value
        for found in nodes.values()
        for node in found
        if isinstance(node, ir.Items) and node.identity == "toleration"
        for item in node.items
    ]
    covered = [value for value in every if any(_wider(other, value) for other in every if other != value)]
    return {name: tuple(_exact(node, covered) for node in found) for name, found in nodes.items()}


def _exact(node: ir.Node, covered: list[dict[str, Json]]) -> ir.Node:
    if isinstance(node, ir.Items) and node.identity == "toleration":
        if any(item.value in covered for item in node.items):
            return replace(node, identity="whole")
    return node


def _wider(have: dict[str, Json], wanted: dict[str, Json]) -> bool:
    return (
        "tolerationSeconds" not in have
        and "tolerationSeconds" not in wanted
        and have.get("operator", "Equal") == "Exists"
        and have.get("key", "") in {"", wanted.get("key", "")}
        and have.get("effect", "") in {"", wanted.get("effect", "")}
    )


def lower_rule(rule: m.Rule) -> tuple[ir.Node, ...]:
    """The nodes of a rule, in the order of its actions; neighbours that write one list are one node."""
    nodes: list[ir.Node] = []
    for action in rule.actions:
        for node in _lower(action):
            last = _last_like(nodes, node)
            if last is None:
                nodes.append(node)
            else:
                nodes[last] = _joined(nodes[last], node)
    return tuple(nodes)


def _last_like(nodes: list[ir.Node], node: ir.Node) -> int | None:
    """Where `Items` of the same list stand that may take more."""
    match node:
        case ir.Items():
            for index, other in enumerate(nodes):
                if isinstance(other, ir.Items) and _list_of(other) == _list_of(node):
                    return index
        case ir.NodeTerms():
            for index, other in enumerate(nodes):
                if isinstance(other, ir.NodeTerms) and other.on_conflict == node.on_conflict:
                    return index
        case _:
            pass
    return None


def _list_of(node: ir.Items) -> tuple[object, ...]:
    return node.place, node.path, node.identity, node.on_conflict, node.guard


def _joined(first: ir.Node, second: ir.Node) -> ir.Node:
    match first, second:
        case ir.Items(), ir.Items():
            items = first.items + tuple(item for item in second.items if item not in first.items)
            return ir.Items(first.place, first.path, items, first.identity, first.on_conflict, first.guard)
        case ir.NodeTerms(), ir.NodeTerms():
            return ir.NodeTerms(first.requirements + second.requirements, first.on_conflict)
        case _:
            raise AssertionError("only lists are joined")


def _lower(action: m.Action) -> Iterator[ir.Node]:  # noqa: C901, PLR0912, PLR0915 - one arm an action
    pod = ir.InPod()
    match action:
        case m.SetUserNamespace(enabled, on_conflict, span):
            guard = ir.SharesNoHostNamespace() if enabled else None
            origin = ir.Origin("user namespace (`hostUsers`)", span)
            yield ir.Leaf(pod, ("spec", "hostUsers"), not enabled, on_conflict, origin, guard=guard)
        case m.SetPriority(name, default, on_conflict, span):
            yield ir.PriorityClass(name, default, on_conflict, ir.Origin("priority class", span))
        case m.InjectClaim(claim, containers, on_conflict, span):
            origin = ir.Origin(f"claim `{claim.name}`", span)
            yield ir.SharedClaim(claim.name, claim.template, containers, on_conflict, origin)
        case m.ReplaceLimits(resource, by_count, init, _, span):
            claims = tuple((count, claim.name, claim.template) for count, claim in by_count)
            yield ir.MovedLimit(resource, claims, init, ir.Origin(f"claims for `{resource}`", span))
        case m.SetEnv(name, source, containers, on_conflict, span):
            item = ir.Item(env_var(name, source), ir.Origin(f"environment variable `{name}`", span))
            yield ir.Items(ir.InContainers(containers), ("env",), (item,), "name", on_conflict)
        case m.AddToleration(toleration, on_conflict, span):
            words = f"toleration of `{toleration.key}`" if toleration.key else "toleration of every taint"
            item = ir.Item(toleration_item(toleration), ir.Origin(words, span))
            yield ir.Items(pod, ("spec", "tolerations"), (item,), "toleration", "keep")
        case m.SetNodeSelector(key, value, on_conflict, span):
            origin = ir.Origin(f"node selector `{key}`", span)
            yield ir.Leaf(pod, ("spec", "nodeSelector", key), value, on_conflict, origin)
        case m.RequireNodeAffinity(requirements, on_conflict, span):
            items = tuple(
                ir.Item(requirement_item(part), ir.Origin(f"node affinity on `{part.key}`", part.span))
                for part in requirements
            )
            yield ir.NodeTerms(items, on_conflict)
        case m.PreferNodeAffinity(weight, requirements, on_conflict, span):
            wanted: Json = {"matchExpressions": [requirement_item(part) for part in requirements]}
            keys = ", ".join(f"`{part.key}`" for part in requirements)
            item = ir.Item(
                {"weight": weight, "preference": wanted}, ir.Origin(f"preference for {keys}", span)
            )
            preferred = ("spec", "affinity", "nodeAffinity", _PREFERRED)
            yield ir.Items(pod, preferred, (item,), "preference", on_conflict)
        case m.AddSpread():
            yield _spread(action)
        case m.AddPodAffinity():
            yield _pod_affinity(action)
        case m.SetLabel(key, value, on_conflict, span):
            origin = ir.Origin(f"label `{key}`", span)
            yield ir.Leaf(pod, ("metadata", "labels", key), value, on_conflict, origin)
        case m.SetAnnotation(key, value, on_conflict, span):
            origin = ir.Origin(f"annotation `{key}`", span)
            yield ir.Leaf(pod, ("metadata", "annotations", key), value, on_conflict, origin)
        case m.SetSchedulerName(name, on_conflict, span):
            origin = ir.Origin("scheduler name", span)
            field = ("spec", "schedulerName")
            yield ir.Leaf(pod, field, name, on_conflict, origin, unset="default-scheduler")
        case m.SetRuntimeClass(name, on_conflict, span):
            origin = ir.Origin("runtime class", span)
            yield ir.Leaf(pod, ("spec", "runtimeClassName"), name, on_conflict, origin)
        case m.AddSchedulingGate(name, on_conflict, span):
            item = ir.Item({"name": name}, ir.Origin(f"scheduling gate `{name}`", span))
            yield ir.Items(pod, ("spec", "schedulingGates"), (item,), "name", "keep")
        case m.SetSecurityContext(path, value, containers, on_conflict, span):
            origin = ir.Origin(f"security context `{'.'.join(path)}`", span)
            if containers is None:
                yield ir.Leaf(pod, ("spec", "securityContext", *path), value, on_conflict, origin)
            else:
                place = ir.InContainers(containers)
                yield ir.Leaf(place, ("securityContext", *path), value, on_conflict, origin)
        case m.AddVolume():
            yield from _volume(action)
        case m.AddSharedMemory():
            yield from _shared_memory(action)
        case _:
            assert_never(action)


_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def _spread(action: m.AddSpread) -> ir.Items:
    value: dict[str, Json] = {
        "maxSkew": action.max_skew,
        "topologyKey": action.over,
        "whenUnsatisfiable": action.when_unsatisfiable,
    }
    value |= _group(action.grouping)
    for key, extra in (
        ("minDomains", action.min_domains),
        ("nodeAffinityPolicy", action.node_affinity_policy),
        ("nodeTaintsPolicy", action.node_taints_policy),
    ):
        if extra is not None:
            value[key] = extra
    item = ir.Item(value, ir.Origin(f"spread over `{action.over}`", action.span))
    path = ("spec", "topologySpreadConstraints")
    guard = _has_labels(action.grouping)
    return ir.Items(ir.InPod(), path, (item,), "topologyKey", action.on_conflict, guard)


def _pod_affinity(action: m.AddPodAffinity) -> ir.Items:
    term: dict[str, Json] = {**_group(action.grouping), "topologyKey": action.over}
    side = "podAntiAffinity" if action.anti else "podAffinity"
    origin = ir.Origin(f"{'apart' if action.anti else 'together'} over `{action.over}`", action.span)
    guard = _has_labels(action.grouping)
    if action.weight is None:
        path = ("spec", "affinity", side, _REQUIRED)
        return ir.Items(ir.InPod(), path, (ir.Item(term, origin),), "topologyKey", action.on_conflict, guard)
    item = ir.Item({"weight": action.weight, "podAffinityTerm": term}, origin)
    path = ("spec", "affinity", side, _PREFERRED)
    return ir.Items(ir.InPod(), path, (item,), "affinity", action.on_conflict, guard)


def _group(grouping: m.PodGrouping) -> dict[str, Json]:
    """Which pods are counted. `matchLabelKeys` compares with the pod's own labels: the term is a constant."""
    labels: dict[str, Json] = dict(grouping.labels)
    keys: list[Json] = []
    for key in (*grouping.by, *grouping.match_label_keys):
        if key not in keys and key not in labels:
            keys.append(key)
    value: dict[str, Json] = {"labelSelector": {"matchLabels": labels} if labels else {}}
    if keys:
        value["matchLabelKeys"] = keys
    return value


def _has_labels(grouping: m.PodGrouping) -> ir.Guard | None:
    return ir.HasLabels(grouping.by) if grouping.by else None


def _volume(action: m.AddVolume) -> Iterator[ir.Node]:
    origin = ir.Origin(f"volume `{action.name}`", action.span)
    guard = ir.SomeContainer(tuple(mount.containers for mount in action.mounts)) if action.mounts else None
    volume = ir.Item({"name": action.name, **stored_source(action.source)}, origin)
    yield ir.Items(ir.InPod(), ("spec", "volumes"), (volume,), "name", action.on_conflict, guard)
    for mount in action.mounts:
        value: dict[str, Json] = {"name": action.name, "mountPath": mount.path}
        if mount.read_only:
            value["readOnly"] = True
        if mount.sub_path is not None:
            value["subPath"] = mount.sub_path
        place = ir.InContainers(mount.containers)
        yield ir.Items(place, ("volumeMounts",), (ir.Item(value, origin),), "mountPath", action.on_conflict)


def _shared_memory(action: m.AddSharedMemory) -> Iterator[ir.Node]:
    origin = ir.Origin("shared memory", action.span)
    free = None if action.on_conflict == "replace" else _SHM_PATH
    guard = ir.SomeContainer((action.containers,), unless_mounted=free)
    source: Json = {"medium": "Memory", "sizeLimit": action.size}
    volume = ir.Item({"name": SHARED_MEMORY, "emptyDir": source}, origin)
    yield ir.Items(ir.InPod(), ("spec", "volumes"), (volume,), "name", action.on_conflict, guard)
    mount = ir.Item({"name": SHARED_MEMORY, "mountPath": _SHM_PATH}, origin)
    place = ir.InContainers(action.containers)
    yield ir.Items(place, ("volumeMounts",), (mount,), "mountPath", action.on_conflict)


# --- the stored form of values -----------------------------------------------------------------------------


def env_var(name: str, source: m.EnvSource) -> dict[str, Json]:
    """An EnvVar; an empty value is left out, as Go leaves it out."""
    reference: dict[str, Json]
    match source:
        case m.EnvLiteral(value):
            return {"name": name, "value": value} if value else {"name": name}
        case m.EnvField(path):
            reference = {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}
        case m.EnvResource(resource, divisor, container):
            of: dict[str, Json] = {} if container is None else {"containerName": container}
            reference = {"resourceFieldRef": {**of, "resource": resource, "divisor": divisor or "0"}}
        case m.EnvConfig(config, key, optional):
            reference = {"configMapKeyRef": _key_reference(config, key, optional)}
        case m.EnvSecret(secret, key, optional):
            reference = {"secretKeyRef": _key_reference(secret, key, optional)}
        case _:
            assert_never(source)
    return {"name": name, "valueFrom": reference}


def _key_reference(name: str, key: str, optional: bool | None) -> dict[str, Json]:
    return {"name": name, "key": key} | ({} if optional is None else {"optional": optional})


def toleration_item(toleration: m.Toleration) -> dict[str, Json]:
    """A Toleration without what is empty."""
    value: dict[str, Json] = {
        "key": toleration.key,
        "operator": toleration.operator,
        "value": toleration.value,
        "effect": toleration.effect,
    }
    value = {key: part for key, part in value.items() if part}
    if toleration.seconds is not None:
        value["tolerationSeconds"] = toleration.seconds
    return value


def requirement_item(requirement: Requirement) -> dict[str, Json]:
    """A requirement of a selector; `Exists` and its opposite have no values."""
    value: dict[str, Json] = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        value["values"] = list(requirement.values)
    return value


def stored_source(source: dict[str, Json]) -> dict[str, Json]:
    """A volume source with the defaults that the API server fills in (`SetDefaults_Volume` and its kin)."""
    stored: dict[str, Json] = {}
    for kind, value in source.items():
        if isinstance(value, dict) and kind in {"configMap", "secret", "downwardAPI", "projected"}:
            stored[kind] = {**value, "defaultMode": value.get("defaultMode", 420)}
        elif isinstance(value, dict) and kind == "hostPath":
            stored[kind] = {**value, "type": value.get("type", "")}
        else:
            stored[kind] = value
    return stored
