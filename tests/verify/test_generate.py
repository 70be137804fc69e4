"""Objects that are made from what expressions read: always the same, mostly valid, near the constants."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

import pytest

from policygen.admission.server import admit
from policygen.diagnostics import Diagnostics
from policygen.verify import engine, subject
from policygen.verify.fill import consistent, filled
from policygen.verify.generate import beside, candidates, for_policy, generate
from policygen.verify.paths import ABSENT
from policygen.verify.world import World

EXAMPLES = Path(__file__).parents[2] / "policies"


@cache
def world(name: str) -> World:
    found = Diagnostics()
    (unit,) = engine.units([EXAMPLES / name], found)
    loaded = subject.load(unit.policies, found, version="1.36")
    assert loaded is not None
    trials = [trial for suite in unit.suites for trial in engine._trials(suite)]
    return engine._world(loaded, unit.suites, trials)


def test_the_same_seed_makes_the_same_objects():
    once = [trial.object for trial in generate(world("amd-pool"))]
    again = [trial.object for trial in generate(world("amd-pool"))]

    assert once == again
    assert once


def test_another_seed_makes_other_objects():
    (facts, *_) = world("amd-pool").facts
    one, two = (
        [trial.object for trial in for_policy(world("amd-pool"), facts, 5, Random(seed))] for seed in "ab"
    )

    assert one != two


@pytest.mark.parametrize("name", ["amd-pool", "nccl-environment", "secure-ai-pods"])
def test_most_objects_are_valid(name: str):
    made = [
        admit(world(name).lenient, trial.request).allowed
        for facts in world(name).facts
        for trial in for_policy(world(name), facts, 20, Random("valid"))
    ]

    assert sum(made) > 0.75 * len(made)


def test_values_are_constants_and_what_lies_beside_them():
    values = candidates(world("amd-pool").facts)

    counts = values["spec", "containers", "*", "resources", "limits", "amd.com/gpu"]
    assert {"1", "2", "4", "3", "5"} <= set(counts)
    assert {"Exists", "other"} <= set(values["spec", "tolerations", "*", "operator"])


@pytest.mark.parametrize(
    ("value", "near"), [(True, [False]), (3, [2, 4]), ("2", ["3", "0"]), ("a", ["ax", "other"]), (None, [])]
)
def test_beside(value: object, near: list[object]):
    assert list(beside(value)) == near


POD = {"kind": "Pod", "spec": {"containers": [{"name": "a"}]}}


@pytest.mark.parametrize(
    ("path", "value", "spec"),
    [
        ("nodeSelector.pool", "x", {"nodeSelector": {"pool": "x"}}),
        ("nodeSelector.pool", ABSENT, {"nodeSelector": {}}),
        ("containers.*.image", "x", {"containers": [{"name": "a", "image": "x"}]}),
        ("containers.*.name", ABSENT, {"containers": [{}]}),
        ("tolerations.*.key", "k", {"tolerations": [{"key": "k", "operator": "Exists"}]}),
        ("tolerations.*.key", ABSENT, {"tolerations": [{"operator": "Exists"}]}),
    ],
)
def test_filled_makes_what_is_around_a_place(path: str, value: object, spec: dict[str, object]):
    made = filled(POD, ("spec", *path.split(".")), value, None)

    assert made["spec"] == {"containers": [{"name": "a"}], **spec}
    assert POD == {"kind": "Pod", "spec": {"containers": [{"name": "a"}]}}


def test_claims_and_volumes_that_containers_name_are_there():
    container = {
        "name": "a",
        "resources": {"claims": [{"name": "gpu"}]},
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }

    made = consistent({"spec": {"containers": [container]}})

    assert made["spec"]["resourceClaims"] == [{"name": "gpu", "resourceClaimTemplateName": "made"}]
    assert made["spec"]["volumes"] == [{"name": "data", "emptyDir": {}}]
