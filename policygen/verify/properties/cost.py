"""No policy comes near the server's cost limits, also on a pod with fifty containers.

The server stops an expression at 1,000,000 units, all match conditions of a policy at 2,500,000 and each
mutation at 10,000,000; validations of a policy share 10,000,000. What is past a limit fails by the
`failurePolicy`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from policygen.admission.server import admit
from policygen.cel.budget import MATCH_CONDITION_BUDGET, PER_CALL_LIMIT, RUNTIME_CEL_COST_BUDGET
from policygen.diagnostics import make
from policygen.verify.facts import Known, PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.variants import copies, pod_specs, replaced
from policygen.verify.watch import Watch
from policygen.verify.world import Trial, World

NAME = "cost headroom"
CONTAINERS: Final = 50


def check(world: World) -> PropertyResult:
    """One finding per expression or policy that uses more than the allowed share of a budget."""
    largest = [_largest(trial) for trial in _one_each(world)]
    watch = Watch(branches=False)
    watched = watch.cluster(world.cluster)
    for trial in largest:
        admit(watched, trial.request)
    findings = tuple(_findings(world, watch))
    skipped = "" if largest else "no fixture has a pod to which a policy applies"
    return PropertyResult(NAME, world.subject.version, len(largest), findings, skipped=skipped)


def _one_each(world: World) -> Iterator[Trial]:
    """For every policy the largest object at hand to which it applies."""
    chosen: set[int] = set()
    for facts in world.facts:
        applied = world.applied_to(facts.name)
        if applied:
            chosen.add(max(applied, key=lambda index: (_size(world.trials[index].object), -index)))
    return (world.trials[index] for index in sorted(chosen))


def _size(value: Any) -> int:
    """How many values there are in a value."""
    if isinstance(value, dict):
        return 1 + sum(map(_size, value.values()))
    return 1 + sum(map(_size, value)) if isinstance(value, list) else 1


def _largest(trial: Trial) -> Trial:
    """The trial with fifty containers and as many init containers in every pod."""
    obj: dict[str, Any] = trial.object
    for steps, spec in list(pod_specs(obj)):
        first = max(spec["containers"], key=_size)
        more = [*spec["containers"], *copies(first, CONTAINERS)][:CONTAINERS]
        obj = replaced(
            obj, steps, {**spec, "containers": more, "initContainers": copies(first, CONTAINERS, "init")}
        )
    return trial.sending(obj)


def _findings(world: World, watch: Watch) -> Iterator[Finding]:
    for facts in world.facts:
        costs = {known: watch.of(facts.policy, known.text).cost for known in facts.expressions}
        for known, cost in costs.items():
            if cost * 100 > world.cost_share * PER_CALL_LIMIT:
                yield _finding(world, facts, known, cost, PER_CALL_LIMIT)
        conditions = [known for known in costs if known.part == "condition"]
        total = sum(costs[known] for known in conditions)
        if total * 100 > world.cost_share * MATCH_CONDITION_BUDGET:
            yield _finding(world, facts, conditions[0], total, MATCH_CONDITION_BUDGET)
        for known, cost in _runs(costs).items():
            if cost * 100 > world.cost_share * RUNTIME_CEL_COST_BUDGET:
                yield _finding(world, facts, known, cost, RUNTIME_CEL_COST_BUDGET)


def _runs(costs: Mapping[Known, int]) -> dict[Known, int]:
    """What shares one budget, variables included: a mutation alone, all validations with messages."""
    variables = sum(cost for known, cost in costs.items() if known.part == "variable")
    found = {known: cost + variables for known, cost in costs.items() if known.part == "mutation"}
    judging = [known for known in costs if known.part in ("validation", "message", "audit")]
    if judging:
        dearest = max(judging, key=lambda known: costs[known])
        found[dearest] = variables + sum(costs[known] for known in judging)
    return found


def _finding(world: World, facts: PolicyFacts, known: Known, cost: int, limit: int) -> Finding:
    share = (
        f"pass the limit of {limit:,} units"
        if cost >= limit
        else f"take {cost / limit:.0%} of the {limit:,} units that they may"
    )
    diagnostic = make(
        "error",
        "verify-cost",
        f"`{world.subject.rule_of(facts.name)}`: the {known.part}s {share}",
        world.place(facts.name, known.place),
        notes=[f"on a pod with {CONTAINERS} containers, most of it here:\n{known.text.strip()}"],
        help=["read long lists once, in a variable, and test cheap things first"],
    )
    return Finding(diagnostic, facts.name)
