"""Resource claims: one shared by the containers that use a device, or one for each limit that is moved."""

from __future__ import annotations

from collections.abc import Iterable

from policygen.compiler import ir
from policygen.compiler.model_actions import Containers
from policygen.compiler.plan import predicates
from policygen.compiler.plan.draft import (
    Check,
    Draft,
    Op,
    any_container,
    concatenated,
    container_ops,
    container_parents,
    no_pod,
    pod_ops,
)
from policygen.compiler.plan.selections import by_path
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import (
    all_of,
    any_of,
    bracket,
    call,
    camel,
    joined,
    none_of,
    optional,
    string,
    strings,
    ternary,
)
from policygen.compiler.plan.variables import Variables

_ENTRIES = ("spec", "resourceClaims")
_CLAIMS = ("resources", "claims")
_LABEL_LIMIT = 63
"""A claim entry's name is a DNS label."""


def plan_shared(node: ir.SharedClaim, target: Target, variables: Variables, limit: str) -> Draft:
    """A pod-level entry and a reference in each selected container, in one patch: half of it is invalid."""
    name, template = string(node.name), string(node.template)
    origins = (node.origin,)
    entries, claims = target.items(_ENTRIES), target.items(_CLAIMS, "container")
    of_template = "entry.?resourceClaimTemplateName.orValue('')"
    taken = call(entries, "exists", ("entry",), f"entry.name == {name} && {of_template} != {template}")
    served = call(
        claims,
        "exists",
        ("claim",),
        call(entries, "exists", ("entry",), f"entry.name == claim.name && {of_template} == {template}"),
    )
    chosen = predicates.chosen(node.containers, target, "container", target.pod, variables)
    lacking = all_of([limit, f"!{served}"])
    kept = call(entries, "filter", ("entry",), f"entry.name != {name}")
    if node.on_conflict != "replace":
        lacking, kept = all_of([lacking, f"!{taken}"]), entries
    variable = f"{camel(node.name)}Containers"
    selection = by_path(node.containers, target, variables, origins, only=lacking, name=variable)
    values = target.containers(init=node.containers.init)
    some = call(values, "exists", ("container",), all_of([chosen, lacking]))
    if target.single is not None:
        some = f"{selection}.size() > 0"
    ours = call(entries, "exists", ("entry",), f"entry.name == {name} && {of_template} == {template}")
    entry = f"[{{'name': {name}, 'resourceClaimTemplateName': {template}}}]"
    ops = pod_ops(target, [Op("add", _ENTRIES, joined([kept, entry], "+"), all_of([some, f"!{ours}"]))])
    reference = joined([claims, f"[{{'name': {name}}}]"], "+")
    unreferred = f"!{claims}.exists(claim, claim.name == {name})"
    inner = [*container_parents(target, _CLAIMS), Op("add", _CLAIMS, reference, unreferred)]
    expression = concatenated([*ops, *container_ops(selection, inner)])
    rejects: tuple[Check, ...] = ()
    if node.on_conflict == "reject":
        meant = "true" if chosen == "true" else call(values, "exists", ("container",), chosen)
        message = f"the pod has a claim `{node.name}` that is not from the template `{node.template}`"
        rejects = (Check(no_pod(target, all_of([limit, taken, meant])), message, origins),)
    return Draft("JSONPatch", expression, any_container(selection, "true"), origins, rejects)


