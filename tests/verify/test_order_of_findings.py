"""Causes are shown before what follows from them."""

from pathlib import Path

import pytest

from policygen.render import report as text
from policygen.verify.engine import Options, verify

BUNDLE = """\
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: pool}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: "Object{metadata: Object.metadata{labels: {'pool': object.metadata.labels['x']}}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: pool}
spec: {policyName: pool}
---
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu}
spec: {selectors: [{cel: {expression: "device.driver =="}}]}
"""
SUITE = """\
apiVersion: policygen.dev/v1alpha1
kind: PolicySuite
policies: bundle.yaml
fixtures:
  - apiVersion: v1
    kind: Pod
    metadata: {name: web, namespace: ml}
    spec: {containers: [{name: main, image: "web:1"}]}
cases:
  - name: pool
    object: web
    expect: {values: {metadata.labels.pool: gpu, metadata.labels.other: gpu}}
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bundle.yaml").write_text(BUNDLE, encoding="utf-8")
    Path("suite.yaml").write_text(SUITE, encoding="utf-8")


def test_causes_come_first():
    report = verify([Path("suite.yaml")])

    codes = list(dict.fromkeys(finding.diagnostic.code for finding in report.findings))
    assert codes[:3] == ["verify-not-accepted", "verify-policy-fails", "case-failed"]
    shown = text.render(report)
    assert shown.index("[verify-not-accepted]") < shown.index("[case-failed]")


def test_values_of_a_refused_request_are_one_failure():
    (finding,) = verify([Path("suite.yaml")], Options(properties=())).findings

    assert "is refused with" in finding.diagnostic.message
    assert finding.diagnostic.notes[-1] == (
        "so there is no result with the values that are expected at "
        "`metadata.labels.pool`, `metadata.labels.other`"
    )
