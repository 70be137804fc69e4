"""A claim that a quota of its namespace never grants is an error, with an inventory and without."""

from pathlib import Path
from typing import Any

import pytest

from policygen import compile_spec, explain, verify

SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: quotas}
spec:
  kubernetes: "1.36"
  devices:
    a100: {driver: gpu.nvidia.com}
  claims:
    gpus:
      devices:
        gpu: {device: a100, count: 4}
  tenants:
    vision:
      namespaces: [vision]
      devices: {a100: 4}
  rules:
    - name: pair
      match:
        namespaces: {tenants: [vision]}
        labels: {app: detector}
      place: {claim: gpus}
"""
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "detector", "namespace": "vision", "labels": {"app": "detector"}},
    "spec": {"containers": [{"name": "main", "image": "detector:1"}]},
}
SLICE: dict[str, Any] = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "node-0"},
    "spec": {
        "driver": "gpu.nvidia.com",
        "nodeName": "node-0",
        "pool": {"name": "node-0", "generation": 1, "resourceSliceCount": 1},
        "devices": [
            {"name": f"gpu-{number}", "attributes": {"type": {"string": "gpu"}}} for number in range(8)
        ],
    },
}
KEY = "a100.deviceclass.resource.k8s.io/devices"


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the spec compiles to, as somebody may have edited it."""
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(SPEC, encoding="utf-8")
    return [dict(obj) for obj in compile_spec("policy.yaml").objects()]


def _granting(bundle: list[dict[str, Any]], key: str, number: int) -> list[dict[str, Any]]:
    return [
        {**obj, "spec": {"hard": {**obj["spec"]["hard"], key: str(number)}}}
        if obj["kind"] == "ResourceQuota"
        else obj
        for obj in bundle
    ]


@pytest.mark.parametrize("key", [KEY, "count/resourceclaims.resource.k8s.io"])
def test_claim_over_the_quota_is_found_without_an_inventory(bundle: list[dict[str, Any]], key: str):
    report = verify(_granting(bundle, key, 0), [POD], properties=["satisfiable"])

    (finding,) = report.findings
    assert finding.diagnostic.code == "verify-claim-over-quota"
    assert f"grants 0 of `{key}`" in finding.diagnostic.message
    assert finding.diagnostic.primary is not None
    assert finding.diagnostic.related[0].text == "grants 0"
    assert not report.passed


def test_claim_within_the_quota_passes(bundle: list[dict[str, Any]]):
    assert verify(_granting(bundle, KEY, 4), [POD], properties=["satisfiable"]).findings == ()


def test_claims_that_only_fit_one_by_one_are_found(bundle: list[dict[str, Any]]):
    entry = {"name": "more", "resourceClaimTemplateName": "gpus"}
    pod = {**POD, "spec": {**POD["spec"], "resourceClaims": [entry]}}

    report = verify(_granting(bundle, KEY, 7), [pod], properties=["satisfiable"])

    assert [finding.diagnostic.code for finding in report.findings] == ["verify-claim-over-quota"]
    assert "and 8 are charged" in report.findings[0].diagnostic.message


@pytest.mark.parametrize("inventory", [[], [SLICE]], ids=["without an inventory", "with one"])
def test_explain_says_that_the_claim_would_never_be_created(
    bundle: list[dict[str, Any]], inventory: list[Any]
):
    told = explain(_granting(bundle, KEY, 2), POD, stored=inventory)
    lines = [line for topic in told.topics if topic.name == "devices" for line in topic.lines]

    assert any("would never be created: quota `" in line for line in lines), lines
    assert not any("would get" in line for line in lines)


@pytest.mark.parametrize(
    ("inventory", "said"), [([], "4 × `a100`"), ([SLICE], "would get `gpu-0`, `gpu-1`, `gpu-2`, `gpu-3`")]
)
def test_a_limit_that_names_a_class_is_told_with_the_devices(
    bundle: list[dict[str, Any]], inventory: list[Any], said: str
):
    limits = {"deviceclass.resource.kubernetes.io/a100": "4"}
    container = {"name": "main", "image": "detector:1", "resources": {"limits": limits}}
    pod = {**POD, "spec": {"containers": [container]}, "metadata": {"name": "other", "namespace": "vision"}}

    told = explain(bundle, pod, stored=inventory)
    lines = [line for topic in told.topics if topic.name == "devices" for line in topic.lines]

    assert any("is served by DRA as 4 × `a100`" in line and said in line for line in lines), lines


def test_a_quota_of_some_pods_alone_counts_no_claims(bundle: list[dict[str, Any]]):
    scoped = [
        {**obj, "spec": {**obj["spec"], "scopes": ["NotTerminating"]}}
        if obj["kind"] == "ResourceQuota"
        else obj
        for obj in _granting(bundle, KEY, 0)
    ]

    assert verify(scoped, [POD], properties=["satisfiable"]).findings == ()
