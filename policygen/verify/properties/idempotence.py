"""Admitting a result again changes nothing, nor does running every policy a second time on its own result.

The server does both: a user applies what `kubectl get -o yaml` gave back, and `reinvocationPolicy: IfNeeded`
runs a policy again after its own change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.policy import BoundPolicy
from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.merge.diff import Change, diff
from policygen.verify.expect import show_changes
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.world import Trial, World, example

NAME = "idempotent"


def check(world: World) -> PropertyResult:
    """One finding per policy and way of repeating."""
    return PropertyResult(NAME, world.subject.version, len(world.trials), tuple(_findings(world)))


def _findings(world: World) -> Iterator[Finding]:
    repeated = world.cluster.running(
        tuple(_reinvoked(entry) for entry in world.cluster.mutating_policies),
        world.cluster.validating_policies,
    )
    seen: set[tuple[str, str]] = set()
    for trial, outcome in zip(world.trials, world.outcomes, strict=True):
        if trial.request.operation != "CREATE" or not outcome.allowed or outcome.object is None:
            continue
        for how, cluster, first in (
            ("the result is admitted again", world.cluster, outcome),
            ("a policy runs again on its own result", repeated, None),
        ):
            changes = _again(cluster, trial, first) if first is not None else _twice(repeated, trial, outcome)
            if changes:
                policy = _culprit(world, trial, outcome)
                if (policy, how) not in seen:
                    seen.add((policy, how))
                    yield _finding(world, trial, policy, how, changes)


def _reinvoked(entry: BoundPolicy) -> BoundPolicy:
    return BoundPolicy(replace(entry.policy, reinvoke=True), entry.bindings)


def _again(cluster: Cluster, trial: Trial, outcome: Outcome) -> list[Change]:
    """What changes when the result is created once more; without a second answer, nothing is said here."""
    assert outcome.object is not None
    sent = example(outcome.object)
    second = admit(cluster, trial.sending(sent).request)
    if not second.allowed or second.object is None:
        return []
    return diff(sent, example(second.object))


def _twice(cluster: Cluster, trial: Trial, outcome: Outcome) -> list[Change]:
    """What changes when every policy may run again."""
    assert outcome.object is not None
    second = admit(cluster, trial.request)
    if not second.allowed or second.object is None:
        return []
    return diff(example(outcome.object), example(second.object))


def _culprit(world: World, trial: Trial, outcome: Outcome) -> str:
    """The policy that alone shows it, else the first that changed the object."""
    mutated = [verdict.policy for verdict in outcome.verdicts if verdict.kind == "mutated"]
    for entry in world.cluster.mutating_policies:
        if entry.policy.name in mutated:
            alone = world.with_policies([_reinvoked(entry)])
            if _repeats(alone, trial):
                return entry.policy.name
    return mutated[0] if mutated else ""


def _repeats(cluster: Cluster, trial: Trial) -> bool:
    outcome = admit(cluster, trial.request)
    return outcome.allowed and outcome.object is not None and bool(_again(cluster, trial, outcome))


def _finding(world: World, trial: Trial, policy: str, how: str, changes: list[Change]) -> Finding:
    alone = world.with_policies(
        [_reinvoked(entry) for entry in world.cluster.mutating_policies if entry.policy.name == policy]
    )
    smallest = shrink(trial.object, lambda obj: _repeats(alone, trial.sending(obj)))
    rule = world.subject.rule_of(policy)
    diagnostic = make(
        "error",
        "verify-not-idempotent",
        f"`{rule}` is not idempotent: when {how}, the object changes once more",
        world.subject.span_of(policy),
        notes=[f"on {trial.title}:\n{show_changes(changes)}"],
        help=["guard the mutation so that it does nothing when its result already holds"],
    )
    return Finding(diagnostic, policy, smallest, tuple(changes))
