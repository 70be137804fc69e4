"""Claims and classes that the server refuses."""

from __future__ import annotations

import pytest

from policygen.cli.main import run
from policygen.diagnostics import Diagnostics
from policygen.dra.inventory import read_cluster
from policygen.dra.validate_claim import claim_problems, class_problems
from policygen.kube.reader import read_text

GPU: dict[str, object] = {"deviceClassName": "gpu.nvidia.com"}


def problems(*requests: object, **devices: object) -> list[str]:
    spec = {"devices": {"requests": list(requests), **devices}}
    claim = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "spec": spec}
    return [str(each) for each in claim_problems(claim)]


def one(**more: object) -> dict[str, object]:
    return {"name": "gpu", "exactly": {**GPU, **more}}


def test_a_plain_claim_has_none() -> None:
    constraint = {"requests": ["gpu"], "matchAttribute": "resource.kubernetes.io/numaNode"}

    assert problems(one(count=2), constraints=[constraint]) == []


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (
            {"name": "gpu"},
            "spec.devices.requests[0]: Required value: "
            "exactly one of `exactly` or `firstAvailable` is required",
        ),
        (
            {"name": "gpu", "exactly": {"count": 1}},
            "spec.devices.requests[0].exactly.deviceClassName: Required value",
        ),
        (
            one(allocationMode="All", count=2),
            "spec.devices.requests[0].exactly.count: Invalid value: 2: "
            "must not be specified when allocationMode is 'All'",
        ),
        (
            {"name": "GPU", "exactly": GPU},
            'spec.devices.requests[0].name: Invalid value: "GPU": a lowercase RFC 1123 label must be used',
        ),
        (
            one(selectors=[{"cel": {"expression": "device.driver"}}]),
            'spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "device.driver": '
            "must evaluate to bool or the unknown type, not string",
        ),
    ],
)
def test_a_request_that_is_refused(request_: dict[str, object], expected: str) -> None:
    assert problems(request_) == [expected]


@pytest.mark.parametrize(
    ("constraint", "expected"),
    [
        (
            {"matchAttribute": "numaNode"},
            '.matchAttribute: Invalid value: "numaNode": must include a domain',
        ),
        (
            {"matchAttribute": "a.b/c", "requests": ["nic"]},
            '.requests[0]: Invalid value: "nic": must be the name of a request in the claim '
            "or the name of a request and a subrequest separated by '/'",
        ),
        ({}, ": exactly one of `matchAttribute` or `distinctAttribute` is required"),
    ],
)
def test_a_constraint_that_is_refused(constraint: dict[str, object], expected: str) -> None:
    assert problems(one(), constraints=[constraint]) == [f"spec.devices.constraints[0]{expected}"]


def test_an_alternative_may_be_named() -> None:
    listed = {"name": "gpu", "firstAvailable": [{"name": "a", **GPU}, {"name": "b", **GPU}]}

    assert problems(listed, constraints=[{"matchAttribute": "a.b/c", "requests": ["gpu/a"]}]) == []


def test_two_requests_of_one_name() -> None:
    assert problems(one(), one()) == ['spec.devices.requests[1].name: Duplicate value: "gpu"']


def test_a_class_with_a_selector_that_does_not_compile() -> None:
    (only,) = class_problems({"spec": {"selectors": [{"cel": {"expression": "device.nope"}}]}})

    assert only.path == "spec.selectors[0].cel.expression"
    assert only.reason.startswith(
        'Invalid value: "device.nope": compilation failed: ERROR: <input>:1:7: undefined'
    )


ARTICLE = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: gpu, namespace: t}
spec:
  devices:
    adminAccess: false
    requests:
    - name: gpu
      deviceClassName: gpu.nvidia.com
      selectors:
      - cel:
          expression: device.attributes['memory'].quantity >= 40
"""


def test_the_claim_of_the_articles_is_led_to_the_right_shape() -> None:
    found = Diagnostics()

    read_cluster(read_text(ARTICLE, "claim.yaml"), found)

    assert [each.message.rsplit("field ")[-1] for each in found.sorted()] == [
        "`spec.devices.adminAccess` in Kubernetes 1.36",
        "`spec.devices.requests[0].deviceClassName` in Kubernetes 1.36",
        "`spec.devices.requests[0].selectors` in Kubernetes 1.36",
    ]
    assert "`exactly`" in found.sorted()[1].help[0]


def test_nothing_is_allocated_for_a_claim_that_does_not_exist(
    tmp_path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "claim.yaml"
    path.write_text(ARTICLE, encoding="utf-8")

    assert run(["devices", "allocate", "-f", str(path), "--profile", "dgx-a100"]) == 2
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "junk", [None, 3, "x", [], [None], {"requests": 3}, {"requests": [[]], "config": [1]}]
)
def test_nonsense_never_raises(junk: object) -> None:
    claim_problems({"apiVersion": 3, "kind": "ResourceClaim", "spec": {"devices": junk}})
    claim_problems({"kind": "ResourceClaimTemplate", "spec": junk})
    class_problems({"spec": junk})
