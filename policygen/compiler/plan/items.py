"""Items of lists: appended unless one with the same identity is there, replaced in place when told.

The wanted items are a variable; in expressions `have` is an item of the pod and `wanted` one of ours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from policygen.compiler import ir
from policygen.compiler.model_actions import Json
from policygen.compiler.plan import predicates
from policygen.compiler.plan.draft import (
    Check,
    Draft,
    Op,
    any_container,
    any_pod,
    apply_object,
    concatenated,
    container_ops,
    container_parents,
    no_pod,
    parents,
    pod_ops,
)
from policygen.compiler.plan.forms import may_apply, merges_by, typed
from policygen.compiler.plan.leaves import skipped
from policygen.compiler.plan.selections import as_list, by_path
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import all_of, bracket, call, joined, literal, none_of, ternary
from policygen.compiler.plan.variables import Variables
from policygen.kube.catalog import Catalog


@dataclass(frozen=True, slots=True)
class _Lists:
    """A list of the pod or container, and the wanted items, as expressions."""

    node: ir.Items
    target: Target
    have: str
    wanted: str


def plan(node: ir.Items, target: Target, variables: Variables, catalog: Catalog, limit: str) -> Draft:
    """One mutation for the items of one list."""
    origins = tuple(item.origin for item in node.items)
    values: list[Json] = [item.value for item in node.items]
    wanted = variables.add(_name(node), literal(values), origins)
    match node.place:
        case ir.InContainers():
            lists = _Lists(node, target, target.items(node.path, "container"), wanted)
            return _in_containers(lists, node.place, variables, catalog, limit)
        case ir.InPod():
            lists = _Lists(node, target, target.items(node.path), wanted)
            return _in_pod(lists, variables, catalog, limit)


def _in_pod(lists: _Lists, variables: Variables, catalog: Catalog, limit: str) -> Draft:
    node, target = lists.node, lists.target
    origins = tuple(item.origin for item in node.items)
    guard = all_of([limit, predicates.guard(node.guard, target, variables)])
    judged = all_of([limit, predicates.guard(_judged(node.guard), target, variables)])
    rejects = _rejects(node, no_pod(target, all_of([judged, _conflict(lists)])))
    reports = skipped(node.guard, target, limit, origins)
    missing, incomplete = _missing(lists), _incomplete(lists)
    if target.single is not None and node.on_conflict != "replace":
        name = _name(node)
        missing = variables.add(f"missing{name[:1].upper()}{name[1:]}", missing, origins)
        incomplete = f"{missing}.size() > 0"
    test = all_of([guard, incomplete])
    if _may_apply(node, target, catalog, node.path):
        objects = _objects(node, missing, ".".join((target.type_name, *node.path)))
        expression = ternary(test, apply_object(target, node.path, objects), "Object{}")
        return Draft("ApplyConfiguration", expression, test, origins, rejects, reports)
    ops = parents(target, node.path, guard)
    ops.append(Op("add", node.path, _result(lists, missing), test))
    expression = concatenated(pod_ops(target, ops))
    return Draft("JSONPatch", expression, any_pod(target, test), origins, rejects, reports)


def _in_containers(
    lists: _Lists, place: ir.InContainers, variables: Variables, catalog: Catalog, limit: str
) -> Draft:
    node, target = lists.node, lists.target
    origins = tuple(item.origin for item in node.items)
    test, missing = _incomplete(lists), _missing(lists)
    path = ("spec", "containers", "[]", *node.path)
    if not place.containers.init and _may_apply(node, target, catalog, path):
        values = as_list(place.containers, target, variables, origins)
        changes = all_of([limit, call(values, "exists", ("container",), test)])
        type_name = f"{target.type_name}.spec.containers"
        objects = _objects(node, missing, ".".join((type_name, *node.path)))
        body = bracket(f"{type_name}{{", ["name: container.name", f"{node.path[-1]}: {objects}"], "}")
        some = call(values, "filter", ("container",), test)
        patch = apply_object(target, ("spec", "containers"), call(some, "map", ("container",), body))
        conflict = call(values, "exists", ("container",), _conflict(lists))
        rejects = _rejects(node, none_of(all_of([limit, conflict])))
        return Draft("ApplyConfiguration", ternary(changes, patch, "Object{}"), changes, origins, rejects)
    selection = by_path(place.containers, target, variables, origins)
    ops = container_parents(target, node.path)
    ops.append(Op("add", node.path, _result(lists, missing), test))
    expression = concatenated(container_ops(selection, ops))
    if limit != "true":
        expression = ternary(limit, f"({expression})", "[]")
    changes = all_of([limit, any_container(selection, test)])
    conflict = any_container(selection, _conflict(lists))
    rejects = _rejects(node, none_of(all_of([limit, conflict])))
    return Draft("JSONPatch", expression, changes, origins, rejects)


# --- what is there -----------------------------------------------------------------------------------------


def _identity(lists: _Lists) -> str:
    """Whether `have` and `wanted` are the same item."""
    identity = lists.node.identity
    match identity:
        case "whole" | "toleration":
            return "have == wanted"
        case "name" | "mountPath" | "topologyKey":
            return f"{_field(lists, identity)} == wanted.{identity}"
        case "affinity":
            return f"{_field(lists, 'podAffinityTerm', 'topologyKey')} == wanted.podAffinityTerm.topologyKey"
        case "preference":
            return f"{_field(lists, 'preference')} == wanted.preference"


def _field(lists: _Lists, *steps: str) -> str:
    """A required field of `have`. Custom kinds are validated after the policy: there it may be missing."""
    if lists.target.custom:
        return "have" + "".join(f".?{step}" for step in steps) + ".orValue(null)"
    return ".".join(("have", *steps))


def _there(lists: _Lists) -> str:
    """Whether `have` makes `wanted` superfluous: the same item, or a toleration that covers it."""
    if lists.node.identity != "toleration":
        return _identity(lists)
    wider = [
        "!have.?tolerationSeconds.hasValue()",
        "!wanted.?tolerationSeconds.hasValue()",
        "have.?operator.orValue('Equal') == 'Exists'",
        "have.?key.orValue(wanted.?key.orValue('')) == wanted.?key.orValue('')",
        "have.?effect.orValue(wanted.?effect.orValue('')) == wanted.?effect.orValue('')",
    ]
    return joined(["have == wanted", bracket("(", [all_of(wider)], ")")], "||")


def _same(lists: _Lists) -> str:
    """Whether an item of the same identity is also equal.

    Of terms that count pods, the selector's expressions are not compared: the API server writes the values of
    `matchLabelKeys` into them.
    """
    node = lists.node
    if node.identity not in {"topologyKey", "affinity"}:
        return "have == wanted"
    inside = ("podAffinityTerm",) if node.identity == "affinity" else ()
    fields = {key for item in node.items for key in _keys(item.value, inside)} | {"matchLabelKeys"}
    paths = [(*inside, field) for field in sorted(fields - {"labelSelector", "topologyKey"})]
    paths.append((*inside, "labelSelector", "matchLabels"))
    if node.identity == "affinity":
        paths.append(("weight",))
    return all_of(f"{_optional('have', path)} == {_optional('wanted', path)}" for path in paths)


def _keys(value: dict[str, Json], inside: tuple[str, ...]) -> list[str]:
    inner: Json = value
    for step in inside:
        inner = inner[step] if isinstance(inner, dict) else None
    return list(inner) if isinstance(inner, dict) else []


def _optional(item: str, path: tuple[str, ...]) -> str:
    return item + "".join(f".?{step}" for step in path)


def _incomplete(lists: _Lists) -> str:
    """Whether some wanted item is missing, or on `replace` differs."""
    if lists.node.on_conflict != "replace":
        return f"!{call(lists.wanted, 'all', ('wanted',), _exists(lists))}"
    ours = call(lists.have, "filter", ("have",), _identity(lists))
    same = _same(lists)
    fine = (
        f"{ours} == [wanted]"
        if same == "have == wanted"
        else f"{call(ours, 'map', ('have',), same)} == [true]"
    )
    return f"!{call(lists.wanted, 'all', ('wanted',), fine)}"


def _exists(lists: _Lists) -> str:
    return call(lists.have, "exists", ("have",), _there(lists))


def _missing(lists: _Lists) -> str:
    return call(lists.wanted, "filter", ("wanted",), f"!{_exists(lists)}")


def _result(lists: _Lists, missing: str) -> str:
    """The whole list as it must be."""
    have, wanted, identity = lists.have, lists.wanted, _identity(lists)
    if lists.node.on_conflict != "replace":
        return joined([have, missing], "+")
    if lists.node.identity in {"name", "mountPath"}:
        ours = f"{wanted}.exists(wanted, {identity})"
        value = ternary(ours, f"dyn({wanted}.filter(wanted, {identity})[0])", "have")
        return joined([call(have, "map", ("have",), value), missing], "+")
    others = call(have, "filter", ("have",), f"!{wanted}.exists(wanted, {identity})")
    return joined([others, wanted], "+")


def _objects(node: ir.Items, missing: str, type_name: str) -> str:
    """The missing items as apply configurations."""
    if len(node.items) == 1:
        return typed(type_name, [node.items[0].value])
    keys = dict.fromkeys(key for item in node.items for key in item.value)
    fields = []
    for key in keys:
        sure = all(key in item.value for item in node.items)
        fields.append(f"{key}: wanted.{key}" if sure else f"?{key}: wanted.?{key}")
    return call(missing, "map", ("wanted",), bracket(type_name + "{", fields, "}"))


def _conflict(lists: _Lists) -> str:
    other = all_of([_identity(lists), none_of(_same(lists))])
    return call(lists.have, "exists", ("have",), call(lists.wanted, "exists", ("wanted",), other))


def _judged(guard: ir.Guard | None) -> ir.Guard | None:
    """The guard once the rule has run: a mount is there then, by the user or by us."""
    return replace(guard, unless_mounted=None) if isinstance(guard, ir.SomeContainer) else guard


def _rejects(node: ir.Items, fine: str) -> tuple[Check, ...]:
    if node.on_conflict != "reject":
        return ()
    origins = tuple(item.origin for item in node.items)
    words = ", ".join(origin.text for origin in origins)
    where = "a container" if isinstance(node.place, ir.InContainers) else "the pod"
    return (Check(fine, f"{where} has another {words}", origins),)


# --- forms and names ---------------------------------------------------------------------------------------


def _may_apply(node: ir.Items, target: Target, catalog: Catalog, path: tuple[str, ...]) -> bool:
    """Merging by key is appending unless there; several items are built from a variable, field by field."""
    if node.identity not in {"name", "mountPath"} or node.on_conflict == "replace":
        return False
    values: list[Json] = [item.value for item in node.items]
    nested = any(isinstance(part, (dict, list)) for item in node.items for part in item.value.values())
    if len(values) > 1 and nested:
        return False
    return merges_by(path, node.identity, target, catalog) and may_apply(
        path, values, node.on_conflict, target, catalog
    )


_SHORT = {
    "topologySpreadConstraints": "spread",
    "preferredDuringSchedulingIgnoredDuringExecution": "preferred",
    "requiredDuringSchedulingIgnoredDuringExecution": "required",
}


def _name(node: ir.Items) -> str:
    last = _SHORT.get(node.path[-1], node.path[-1])
    if last in {"preferred", "required"}:
        side = node.path[-2]
        return last + side[:1].upper() + side[1:]
    return last
