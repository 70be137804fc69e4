"""The default PriorityClass: what it fills in, and what it does not."""

from pathlib import Path
from typing import Any

import pytest

from policygen import explain, verify
from policygen.render.explanation import text

SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: classes}
spec:
  kubernetes: "1.36"
  priorities:
    batch: {value: 7, default: true}
    high: {value: 100}
  rules:
    - name: promote
      match: {namespaces: [ml], labels: {team: ml}}
      place: {priority: high}
"""
SUITE = """\
apiVersion: policygen.dev/v1alpha1
kind: PolicySuite
policies: policy.yaml
fixtures:
  - apiVersion: v1
    kind: Pod
    metadata: {name: trainer, namespace: ml, labels: {team: ml}}
    spec: {priorityClassName: batch, containers: [{name: main, image: "trainer:1"}]}
cases:
  - name: batch stays
    object: trainer
    expect: {values: {spec.priorityClassName: batch}}
"""
NOTE = "`batch` is the default class: naming it counts as naming none"


def _pod(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "trainer", "namespace": "ml", "labels": {"team": "ml"}},
        "spec": {"containers": [{"name": "main", "image": "trainer:1"}], **spec},
    }


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "policy.yaml"
    path.write_text(SPEC, encoding="utf-8")
    return path


def test_a_class_that_the_pod_names_itself_fills_nothing_in(spec: Path):
    assert explain(spec, _pod(priorityClassName="batch")).filled == ()


def test_the_default_class_is_credited_with_the_priority_alone(spec: Path):
    pod = _pod()
    pod["metadata"] |= {"labels": {}}

    paths = {item.said.change.path for item in explain(spec, pod).filled}

    assert paths == {"spec.priorityClassName", "spec.priority"}


def test_what_a_quota_refuses_without_defaults_is_still_told(spec: Path):
    limits = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "limits", "namespace": "ml"},
        "spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]},
    }
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "cpu", "namespace": "ml"},
        "spec": {"hard": {"requests.cpu": "4"}},
    }

    told = explain(spec, _pod(), stored=[limits, quota])

    of_limits = [item.said.change.path for item in told.filled if item.by.startswith("LimitRange")]
    assert any("resources" in path for path in of_limits)
    assert not any("tolerations" in path for path in of_limits)


def test_naming_the_default_class_counts_as_naming_none(spec: Path):
    named, other = explain(spec, _pod(priorityClassName="batch")), explain(spec, _pod())

    assert named.notes == (NOTE,)
    assert f"  note: {NOTE}\n" in text([named])
    assert other.notes == ()


def test_a_failed_case_says_so(spec: Path):
    (spec.parent / "suite.yaml").write_text(SUITE, encoding="utf-8")

    (finding,) = verify(spec.parent / "suite.yaml", properties=()).findings

    assert NOTE in finding.diagnostic.notes
