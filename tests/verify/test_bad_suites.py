"""Suites with faults are errors that say what is wrong and what was meant; what proves nothing fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from policygen.render import full, junit
from policygen.render import report as rendering
from policygen.verify.engine import Options, verify

CASES = yaml.safe_load((Path(__file__).parent / "cases" / "bad_suites.yaml").read_text(encoding="utf-8"))
BUNDLE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: pool}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    objectSelector: {matchLabels: {team: ml}}
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration: {expression: "Object{metadata: Object.metadata{labels: {'pool': 'gpu'}}}"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: pool}
spec: {policyName: pool}
"""
PODS = """\
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: ml, labels: {team: ml}}
spec: {containers: [{name: main, image: "trainer:1"}]}
---
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: ml}
spec: {containers: [{name: main, image: "web:1"}]}
"""
SOUND: dict[str, Any] = {
    "apiVersion": "policygen.dev/v1alpha1",
    "kind": "PolicySuite",
    "policies": "bundle.yaml",
    "fixtures": "pods.yaml",
    "cases": [{"name": "a", "object": "trainer", "expect": {"matched": "pool"}}],
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a bundle and pods, which is the current one."""
    (tmp_path / "bundle.yaml").write_text(BUNDLE, encoding="utf-8")
    (tmp_path / "pods.yaml").write_text(PODS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _suite(case: dict[str, Any]) -> str:
    if "text" in case:
        return str(case["text"])
    changed = {**SOUND, **case["suite"]}
    kept = {key: value for key, value in changed.items() if value is not None}
    return yaml.safe_dump(kept, sort_keys=False)


def test_sound_suite_passes(folder: Path):
    (folder / "suite.yaml").write_text(yaml.safe_dump(SOUND), encoding="utf-8")

    assert verify([Path("suite.yaml")]).passed


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_fault_is_told(case: dict[str, Any], folder: Path, snapshot: SnapshotAssertion):
    for name, text in {**case.get("files", {}), "suite.yaml": _suite(case)}.items():
        (folder / name).write_text(text, encoding="utf-8")

    report = verify([Path("suite.yaml")], Options(properties=()))
    told = list(dict.fromkeys([*report.diagnostics, *(finding.diagnostic for finding in report.findings)]))

    assert not report.passed
    assert sorted({item.code for item in told if item.severity == "error"}) == case["codes"]
    assert full.render(told) == snapshot


def test_a_case_that_cannot_be_read_does_not_pass(folder: Path):
    case = {"name": "a", "object": "trainer", "expect": {"matched": "pool", "values": {"spec.": None}}}
    (folder / "suite.yaml").write_text(yaml.safe_dump({**SOUND, "cases": [case]}), encoding="utf-8")

    report = verify([Path("suite.yaml")], Options(properties=()))

    assert [item.status for item in report.cases] == ["failed"]
    assert rendering.render(report).count("suite-path") == 2, "the code and its page, once"
    assert "FAIL  suite" in rendering.render(report)
    assert 'name="a"' in junit.render(report)
    assert junit.render(report).count("<failure") == 2