def plan_moved(node: ir.MovedLimit, target: Target, variables: Variables, limit: str) -> Draft:
    """Limits become claims, in one patch: each container gets an entry, as it had devices, of its own.

    A limit with no claim for its value stays and is then rejected: devices must not be counted twice. A limit
    that comes back (server-side apply writes it anew) is moved again, to the claim of its present value.
    """
    origins = (node.origin,)
    entries, claims = target.items(_ENTRIES), target.items(_CLAIMS, "container")
    count = _count(node, target)
    claim, template = _claim(node, target, variables, origins)
    name = f"{claim[:-1]}-' + container.name" if claim.endswith("'") else f"{claim} + '-' + container.name"
    ours = bracket("[", [f"{string(one + '-')} + container.name" for one in _names(node)], "]")
    of_template = "entry.?resourceClaimTemplateName.orValue('')"
    foreign = all_of([f"entry.name == {name}", f"{of_template} != {template}"])
    movable = all_of(
        [
            limit,
            f"{count} in {strings(str(value) for value, _, _ in node.claims)}",
            f"size({name}) <= {_LABEL_LIMIT}",
            f"!{call(entries, 'exists', ('entry',), foreign)}",
        ]
    )
    everyone = Containers(None, (), node.init)
    values = target.containers(init=node.init)
    moved = call(values, "filter", ("container",), movable)
    some = call(values, "exists", ("container",), movable)
    only = movable
    if target.single is not None:
        moved = variables.add("movedContainers", moved, origins)
        some, only = f"{moved}.size() > 0", f"{moved}.exists(moved, moved.name == container.name)"
    selected = by_path(everyone, target, variables, origins, only=only, name="movedContainersByPath")
    entry = bracket("{", [f"'name': dyn({name})", f"'resourceClaimTemplateName': dyn({template})"], "}")
    stale = call(moved, "exists", ("container",), f"entry.name in {ours}")
    kept = call(entries, "filter", ("entry",), f"!{stale}")
    fresh = call(moved, "map", ("container",), entry)
    ops = pod_ops(target, [Op("add", _ENTRIES, joined([kept, fresh], "+"), some)])
    requested = f"{optional('container', ('resources', 'requests', node.resource))}.hasValue()"
    reference = f"[{{'name': {name}}}]"
    inner = [
        Op("remove", ("resources", "limits", node.resource)),
        Op("remove", ("resources", "requests", node.resource), None, requested),
        Op("add", _CLAIMS, joined([f"{claims}.filter(claim, !(claim.name in {ours}))", reference], "+")),
    ]
    expression = concatenated([*ops, *container_ops(selected, inner)])
    check = _unmoved(node, target, count, limit, movable)
    return Draft("JSONPatch", expression, any_container(selected, "true"), origins, (check,))


def _count(node: ir.MovedLimit, target: Target) -> str:
    """A container's limit as text; custom kinds keep numbers as numbers."""
    value = optional("container", ("resources", "limits", node.resource))
    return f"string({value}.orValue(dyn('0')))" if target.custom else f"{value}.orValue('0')"


def _claim(
    node: ir.MovedLimit, target: Target, variables: Variables, origins: tuple[ir.Origin, ...]
) -> tuple[str, str]:
    """Expressions of the claim's name and its template for a container that has a limit."""
    count = f"container.resources.limits[{string(node.resource)}]"
    count = f"string({count})" if target.custom else count
    if len(node.claims) == 1:
        _, name, template = node.claims[0]
        return string(name), string(template)
    names = variables.add("claimByCount", _map((value, name) for value, name, _ in node.claims), origins)
    if all(name == template for _, name, template in node.claims):
        return f"{names}[{count}]", f"{names}[{count}]"
    templates = _map((value, template) for value, _, template in node.claims)
    return f"{names}[{count}]", f"{variables.add('templateByCount', templates, origins)}[{count}]"


def _names(node: ir.MovedLimit) -> list[str]:
    """The names of the claims, each once."""
    return list(dict.fromkeys(name for _, name, _ in node.claims))


def _map(values: Iterable[tuple[int, str]]) -> str:
    return "{" + ", ".join(f"{string(str(key))}: {string(value)}" for key, value in values) + "}"


def _unmoved(node: ir.MovedLimit, target: Target, count: str, limit: str, movable: str) -> Check:
    """No container is left with a limit, and the message says which one is and what there are claims for.

    Init containers are looked at even where the rule moves none of theirs: such a limit would take devices
    beside the claims, which no quota of the class counts.
    """
    values, asks = target.containers(), f"{count} != '0'"
    left = call(values, "exists", ("container",), asks)
    counts = [str(value) for value, _, _ in node.claims]
    known = counts[0] if len(counts) == 1 else ", ".join(counts[:-1]) + " or " + counts[-1]
    message = f"a limit of `{node.resource}` must be {known}: that is what there are claims for"
    expression = None
    if target.single is not None:
        why = ternary(
            f"{count} in {strings(counts)}", string(" (the name of its claim is taken or too long)"), "''"
        )
        if not node.init:
            initial = call(
                target.items(("spec", "initContainers")), "exists", ("init",), "init.name == container.name"
            )
            why = ternary(initial, string(" (init containers get no claim)"), why)
        said = joined([f"'container `' + container.name + '` asks for ' + {count}", f"({why})"], "+")
        listed = call(call(values, "filter", ("container",), asks), "map", ("container",), said)
        tail = f" of `{node.resource}`: there are claims for {known} only"
        expression = f"{listed}.join(', ')\n+ {string(tail)}"
    elif not node.init:
        message = f"{message}, and init containers get none"
    movables = target.containers(init=node.init)
    stuck = call(movables, "exists", ("container",), all_of([asks, none_of(movable)]))
    if not node.init:
        initial = target.items(("spec", "initContainers"))
        stuck = any_of([stuck, call(initial, "exists", ("container",), asks)])
    before = no_pod(target, all_of([limit, stuck]))
    return Check(no_pod(target, all_of([limit, left])), message, (node.origin,), expression, before)
