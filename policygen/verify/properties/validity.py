"""A request that the server accepts without the policies is not refused because of what they changed.

A ValidatingAdmissionPolicy may refuse: that is what it is for. What may not happen is that a mutation makes
an object invalid, trips an in-tree plugin or a validating policy that would let the object through as it
was sent, or fails itself, which `failurePolicy: Ignore` only hides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.diagnostics import Label, make
from policygen.verify.describe import as_yaml, listed
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.world import Attempt, Trial, World, culprits

NAME = "result still valid"


def check(world: World) -> PropertyResult:
    """One finding per policy and reason."""
    tried = [attempt for attempt in world.attempts if attempt.is_valid]
    return PropertyResult(NAME, world.subject.version, len(tried), tuple(_findings(world, tried)))


def _findings(world: World, tried: list[Attempt]) -> Iterator[Finding]:
    seen: set[tuple[str, ...]] = set()
    for attempt in tried:
        trial, outcome = attempt.trial, attempt.outcome
        for policy, text in failures(outcome).items():
            if (policy, "fails") not in seen:
                seen.add((policy, "fails"))
                yield _failure(world, trial, policy, text)
        if not _is_broken(world, trial, outcome):
            continue
        policies = _culprits(world, trial, outcome)
        key = (*policies, outcome.reason)
        if key not in seen:
            seen.add(key)
            yield _refusal(world, trial, outcome, policies)


def failures(outcome: Outcome) -> dict[str, str]:
    """Policies that failed, with the first error of each."""
    found: dict[str, str] = {}
    for verdict in outcome.verdicts:
        if verdict.kind == "failed":
            found.setdefault(verdict.policy, verdict.errors[0] if verdict.errors else verdict.detail)
    return found


def _is_broken(world: World, trial: Trial, outcome: Outcome) -> bool:
    """Whether a refusal is not one that a validating policy means, and no failure that is told already.

    Where a quota refuses the object as it was sent, it may refuse what became of it, too.
    """
    if outcome.allowed or failures(outcome):
        return False
    if admit(world.uncounted, trial.request).allowed and not admit(world.bare, trial.request).allowed:
        return False
    if not any(verdict.kind == "denied" for verdict in outcome.verdicts):
        return True
    unchanged = world.with_policies((), world.cluster.validating_policies)
    return admit(unchanged, trial.request).allowed


def _breaks(world: World, trial: Trial, reason: str) -> bool:
    outcome = admit(world.cluster, trial.request)
    return (
        outcome.reason == reason
        and _is_broken(world, trial, outcome)
        and admit(world.lenient, trial.request).allowed
    )


def _culprits(world: World, trial: Trial, outcome: Outcome) -> list[str]:
    """The policies that are needed to have the request refused with these words."""
    involved = [verdict.policy for verdict in outcome.verdicts if verdict.kind == "mutated"]
    judging = world.cluster.validating_policies

    def refused(names: Sequence[str]) -> bool:
        chosen = [entry for name, entry in world.mutating.items() if name in names]
        return admit(world.with_policies(chosen, judging), trial.request).message == outcome.message

    return culprits(involved or list(world.mutating), refused)


def _failure(world: World, trial: Trial, policy: str, text: str) -> Finding:
    def fails(obj: dict[str, object]) -> bool:
        sent = trial.sending(obj)
        if failures(admit(world.cluster, sent.request)).get(policy) != text:
            return False
        return admit(world.lenient, sent.request).allowed

    smallest = shrink(trial.object, fails)
    diagnostic = make(
        "error",
        "verify-policy-fails",
        f"`{world.subject.rule_of(policy)}` fails on {trial.title}",
        world.place(policy, world.known[policy].blamed(text)),
        notes=[
            f"the API server would say: {text}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
        ],
        help=["make the expression hold for such objects too, or leave them out with a match condition"],
    )
    return Finding(diagnostic, policy, smallest)


def _refusal(world: World, trial: Trial, outcome: Outcome, policies: Sequence[str]) -> Finding:
    smallest = shrink(trial.object, lambda obj: _breaks(world, trial.sending(obj), outcome.reason))
    rules = list(dict.fromkeys(map(world.subject.rule_of, policies)))
    verb = "makes" if len(rules) == 1 else "together make"
    diagnostic = make(
        "error",
        "verify-invalid-result",
        f"{listed(rules)} {verb} the server refuse {trial.title}",
        world.place(policies[0]),
        related=[Label(span, "and this one") for name in policies[1:] if (span := world.place(name))],
        notes=[
            f"the API server would say: {outcome.message}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
            "without the policies the server has nothing against the object",
        ],
        help=["let the rule leave out such objects, or change what else must change with it"],
    )
    return Finding(diagnostic, policies[0], smallest)
