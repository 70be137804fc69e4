"""Every example has a suite that passes on every version that it supports.

The properties are checked on one of the versions here; `policygen verify policies` checks them on all.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from policygen.render import report as text
from policygen.verify.engine import Options, verify

EXAMPLES = sorted((Path(__file__).parents[2] / "policies").glob("*/policy.yaml"))


@pytest.mark.parametrize("spec", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_example_is_verified(spec: Path):
    suites = verify([spec.parent], Options(properties=()))
    properties = verify([spec.parent], Options(versions=("1.36",)))

    assert suites.passed, text.render(suites)
    assert properties.passed, text.render(properties)


@pytest.mark.parametrize("spec", EXAMPLES, ids=[path.parent.name for path in EXAMPLES])
def test_suite_covers_the_versions_that_the_example_names(spec: Path):
    said = next(line for line in spec.read_text(encoding="utf-8").splitlines() if "For Kubernetes" in line)
    first, last = (part.strip(" .").partition(".")[2] for part in said.split("Kubernetes")[1].split("to"))
    wanted = {f"1.{minor}" for minor in range(int(first), int(last) + 1)}
    suite = (spec.parent / "suite.yaml").read_text(encoding="utf-8")
    line = next(line for line in suite.splitlines() if line.startswith("kubernetes:"))

    assert set(line.partition(":")[2].strip(" []").replace('"', "").split(", ")) == wanted
