"""Bad specs and what is said about them, as users read it."""

from pathlib import Path

import pytest
import yaml

from policygen.compiler import compile_text
from policygen.diagnostics import PolicygenError
from policygen.render import full

TABLE = yaml.safe_load((Path(__file__).parent / "invalid.yaml").read_text(encoding="utf-8"))
CASES, WARNINGS = TABLE["cases"], TABLE["warnings"]
HEADER = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {{name: bad}}
spec:
  kubernetes: "{kubernetes}"
"""


def text_of(case: dict[str, str]) -> str:
    if "text" in case:
        return case["text"]
    body = "".join(f"  {line}\n" for line in case["body"].splitlines())
    return HEADER.format(kubernetes=case.get("kubernetes", "1.36")) + body


def test_the_table_is_long_and_names_no_case_twice():
    names = [case["name"] for case in CASES]

    assert len(names) >= 60
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_bad_spec_is_explained(case, snapshot):
    with pytest.raises(PolicygenError) as raised:
        compile_text(text_of(case), "policy.yaml")

    assert full.render(raised.value.diagnostics) == snapshot


@pytest.mark.parametrize("case", WARNINGS, ids=[case["name"] for case in WARNINGS])
def test_a_doubtful_spec_is_commented(case, snapshot):
    bundle = compile_text(text_of(case), "policy.yaml")

    assert full.render(bundle.diagnostics) == snapshot
