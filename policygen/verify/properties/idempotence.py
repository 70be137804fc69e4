"""Admitting a result again changes nothing, nor does running every policy a second time on its own result.

The server does both: a user applies what `kubectl get -o yaml` gave back, and `reinvocationPolicy: IfNeeded`
runs a policy again after its own change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.diagnostics import Label, make
from policygen.merge.diff import Change, diff
from policygen.verify.describe import as_yaml, listed
from policygen.verify.expect import show_changes
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.world import Attempt, Trial, World, culprits, example

NAME = "idempotent"
AGAIN = "the result is admitted again"
UPDATED = "the stored object is sent as an update"
TWICE = "every policy runs again on its own result"


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
    seen: set[tuple[str, ...]] = set()
    for attempt in tried:
        trial, outcome = attempt.trial, attempt.outcome
        for how, changes, refused in (
            (AGAIN, *_again(world.cluster, world.lenient, trial, outcome)),
            (TWICE, *_twice(repeated, trial, outcome)),
            (UPDATED, *_updated(world.cluster, world.lenient, trial, outcome)),
        ):
            if changes or refused:
                policies = _culprits(world, trial, outcome, how)
                if (*policies, how) not in seen:
                    seen.add((*policies, how))
                    yield _finding(world, trial, policies, how, (changes, refused))


def _culprits(world: World, trial: Trial, outcome: Outcome, how: str) -> list[str]:
    changing = ("mutated", "failed")
    involved = [each.policy for each in outcome.verdicts if each.mutating and each.kind in changing]
    matching = involved + [name for name in world.mutating if name not in involved]
    if _shows(world, involved, trial, how) or not _shows(world, matching, trial, how):
        matching = involved
    return culprits(matching, lambda names: _shows(world, names, trial, how))


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


def _updated(cluster: Cluster, bare: Cluster, trial: Trial, outcome: Outcome) -> tuple[list[Change], str]:
    """What policies change when the stored object is sent once more, as `kubectl edit` does.

    What policies for updates alone do to the first one is what they are for; then they have nothing to do.
    """
    bound = (entry.policy.match for entry in cluster.mutating_policies)
    if not any(rule.operations & {"UPDATE", "*"} for match in bound for rule in match.rules):
        return [], ""
    stored = outcome.object
    request = replace(trial.request, operation="UPDATE", object=stored, old_object=stored)
    plain, second = admit(bare, request), admit(cluster, request)
    if not second.allowed:
        return [], second.message if plain.allowed else ""
    changes = diff(example(plain.object or {}), example(second.object or {}))
    acting = {verdict.policy for verdict in second.verdicts if verdict.kind == "mutated"}
    if changes and acting.isdisjoint(_of_creations(cluster)):
        return _updated_again(cluster, bare, replace(request, object=second.object, old_object=second.object))
    return changes, ""


def _of_creations(cluster: Cluster) -> set[str]:
    """The policies that see objects before they are stored."""
    return {
        entry.policy.name
        for entry in cluster.mutating_policies
        if any(rule.operations & {"CREATE", "*"} for rule in entry.policy.match.rules)
    }


def _updated_again(cluster: Cluster, bare: Cluster, request: AdmissionRequest) -> tuple[list[Change], str]:
    plain, again = admit(bare, request), admit(cluster, request)
    if not again.allowed:
        return [], again.message if plain.allowed else ""
    return diff(example(plain.object or {}), example(again.object or {})), ""


def _twice(repeated: Cluster, trial: Trial, outcome: Outcome) -> tuple[list[Change], str]:
    """What changes when every policy may run again."""
    second = admit(repeated, trial.request)
    if not second.allowed:
        return [], second.message
    return diff(example(outcome.object or {}), example(second.object or {})), ""


def _shows(world: World, names: Sequence[str], trial: Trial, how: str) -> bool:
    """Whether some policies alone are not idempotent on an object."""
    once = world.alone([world.mutating[name] for name in world.mutating if name in names])
    outcome = admit(once, trial.request)
    if not outcome.allowed:
        return False
    if how == UPDATED:
        return any(_updated(once, world.lenient, trial, outcome))
    if how == AGAIN:
        return any(_again(once, world.lenient, trial, outcome))
    return any(
        _twice(
            world.alone([world.reinvoking[name] for name in world.mutating if name in names]), trial, outcome
        )
    )


def _finding(
    world: World, trial: Trial, policies: Sequence[str], how: str, said: tuple[list[Change], str]
) -> Finding:
    def shows(obj: dict[str, Any]) -> bool:
        sent = trial.sending(obj)
        return _shows(world, policies, sent, how) and admit(world.lenient, sent.request).allowed

    smallest = shrink(trial.object, shows)
    changes, refused = said
    rules = list(dict.fromkeys(map(world.subject.rule_of, policies)))
    subject = f"{listed(rules)} is" if len(rules) == 1 else f"{listed(rules)} together are"
    effect = "the object changes once more" if changes else "the server refuses it"
    diagnostic = make(
        "error",
        "verify-not-idempotent",
        f"{subject} not idempotent: when {how}, {effect}",
        world.place(policies[0]),
        related=[Label(span, "and this one") for name in policies[1:] if (span := world.place(name))],
        notes=[
            f"on {trial.title}:\n{show_changes(changes)}"
            if changes
            else f"on {trial.title} the API server would say: {refused}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
        ],
        help=["guard the mutation so that it does nothing when its result already holds"],
    )
    return Finding(diagnostic, policies[0], smallest, tuple(changes))
