"""What rules ask for and no mutation can do: fields that a kind does not declare, and matches that depend on
the order in which the API server runs policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from policygen.compiler import ir
from policygen.compiler.model import Model
from policygen.compiler.model_actions import Rule
from policygen.compiler.model_match import Operation, Requirement
from policygen.compiler.workloads import WORKLOADS, Workload
from policygen.diagnostics import Diagnostics, Label


def check_rules(model: Model, nodes: Mapping[str, Sequence[ir.Node]], found: Diagnostics) -> None:
    """Every check of rules that needs their nodes."""
    for rule in model.rules:
        for kind in rule.match.workloads:
            _check_workload(rule, nodes[rule.name], WORKLOADS[kind], found)
            if not operations(rule, WORKLOADS[kind]):
                found.error(
                    "unsupported-on-workload",
                    f"rule `{rule.name}` is for updates, and pods of a {kind} cannot change once it exists",
                    rule.match.span,
                    help=["add `CREATE` to `operation`, or leave it out"],
                )
        _check_owner(rule, found)
    _check_labels(model, nodes, found)


def operations(rule: Rule, workload: Workload) -> tuple[Operation, ...]:
    """The operations on which a rule handles a kind: updates only where they may change pods at all."""
    updates = workload.is_pod or workload.mutable
    return tuple(operation for operation in rule.match.operations if updates or operation == "CREATE")


def _check_workload(rule: Rule, nodes: Sequence[ir.Node], workload: Workload, found: Diagnostics) -> None:
    """A custom kind may declare only some fields of a pod."""
    if workload.fields is None or workload.container_fields is None:
        return
    found.warning(
        "runtime-patches-only",
        f"rule `{rule.name}` changes a {workload.kind} only where it has runtime patches of its own",
        rule.match.span,
        notes=["its other pods come from a runtime, which this rule does not see"],
        help=["match pods as well, so that every pod is covered"],
    )
    wanted = [(field, "resources", uses.span) for uses in rule.match.uses for field in ("containers",)]
    if wanted or rule.match.images:
        span = wanted[0][2] if wanted else rule.match.images[0].span
        found.error(
            "unsupported-on-workload",
            f"a {workload.kind} does not say what its containers use: its pods come from a runtime",
            span,
            help=[f"match pods instead of `{workload.kind}`, or match its labels"],
        )
        return
    for node in nodes:
        for declared, field, origin in _fields(node, workload):
            if field not in declared:
                found.error(
                    "unsupported-on-workload",
                    f"a {workload.kind} cannot hold {origin.text}: its templates have no `{field}`",
                    origin.span,
                    help=[f"set it on pods instead of `{workload.kind}`"],
                )


def _fields(node: ir.Node, workload: Workload) -> Iterator[tuple[frozenset[str], str, ir.Origin]]:
    """The fields of the template's `spec`, and of its containers, that a node writes."""
    spec, container = workload.fields or frozenset(), workload.container_fields or frozenset()
    match node:
        case ir.Leaf(place=ir.InContainers(), path=path, origin=origin):
            yield container, path[0], origin
        case ir.Leaf(path=("spec", field, *_), origin=origin):
            yield spec, field, origin
        case ir.Items(place=ir.InContainers(), path=path, items=items):
            yield container, path[0], items[0].origin
        case ir.Items(path=("spec", field, *_), items=items):
            yield spec, field, items[0].origin
        case ir.NodeTerms(requirements=requirements):
            yield spec, "affinity", requirements[0].origin
        case ir.PriorityClass(origin=origin):
            yield spec, "priorityClassName", origin
        case ir.SharedClaim(origin=origin) | ir.MovedLimit(origin=origin):
            yield spec, "resourceClaims", origin
        case _:
            return


def _check_owner(rule: Rule, found: Diagnostics) -> None:
    """Objects with a controller are skipped for workload kinds, so an owner would match nothing."""
    others = [kind for kind in rule.match.workloads if kind != "Pod"]
    if rule.match.owner is not None and others:
        found.error(
            "owner-of-workload",
            f"`owner` is about pods, and rule `{rule.name}` is for `{others[0]}` as well",
            rule.match.owner.span,
            notes=["a workload that another one controls is never changed: its controller would fight back"],
            help=["make two rules, or drop `owner`"],
        )


def _check_labels(model: Model, nodes: Mapping[str, Sequence[ir.Node]], found: Diagnostics) -> None:
    """A rule must not match what a rule of the bundle writes: the order of policies is not defined."""
    written: dict[str, list[tuple[Rule, ir.Leaf]]] = {}
    for rule in model.rules:
        for node in nodes[rule.name]:
            if isinstance(node, ir.Leaf) and node.path[:-1] == ("metadata", "labels"):
                written.setdefault(node.path[-1], []).append((rule, node))
    for rule in model.rules:
        for requirement in rule.match.labels:
            for writer, leaf in written.get(requirement.key, ()):
                if not _harmless(requirement, leaf):
                    found.error(
                        "match-depends-on-order",
                        f"rule `{rule.name}` matches label `{requirement.key}`, "
                        f"which rule `{writer.name}` sets",
                        requirement.span,
                        related=[Label(leaf.origin.span, "set here")],
                        notes=["the API server runs policies in no defined order: either may come first"],
                        help=["match both rules by the same facts, such as `uses` or another label"],
                    )


def _harmless(requirement: Requirement, leaf: ir.Leaf) -> bool:
    """Whether setting the label never changes the answer: it is only ever set to what matched already."""
    value = str(leaf.value)
    if leaf.on_conflict == "replace":
        return False
    match requirement.operator:
        case "NotIn":
            return value not in requirement.values
        case _:
            return False
