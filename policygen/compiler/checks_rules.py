"""Checks of rules: what two of them would fight about, what cannot be changed later, what is asked for twice.

The order of admission policies is not defined. Two rules that give one field different values on the same
pod therefore have no defined result, whatever they do on conflict, and are an error unless it can be shown
that no pod matches both.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from policygen.compiler.model import Claim, Model
from policygen.compiler.model_actions import (
    Action,
    AddPodAffinity,
    AddSharedMemory,
    AddSpread,
    AddToleration,
    AddVolume,
    Containers,
    InjectClaim,
    ReplaceLimits,
    Rule,
    SetAnnotation,
    SetEnv,
    SetLabel,
    SetNodeSelector,
    SetPriority,
    SetRuntimeClass,
    SetSchedulerName,
    SetSecurityContext,
    SetUserNamespace,
)
from policygen.compiler.model_match import Match, Owner, Requirement, Uses
from policygen.compiler.resolve_match import IMPLICIT_PREFIX
from policygen.diagnostics import Diagnostics, Label, Span, make, suggestion
from policygen.dra import catalogue
from policygen.kube import versions

SHARED_MEMORY_PATH = "/dev/shm"  # noqa: S108 - a path in the container
_ANY = Containers(None, (), init=True)


@dataclass(frozen=True, slots=True)
class Write:
    """One field that a rule sets, and to what."""

    field: str
    value: object
    containers: Containers
    span: Span


def writes(action: Action) -> Iterator[Write]:
    """The fields that an action sets for itself. What only adds to a list cannot conflict."""
    span = action.span
    match action:
        case SetUserNamespace():
            yield Write("`hostUsers`", action.enabled, _ANY, span)
        case SetPriority():
            yield Write("the priority class", action.class_name, _ANY, span)
        case SetSchedulerName():
            yield Write("`schedulerName`", action.name, _ANY, span)
        case SetRuntimeClass():
            yield Write("`runtimeClassName`", action.name, _ANY, span)
        case SetNodeSelector():
            yield Write(f"node selector `{action.key}`", action.value, _ANY, span)
        case SetLabel():
            yield Write(f"label `{action.key}`", action.value, _ANY, span)
        case SetAnnotation():
            yield Write(f"annotation `{action.key}`", action.value, _ANY, span)
        case SetSecurityContext():
            owner = "the pod's" if action.containers is None else "containers'"
            name = f"{owner} security context `{'.'.join(action.path)}`"
            yield Write(name, repr(action.value), action.containers or _ANY, span)
        case AddSpread():
            value = (action.max_skew, action.grouping, action.min_domains, action.when_unsatisfiable)
            yield Write(f"spread over `{action.over}`", value, _ANY, span)
        case AddPodAffinity():
            kind = "anti-affinity" if action.anti else "affinity"
            strength = "required" if action.weight is None else "preferred"
            name = f"{strength} pod {kind} over `{action.over}`"
            yield Write(name, (action.grouping, action.weight), _ANY, span)
        case _:
            yield from _container_writes(action)


def _container_writes(action: Action) -> Iterator[Write]:
    span = action.span
    match action:
        case SetEnv():
            yield Write(f"variable `{action.name}`", action.source, action.containers, span)
        case InjectClaim():
            yield Write(f"claim `{action.claim.name}`", action.claim.template, _ANY, span)
        case ReplaceLimits():
            claims = tuple((count, claim.template) for count, claim in action.by_count)
            yield Write(f"the claim for `{action.resource}`", claims, _ANY, span)
        case AddVolume():
            yield Write(f"volume `{action.name}`", repr(action.source), _ANY, span)
            for mount in action.mounts:
                what = (action.name, mount.read_only, mount.sub_path)
                yield Write(f"the mount at `{mount.path}`", what, mount.containers, span)
        case AddSharedMemory():
            yield Write(f"the mount at `{SHARED_MEMORY_PATH}`", action.size, action.containers, span)
        case _:
            return


def check_writes_within_rule(model: Model, found: Diagnostics) -> None:
    """One rule gives one field one value."""
    for rule in model.rules:
        seen: dict[str, list[Write]] = defaultdict(list)
        for write in _writes_of(rule):
            for first in seen[write.field]:
                if first.value != write.value and _containers_meet(first.containers, write.containers):
                    found.error(
                        "conflicting-value",
                        f"rule `{rule.name}` sets {write.field} twice",
                        write.span,
                        related=[Label(first.span, "and here")],
                    )
                    break
            seen[write.field].append(write)


def check_conflicts(model: Model, found: Diagnostics) -> None:
    """Two rules that may match one pod agree about what they both set."""
    by_field: dict[str, list[tuple[Rule, Write]]] = defaultdict(list)
    for rule in model.rules:
        if rule.rollout == "enforce":
            for write in _writes_of(rule):
                by_field[write.field].append((rule, write))
    for entries in by_field.values():
        if any(write.value != entries[0][1].value for _, write in entries):
            _check_field(entries, found)


def _check_field(entries: list[tuple[Rule, Write]], found: Diagnostics) -> None:
    for index, (rule, write) in enumerate(entries):
        for other, first in entries[:index]:
            if other is rule or first.value == write.value:
                continue
            if not _containers_meet(first.containers, write.containers) or disjoint(other.match, rule.match):
                continue
            found.error(
                "conflicting-rules",
                f"rules `{other.name}` and `{rule.name}` set {write.field} differently, maybe on one pod",
                write.span,
                related=[Label(first.span, f"set here by `{other.name}`")],
                notes=["policies run in no defined order, so either of the two could win"],
                help=["let the rules match by different namespaces or label values, or join them"],
            )
            break


def _writes_of(rule: Rule) -> Iterator[Write]:
    for action in rule.actions:
        yield from writes(action)


def _containers_meet(one: Containers, other: Containers) -> bool:
    return one.names is None or other.names is None or bool(set(one.names) & set(other.names))


# --- can one pod match both? -------------------------------------------------------------------------------


def disjoint(one: Match, other: Match) -> bool:
    """Whether certainly no object matches both."""
    left, right = one.namespaces, other.namespaces
    if left.names is not None and right.names is not None and not set(left.names) & set(right.names):
        return True
    if left.names is not None and set(left.names) <= set(right.exclude):
        return True
    if right.names is not None and set(right.names) <= set(left.exclude):
        return True
    if not set(one.workloads) & set(other.workloads) or not set(one.operations) & set(other.operations):
        return True
    return (
        _contradict(one.labels, other.labels)
        or _contradict(left.requirements, right.requirements)
        or _owners_differ(one.owner, other.owner)
    )


def _contradict(one: Iterable[Requirement], other: Iterable[Requirement]) -> bool:
    return any(_excludes(a, b) or _excludes(b, a) for a in one for b in other if a.key == b.key)


def _excludes(a: Requirement, b: Requirement) -> bool:
    if a.operator == "DoesNotExist":
        return b.operator in {"In", "Exists"}
    if a.operator == "In" and b.operator == "In":
        return not set(a.values) & set(b.values)
    return a.operator == "In" and b.operator == "NotIn" and set(a.values) <= set(b.values)


def _owners_differ(one: Owner | None, other: Owner | None) -> bool:
    if one is None or other is None:
        return False
    if not one.kinds or not other.kinds:
        return bool(one.kinds) != bool(other.kinds)
    return not set(one.kinds) & set(other.kinds)


# --- one rule alone ----------------------------------------------------------------------------------------


def check_updates(model: Model, found: Diagnostics) -> None:
    """Of a pod that exists nearly nothing can be changed (`ValidatePodUpdate`)."""
    for rule in model.rules:
        if "Pod" not in rule.match.workloads or "UPDATE" not in rule.match.operations:
            continue
        for action in rule.actions:
            if not isinstance(action, SetLabel | SetAnnotation | AddToleration):
                found.error(
                    "immutable-on-update",
                    f"rule `{rule.name}` would change pods on update, which the API server refuses",
                    action.span,
                    notes=["of an existing pod only labels, annotations and added tolerations can change"],
                    help=["match `operation: [CREATE]`"],
                )
                break


def check_double_booking(model: Model, found: Diagnostics) -> None:
    """A container with both a limit and a claim gets two sets of devices."""
    claims = {claim.name: claim for claim in model.claims}
    for rule in model.rules:
        for action in rule.actions:
            if not isinstance(action, InjectClaim):
                continue
            claim = claims[action.claim.name]
            devices = [item.device for request in claim.requests for item in request.alternatives]
            stands_for = {device.extended_resource for device in devices}
            stands_for |= {catalogue.extended_resource(device.driver) for device in devices}
            limits = {resource for uses in rule.match.uses for resource in uses.resources}
            both = sorted(resource for resource in limits & stands_for if resource)
            if both:
                found.warning(
                    "double-booking",
                    f"pods with a limit of `{both[0]}` keep it beside the claim, and get devices twice",
                    action.span,
                    help=[f"add `replaces: {both[0]}` to `spec.claims.{claim.name}`"],
                )
            elif rule.match.uses and _only_own_result(rule, action.claim.template):
                found.error(
                    "matches-own-result",
                    f"rule `{rule.name}` matches only pods that have the claim already that it adds",
                    action.span,
                    notes=["nothing that users write stands for the device of `uses`"],
                    help=["match by labels, or by `uses: {resource: …}`"],
                )


def check_moves(model: Model, found: Diagnostics) -> None:
    """A rule that moves limits must match pods that have them."""
    for rule in model.rules:
        for action in rule.actions:
            if not isinstance(action, ReplaceLimits) or not rule.match.uses:
                continue
            if not any(action.resource in uses.resources for uses in rule.match.uses):
                uses = rule.match.uses[0]
                found.warning(
                    "replaces-nothing",
                    f"rule `{rule.name}` matches by `{uses.subject}`, and its claim replaces limits of "
                    f"`{action.resource}`: nothing would be moved",
                    uses.span,
                    related=[Label(action.span, "the claim")],
                    help=[f"match by `uses: {{resource: {action.resource}}}`"],
                )


def check_namespaces(model: Model, found: Diagnostics) -> None:
    """Namespaces that are probably a tenant's, misspelt: the rule would be for none."""
    owned = {namespace for tenant in model.tenants for namespace in (tenant.name, *tenant.namespaces)}
    for rule in model.rules:
        for name in rule.match.namespaces.names or ():
            meant = (
                None if name in owned else next((own for own in sorted(owned) if _misspelt(name, own)), None)
            )
            if meant is not None:
                message = f"rule `{rule.name}` is for namespace `{name}`, which is no tenant's"
                help = [f"did you mean `{meant}`?"]
                found.add(make("note", "undeclared-name", message, rule.match.namespaces.span, help=help))


