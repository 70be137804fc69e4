"""Admitting a result again changes nothing, nor does running every policy a second time on its own result.

The server does both: a user applies what `kubectl get -o yaml` gave back, and `reinvocationPolicy: IfNeeded`
runs a policy again after its own change.
"""

from __future__ import annotations

from collections.abc import Iterator

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.merge.diff import Change, diff
from policygen.verify.describe import as_yaml
from policygen.verify.expect import show_changes
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.world import Attempt, Trial, World, example

NAME = "idempotent"
AGAIN = "its result is admitted again"
TWICE = "it runs again on its own result"


def check(world: World) -> PropertyResult:
    """One finding per policy and way of repeating."""
    tried = [attempt for attempt in world.attempts if _is_repeatable(attempt)]
    return PropertyResult(NAME, world.subject.version, len(tried), tuple(_findings(world, tried)))


def _is_repeatable(attempt: Attempt) -> bool:
    """An accepted creation; where nothing was changed, nothing is repeated."""
    return (
        attempt.trial.request.operation == "CREATE"
        and attempt.outcome.allowed
        and any(verdict.kind in ("mutated", "failed") for verdict in attempt.outcome.verdicts)
    )


def _findings(world: World, tried: list[Attempt]) -> Iterator[Finding]:
    repeated = world.with_policies(tuple(world.reinvoking.values()), world.cluster.validating_policies)
    seen: set[tuple[str, str]] = set()
    for attempt in tried:
        trial, outcome = attempt.trial, attempt.outcome
        for how, changes, refused in (
            (AGAIN, *_again(world.cluster, world.lenient, trial, outcome)),
            (TWICE, *_twice(repeated, trial, outcome)),
        ):
            if changes or refused:
                policy = _culprit(world, trial, outcome, how)
                if (policy, how) not in seen:
                    seen.add((policy, how))
                    yield _finding(world, trial, policy, how, (changes, refused))


def _again(cluster: Cluster, bare: Cluster, trial: Trial, outcome: Outcome) -> tuple[list[Change], str]:
    """What changes when the result is created once more, or why the server refuses what it gave out.

    A result that is refused without the policies as well, such as a class that an in-tree plugin checks
    twice, says nothing of them.
    """
    assert outcome.object is not None
    sent = example(outcome.object)
    second = admit(cluster, trial.sending(sent).request)
    if not second.allowed:
        return [], second.message if admit(bare, trial.sending(sent).request).allowed else ""
    return diff(sent, example(second.object or {})), ""


def _twice(repeated: Cluster, trial: Trial, outcome: Outcome) -> tuple[list[Change], str]:
    """What changes when every policy may run again."""
    second = admit(repeated, trial.request)
    if not second.allowed:
        return [], second.message
    return diff(example(outcome.object or {}), example(second.object or {})), ""


def _shows(world: World, policy: str, trial: Trial, how: str) -> bool:
    """Whether a policy alone is not idempotent on an object."""
    once = world.alone([world.mutating[policy]])
    outcome = admit(once, trial.request)
    if not outcome.allowed:
        return False
    if how == AGAIN:
        return any(_again(once, world.lenient, trial, outcome))
    return any(_twice(world.alone([world.reinvoking[policy]]), trial, outcome))


def _culprit(world: World, trial: Trial, outcome: Outcome, how: str) -> str:
    """The policy that alone shows it, else the first that changed the object."""
    involved = [
        verdict.policy
        for verdict in outcome.verdicts
        if verdict.mutating and verdict.kind in ("mutated", "failed")
    ]
    alone = (name for name in involved if _shows(world, name, trial, how))
    return next(alone, involved[0])


def _finding(world: World, trial: Trial, policy: str, how: str, said: tuple[list[Change], str]) -> Finding:
    smallest = shrink(trial.object, lambda obj: _shows(world, policy, trial.sending(obj), how))
    changes, refused = said
    effect = "the object changes once more" if changes else "the server refuses it"
    diagnostic = make(
        "error",
        "verify-not-idempotent",
        f"`{world.subject.rule_of(policy)}` is not idempotent: when {how}, {effect}",
        world.subject.span_of(policy),
        notes=[
            f"on {trial.title}:\n{show_changes(changes)}"
            if changes
            else f"on {trial.title} the API server would say: {refused}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
        ],
        help=["guard the mutation so that it does nothing when its result already holds"],
    )
    return Finding(diagnostic, policy, smallest, tuple(changes))
