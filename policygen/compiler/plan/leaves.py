"""Single fields: scalars, whole structs, and entries of maps such as labels."""

from __future__ import annotations

from collections.abc import Sequence

from policygen.compiler import ir
from policygen.compiler.plan import predicates
from policygen.compiler.plan.draft import (
    Check,
    Draft,
    Form,
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
from policygen.compiler.plan.forms import may_apply, typed
from policygen.compiler.plan.selections import by_path
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import (
    all_of,
    any_of,
    bracket,
    call,
    literal,
    none_of,
    optional,
    shown,
    string,
    ternary,
)
from policygen.compiler.plan.variables import Variables
from policygen.kube.catalog import Catalog

MAPS = (("metadata", "labels"), ("metadata", "annotations"), ("spec", "nodeSelector"))
"""Fields whose entries are set one by one."""


def plan(
    leaves: Sequence[ir.Leaf], target: Target, variables: Variables, catalog: Catalog, limit: str
) -> Draft:
    """One mutation for leaves that share a place, a parent, a guard and what to do on conflict.

    `limit` is a further condition that holds for the whole policy's operation (see `planner`).
    """
    first = leaves[0]
    origins = tuple(leaf.origin for leaf in leaves)
    summary = ", ".join(f"{leaf.origin.text} to `{shown(leaf.value)}`" for leaf in leaves)
    match first.place:
        case ir.InContainers(containers):
            selection = by_path(containers, target, variables, origins)
            ops = container_parents(target, first.path)
            ops += [Op("add", leaf.path, literal(leaf.value), _changes(leaf, target)) for leaf in leaves]
            changes = any_container(selection, any_of(_changes(leaf, target) for leaf in leaves))
            rejects = [
                Check(
                    none_of(any_container(selection, _conflict(leaf, target))),
                    f"a container has another {leaf.origin.text} than `{shown(leaf.value)}`",
                    (leaf.origin,),
                )
                for leaf in leaves
                if leaf.on_conflict == "reject"
            ]
            expression = concatenated(container_ops(selection, ops))
            if limit != "true":
                expression = ternary(limit, f"({expression})", "[]")
            changed = all_of([limit, changes])
            return Draft("JSONPatch", expression, changed, origins, tuple(rejects), summary=summary)
        case ir.InPod():
            guard = all_of([limit, predicates.guard(first.guard, target, variables)])
            tests = [_changes(leaf, target) for leaf in leaves]
            rejects = [
                Check(
                    no_pod(target, all_of([guard, _conflict(leaf, target)])),
                    f"the pod has another {leaf.origin.text} than `{shown(leaf.value)}`",
                    (leaf.origin,),
                )
                for leaf in leaves
                if leaf.on_conflict == "reject"
            ]
            changes = any_pod(target, all_of([guard, any_of(tests)]))
            reports = skipped(first.guard, target, limit, origins)
            if all(may_apply(leaf.path, leaf.value, leaf.on_conflict, target, catalog) for leaf in leaves):
                expression = _apply(leaves, target, variables, guard)
                form: Form = "ApplyConfiguration"
                return Draft(form, expression, changes, origins, tuple(rejects), reports, summary)
            ops = parents(target, first.path, guard)
            ops += [
                Op("add", leaf.path, literal(leaf.value), all_of([guard, test]))
                for leaf, test in zip(leaves, tests, strict=True)
            ]
            expression = concatenated(pod_ops(target, ops))
            return Draft("JSONPatch", expression, changes, origins, tuple(rejects), reports, summary)


def skipped(
    guard: ir.Guard | None, target: Target, limit: str, origins: tuple[ir.Origin, ...]
) -> tuple[Check, ...]:
    """What to tell about pods that a guard leaves out."""
    words = ", ".join(origin.text for origin in origins)
    match guard:
        case ir.HasLabels(keys):
            named = ", ".join(f"`{key}`" for key in keys)
            message = f"skipped {words}: the pod lacks one of the labels {named}"
        case ir.SharesNoHostNamespace():
            message = f"skipped {words}: the pod shares a host namespace or has a block volume"
        case _:
            return ()
    left_out = none_of(predicates.guard(guard, target))
    return (Check(no_pod(target, all_of([limit, left_out])), message, origins),)


def _current(leaf: ir.Leaf, target: Target) -> str:
    if isinstance(leaf.place, ir.InContainers):
        return optional("container", leaf.path)
    return target.optional(leaf.path)


def _changes(leaf: ir.Leaf, target: Target) -> str:
    """Whether the value must be set: when there is none, or on `replace` another one."""
    value = _current(leaf, target)
    if leaf.on_conflict == "replace":
        return f"{value} != optional.of({literal(leaf.value)})"
    if leaf.unset is not None:
        unset = string(leaf.unset)
        return f"{value}.orValue({unset}) == {unset}" if leaf.value != leaf.unset else "false"
    return target.absent(value)


def _conflict(leaf: ir.Leaf, target: Target) -> str:
    """Whether the user wrote another value."""
    value, wanted = _current(leaf, target), literal(leaf.value)
    tests = [f"{value}.orValue({wanted}) != {wanted}"]
    if leaf.unset is not None:
        unset = string(leaf.unset)
        tests.append(f"{value}.orValue({unset}) != {unset}")
    if target.custom:
        tests.append(f"{value}.orValue(null) != null")
    return all_of(tests)


def _apply(leaves: Sequence[ir.Leaf], target: Target, variables: Variables, guard: str) -> str:
    first = leaves[0]
    if len(leaves) == 1:
        keys = 1 if first.path[:-1] in MAPS else 0
        value = typed(".".join((target.type_name, *first.path)), first.value)
        wanted = apply_object(target, first.path, value, keys=keys)
        return ternary(all_of([guard, _changes(first, target)]), wanted, "Object{}")
    parent = first.path[:-1]
    values = bracket("{", [f"{string(leaf.path[-1])}: {literal(leaf.value)}" for leaf in leaves], "}")
    name = variables.add(parent[-1], values, (leaf.origin for leaf in leaves))
    have = target.optional(parent)
    missing = f"!{have}[?key].hasValue()"
    if first.on_conflict == "replace":
        missing = f"{have}[?key] != optional.of(value)"
    entries = call(name, "transformMap", ("key", "value"), missing, "value")
    wanted = apply_object(target, parent, entries)
    return wanted if guard == "true" else ternary(guard, wanted, "Object{}")
