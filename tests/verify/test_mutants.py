"""A mutation test of the examples' suites: what changes the behaviour of an expression is noticed.

Each expression that is emitted for an example is changed in one way after the other. A change counts when it
compiles and behaves differently on 200 pods that are generated with a seed of their own; of those nine in ten
must make the example's `verify` fail (the comparison with the manifests on disk is left out: it would notice
everything). A sample runs always; all of them run where the environment variable ALL_MUTANTS is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random

import pytest
from verify.mutants import Mutant, mutants

from policygen.admission.cluster import Cluster
from policygen.admission.compilation import compile_policy
from policygen.admission.outcome import Outcome
from policygen.admission.policy import BoundPolicy, Policy
from policygen.admission.server import admit
from policygen.diagnostics import Diagnostics
from policygen.verify import cases, engine, generate, subject
from policygen.verify.suite import Suite
from policygen.verify.world import Trial, World

EXAMPLES = Path(__file__).parents[2] / "policies"
VERSION = "1.36"
PODS = 200
SEED = "mutants"
SAMPLE = 8
"""Mutants of each example that always run."""
PROPERTIES = tuple(name for name in engine.PROPERTIES if name != "drift")


@dataclass(frozen=True, eq=False)
class Example:
    """An example with what shows how it behaves."""

    suites: tuple[Suite, ...]
    world: World
    pods: tuple[Trial, ...]
    answers: tuple[Outcome, ...]

    def mutated(self, mutant: Mutant) -> World:
        """The world with one policy in another form."""
        world = self.world
        changed = replace(world)
        mutating = _with(world.cluster.mutating_policies, mutant.policy)
        validating = _with(world.cluster.validating_policies, mutant.policy)
        changed.__dict__["bare"] = world.bare
        changed.__dict__["cluster"] = world.bare.running(mutating, validating)
        return changed


def _with(bound: tuple[BoundPolicy, ...], policy: Policy) -> tuple[BoundPolicy, ...]:
    key = policy.mutating, policy.name
    return tuple(
        replace(entry, policy=policy) if (entry.policy.mutating, entry.policy.name) == key else entry
        for entry in bound
    )


@cache
def example(name: str) -> Example:
    found = Diagnostics()
    (unit,) = engine.units([EXAMPLES / name], found)
    loaded = subject.load(unit.policies, found, version=VERSION)
    assert loaded is not None, found.items
    trials = [trial for suite in unit.suites for trial in engine._trials(suite)]
    world = engine._world(loaded, unit.suites, trials)
    pods = tuple(_pods(world))
    return Example(unit.suites, world, pods, tuple(admit(world.cluster, pod.request) for pod in pods))


def _pods(world: World) -> Iterator[Trial]:
    """Generated objects that the server accepts, in turn for each policy."""
    made = 0
    for round_ in range(PODS):
        for facts in world.facts:
            for trial in generate.for_policy(world, facts, 2, Random(f"{SEED}/{facts.name}/{round_}")):
                if made < PODS and admit(world.lenient, trial.request).allowed:
                    made += 1
                    yield trial
        if made >= PODS:
            return


def _shown(outcome: Outcome) -> tuple[object, ...]:
    return (
        outcome.code,
        outcome.message,
        outcome.object,
        outcome.warnings,
        dict(outcome.audit_annotations),
    )


def _compiles(policy: Policy) -> bool:
    return not list(compile_policy.__wrapped__(policy, VERSION).errors())


def behaves_differently(of: Example, cluster: Cluster) -> bool:
    return any(
        _shown(admit(cluster, pod.request)) != _shown(answer)
        for pod, answer in zip(of.pods, of.answers, strict=True)
    )


def is_caught(of: Example, world: World) -> str:
    """What notices a mutant: the suite, or the name of a property; empty when nothing does."""
    for suite in of.suites:
        where = replace(cases.setting(suite, world.subject), cluster=world.cluster, bare=world.bare)
        if any(ran.result.findings for ran in cases.run(where)):
            return "suite"
    for result in engine.run_properties(world, PROPERTIES):
        if result.status == "failed":
            return result.name
    return ""


def _all(name: str) -> list[Mutant]:
    return [mutant for facts in example(name).world.facts for mutant in mutants(facts.policy)]


def _missed(name: str, chosen: list[Mutant]) -> tuple[int, list[str]]:
    of = example(name)
    counted, missed = 0, []
    for mutant in chosen:
        if not _compiles(mutant.policy):
            continue
        world = of.mutated(mutant)
        if behaves_differently(of, world.cluster):
            counted += 1
            if not is_caught(of, world):
                missed.append(f"{mutant.policy.name}: {mutant.title}")
    return counted, missed


NAMES = sorted(
    path.parent.name
    for path in EXAMPLES.glob("*/suite.yaml")
    if list(path.parent.glob("manifests/*admissionpolicy-*.yaml"))
)


@pytest.mark.parametrize("name", NAMES)
def test_suite_notices_changes(name: str, record_property: Callable[[str, object], None]):
    every = _all(name)
    whole = bool(os.environ.get("ALL_MUTANTS"))
    chosen = every if whole else Random(name).sample(every, min(SAMPLE, len(every)))

    counted, missed = _missed(name, chosen)

    record_property("mutants", counted)
    record_property("missed", len(missed))
    allowed = counted // 10 if whole else max(2, counted // 5)
    assert len(missed) <= allowed, missed