def _misspelt(name: str, meant: str) -> bool:
    """Whether one word of a name is nearly that of another: `team-visoin`, but not `team-b` or `node2`."""
    words = list(zip(name.split("-"), meant.split("-"), strict=False))
    differing = [(one, other) for one, other in words if one != other]
    if name.count("-") != meant.count("-") or len(differing) != 1:
        return False
    one, other = differing[0]
    letters = one.isalpha() and other.isalpha() and min(len(one), len(other)) >= 4
    return letters and suggestion(one, [other]) is not None


def check_ambiguous_use(model: Model, found: Diagnostics) -> None:
    """A limit that stands for a device must not become a claim without it: the pod would stop to match.

    Whether a rule sees the pod before or after the limit moves depends on the order of policies.
    """
    moves = [
        (rule, action) for rule in model.rules for action in rule.actions if isinstance(action, ReplaceLimits)
    ]
    for rule in model.rules:
        for uses in dict.fromkeys(_uses_of(rule)):
            for mover, action in moves:
                others = [ref for _, ref in action.by_count if ref.template not in uses.templates]
                if action.resource in uses.resources and others and not disjoint(rule.match, mover.match):
                    found.error(
                        "ambiguous-use",
                        f"a limit of `{action.resource}` may become claim `{others[0].name}`, "
                        f"which is no use of `{uses.subject}`",
                        uses.span,
                        related=[Label(action.span, f"moved here, by rule `{mover.name}`")],
                        notes=["policies run in no defined order: this rule may see the limit or the claim"],
                        help=[f"match by `uses: {{resource: {action.resource}}}`, or by labels"],
                    )
                    break


