"""The result does not depend on the order of policies, which the server does not define.

Tried are all pairs in which one policy writes what the other reads or writes, alone and in both orders, and
the permutations of larger groups that meet each other, up to a bound. Lists in which order means nothing
(tolerations, volumes, …) are compared without it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations, islice, permutations
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.policy import BoundPolicy
from policygen.admission.request import Object
from policygen.admission.server import admit
from policygen.diagnostics import Label, make
from policygen.merge.diff import Change, diff
from policygen.verify import analysis
from policygen.verify.analysis import Effects, Path
from policygen.verify.describe import as_yaml, listed
from policygen.verify.expect import show_changes
from policygen.verify.facts import PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.variants import pod_specs, replaced
from policygen.verify.world import Attempt, Trial, World, example

NAME = "order-independent"
MAX_TRIALS: Final = 100
"""Objects tried for one pair."""
MAX_PERMUTATIONS: Final = 24
"""Orders tried of one group of policies that meet each other."""

_UNORDERED: Final = frozenset(
    {
        "claims",
        "imagePullSecrets",
        "matchExpressions",
        "matchLabelKeys",
        "nodeSelectorTerms",
        "ports",
        "preferredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "resourceClaims",
        "schedulingGates",
        "tolerations",
        "topologySpreadConstraints",
        "volumeMounts",
        "volumes",
    }
)
"""Lists of a pod spec in which the order of items means nothing to Kubernetes."""


def check(world: World) -> PropertyResult:
    """One finding per pair, or per group whose pairs are all sound."""
    facts = [known for known in world.facts if known.policy.mutating and known.bound]
    meeting = [pair for pair in combinations(facts, 2) if _meet(*pair)]
    tried = 0
    findings: list[Finding] = []
    for left, right in meeting:
        pair = (world.mutating[left.name], world.mutating[right.name])
        relevant = (attempt for attempt in world.attempts if _is_relevant(attempt, left, right))
        for attempt in islice(relevant, MAX_TRIALS):
            tried += 1
            finding = _compare(world, attempt.trial, pair, (pair[1], pair[0]))
            if finding is not None:
                findings.append(finding)
                break
    if not findings:
        for group in _groups(meeting):
            finding, orders = _permute(world, group)
            tried += orders
            findings += [finding] if finding is not None else []
    skipped = "" if tried else "no object has two policies that meet in a field"
    return PropertyResult(NAME, world.subject.version, tried, tuple(findings), skipped=skipped)


def _permute(world: World, group: Sequence[str]) -> tuple[Finding | None, int]:
    """The first order of a group that gives another result, and how many were tried."""
    members = [world.mutating[name] for name in group]
    tried = 0
    for attempt in world.attempts:
        if len(attempt.applied & set(group)) < 3:
            continue
        for order in islice(permutations(members), 1, MAX_PERMUTATIONS):
            tried += 1
            finding = _compare(world, attempt.trial, members, order)
            if finding is not None:
                return finding, tried
    return None, tried


def _is_relevant(attempt: Attempt, left: PolicyFacts, right: PolicyFacts) -> bool:
    """Whether both apply to an object, or one may once the other has run."""
    here = [known for known in (left, right) if known.name in attempt.applied]
    if len(here) != 1:
        return len(here) == 2
    other = right if here[0] is left else left
    for verdict in attempt.outcome.verdicts:
        if verdict.policy == other.name and verdict.mutating:
            if verdict.kind == "skipped":
                return any(_writes_into(here[0], known.effects) for known in other.of("condition"))
            if verdict.detail.startswith("matchConstraints.objectSelector"):
                return bool(analysis.meets(here[0].effects.writes, _selected(other)))
    return False


def _meet(left: PolicyFacts, right: PolicyFacts) -> bool:
    return _reaches(left, right) or _reaches(right, left)


def _reaches(writer: PolicyFacts, other: PolicyFacts) -> bool:
    touched = other.effects.writes | _selected(other)
    return _writes_into(writer, other.effects) or bool(analysis.meets(writer.effects.writes, touched))


def _selected(facts: PolicyFacts) -> set[Path]:
    """The labels that decide whether a policy matches."""
    return {("metadata", "labels", each.key) for each in facts.policy.match.object_selector.requirements}


def _writes_into(writer: PolicyFacts, effects: Effects) -> bool:
    return bool(analysis.meets(writer.effects.writes, analysis.object_reads(effects)))


def _groups(meeting: Sequence[tuple[PolicyFacts, PolicyFacts]]) -> list[tuple[str, ...]]:
    """Policies that are connected by pairs, three and more together."""
    groups: list[set[str]] = []
    for left, right in meeting:
        joined = {left.name, right.name}
        for group in [group for group in groups if group & joined]:
            joined |= group
            groups.remove(group)
        groups.append(joined)
    return [tuple(sorted(group)) for group in groups if len(group) > 2]


def _compare(
    world: World, trial: Trial, first: Sequence[BoundPolicy], second: Sequence[BoundPolicy]
) -> Finding | None:
    one, two = world.alone(first), world.alone(second)
    changes, refused = difference(one, two, trial)
    if not changes and not refused:
        return None

    def shows(obj: dict[str, Any]) -> bool:
        sent = trial.sending(obj)
        return any(difference(one, two, sent)) and admit(world.lenient, sent.request).allowed

    smallest = shrink(trial.object, shows)
    orders = [" before ".join(f"`{entry.policy.name}`" for entry in order) for order in (first, second)]
    names = list(dict.fromkeys(world.subject.rule_of(entry.policy.name) for entry in first))
    related = [
        Label(span, "and this one")
        for entry in first[1:]
        if (span := world.place(entry.policy.name)) is not None
    ]
    field = changes[0].path if changes else "whether the request is accepted"
    diagnostic = make(
        "error",
        "verify-order",
        f"the order of {listed(names)} decides `{field}`",
        world.place(first[0].policy.name),
        "this policy",
        related=related,
        notes=[
            f"on {trial.title}, {orders[0]} (-) or {orders[1]} (+):\n{refused or show_changes(changes)}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
            "the API server does not define an order of policies",
        ],
        help=["let only one of them write the field, or guard each so that both orders end alike"],
    )
    return Finding(diagnostic, first[0].policy.name, smallest, tuple(changes))


def difference(one: Cluster, two: Cluster, trial: Trial) -> tuple[list[Change], str]:
    """What two servers make of an object, or how their verdicts differ."""
    left, right = admit(one, trial.request), admit(two, trial.request)
    if left.allowed != right.allowed:
        return [], f"- {_verdict(left)}\n+ {_verdict(right)}"
    one_object, two_object = left.object or left.seen or {}, right.object or right.seen or {}
    return diff(normal(example(one_object)), normal(example(two_object))), ""


def normal(obj: Object) -> Object:
    """An object whose pod specs have their unordered lists sorted. What custom kinds add is left as it is."""
    for steps, spec in list(pod_specs(obj)):
        obj = replaced(obj, steps, _sorted(spec))
    return obj


def _verdict(outcome: Outcome) -> str:
    return "accepted" if outcome.allowed else f"refused: {outcome.message}"


def _sorted(value: Any, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _sorted(item, name) for name, item in value.items()}
    if isinstance(value, list):
        items = [_sorted(item) for item in value]
        free = key in _UNORDERED or (
            key == "env" and not any("$(" in str(item.get("value", "")) for item in items)
        )
        return sorted(items, key=lambda item: json.dumps(item, sort_keys=True)) if free else items
    return value
