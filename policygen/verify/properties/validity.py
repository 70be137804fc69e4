"""A request that the server accepts without the policies is not refused because of what they changed.

A ValidatingAdmissionPolicy may refuse: that is what it is for. What may not happen is that a mutation makes
an object invalid, trips an in-tree plugin, or fails itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.world import Trial, World

NAME = "result still valid"


def check(world: World) -> PropertyResult:
    """One finding per policy and reason."""
    return PropertyResult(NAME, world.subject.version, len(world.trials), tuple(_findings(world)))


def _findings(world: World) -> Iterator[Finding]:
    seen: set[tuple[str, str]] = set()
    for trial, outcome, plain in zip(world.trials, world.outcomes, world.plain, strict=True):
        if outcome.allowed or not plain.allowed or is_meant(outcome):
            continue
        policy = _culprit(world, trial, outcome)
        key = (policy, outcome.reason + outcome.message.partition(":")[0])
        if key in seen:
            continue
        seen.add(key)
        smallest = shrink(trial.object, lambda obj, trial=trial: _breaks(world, trial.sending(obj)))  # type: ignore[misc]
        yield _finding(world, trial, outcome, policy, smallest)


def is_meant(outcome: Outcome) -> bool:
    """Whether a validating policy refused, or a mutating one by a failed match on purpose."""
    return any(verdict.kind == "denied" for verdict in outcome.verdicts)


def _breaks(world: World, trial: Trial) -> bool:
    outcome = admit(world.cluster, trial.request)
    return not outcome.allowed and not is_meant(outcome) and admit(world.bare, trial.request).allowed


def _culprit(world: World, trial: Trial, outcome: Outcome) -> str:
    """The policy that alone shows it, else the first that failed or changed the object."""
    involved = [verdict.policy for verdict in outcome.verdicts if verdict.kind in ("failed", "mutated")]
    for entry in world.cluster.mutating_policies:
        if entry.policy.name in involved:
            if not admit(world.with_policies([entry]), trial.request).allowed:
                return entry.policy.name
    return involved[0] if involved else ""


def _finding(
    world: World, trial: Trial, outcome: Outcome, policy: str, smallest: dict[str, object]
) -> Finding:
    rule = world.subject.rule_of(policy) if policy else "the bundle"
    diagnostic = make(
        "error",
        "verify-invalid-result",
        f"`{rule}` makes the server refuse {trial.title}, which it accepts without the policies",
        world.subject.span_of(policy),
        notes=[f"the API server would say: {outcome.message}"],
        help=["let the rule leave out such objects, or change what else must change with it"],
    )
    return Finding(diagnostic, policy, smallest)