def _uses_of(rule: Rule) -> Iterator[Uses]:
    """What a rule matches by, and by what its actions choose containers."""
    yield from rule.match.uses
    for action in rule.actions:
        for write in writes(action):
            yield from write.containers.uses


def check_plain_counts(model: Model, found: Diagnostics) -> None:
    """Limits that only become the same count of devices: the class can serve them without a claim."""
    if not versions.enabled("DRAExtendedResource", model.kubernetes):
        return
    claims = {claim.name: claim for claim in model.claims}
    for rule in model.rules:
        for action in rule.actions:
            if isinstance(action, ReplaceLimits):
                _check_plain_count(action, [claims[ref.name] for _, ref in action.by_count], found)


def _check_plain_count(action: ReplaceLimits, used: list[Claim], found: Diagnostics) -> None:
    devices = {claim.requests[0].alternatives[0].device.name for claim in used if _is_plain(claim)}
    if len(devices) != 1 or not all(_is_plain(claim) for claim in used):
        return
    message = f"these claims only count devices: `{devices.pop()}` can serve the limits itself"
    notes = ["that needs neither a template in every namespace nor a change of pods"]
    help = [f"add `extendedResource: {action.resource}` to the device, and drop the claim"]
    found.add(make("note", "plain-count", message, action.span, notes=notes, help=help))


def _is_plain(claim: Claim) -> bool:
    ways = [item for request in claim.requests for item in request.alternatives]
    return (
        len(ways) == 1
        and not claim.constraints
        and not claim.configs
        and not (ways[0].conditions or ways[0].cel or ways[0].capacity or ways[0].tolerations)
    )


def _only_own_result(rule: Rule, template: str) -> bool:
    return any(
        set(uses.templates) <= {template} and all(r.startswith(IMPLICIT_PREFIX) for r in uses.resources)
        for uses in rule.match.uses
    )
