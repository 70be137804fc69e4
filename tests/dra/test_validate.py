"""Slices that the server refuses, with its reasons."""

from __future__ import annotations

import pytest

from policygen.diagnostics import Diagnostics
from policygen.dra.inventory import path_of, read_cluster
from policygen.dra.profiles import generate, profile_names
from policygen.dra.validate import slice_problems
from policygen.kube.reader import read_text


def problems(device: dict[str, object] | None = None, **spec: object) -> list[str]:
    base = {
        "driver": "d.example.com",
        "nodeName": "n0",
        "pool": {"name": "n0", "generation": 1, "resourceSliceCount": 1},
        "devices": [{"name": "a", **(device or {})}],
    }
    return [str(each) for each in slice_problems({"spec": {**base, **spec}})]


def test_a_plain_slice_has_none() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("device", "expected"),
    [
        (
            {"attributes": {"v": {"version": "6.10.5.60200"}}},
            'spec.devices[0].attributes[v].version: Invalid value: "6.10.5.60200": '
            "must be a string compatible with semver.org spec 2.0.0",
        ),
        (
            {"attributes": {"v": {"version": "550.127.08"}}},
            'spec.devices[0].attributes[v].version: Invalid value: "550.127.08": '
            "must be a string compatible with semver.org spec 2.0.0",
        ),
        (
            {"attributes": {"s": {"string": "x" * 65}}},
            "spec.devices[0].attributes[s].string: Too long: may not be more than 64 bytes",
        ),
        (
            {"attributes": {"s": {"string": "x", "int": 1}}},
            "spec.devices[0].attributes[s]: Invalid value: exactly one value must be specified",
        ),
        (
            {"attributes": {"a-b": {"int": 1}}},
            'spec.devices[0].attributes: Invalid value: "a-b": '
            "a valid C identifier must start with a letter or _",
        ),
        (
            {"attributes": {f"a{n}": {"int": n} for n in range(33)}},
            "spec.devices[0]: Invalid value: 33: "
            "the total number of attributes and capacities must not exceed 32",
        ),
        (
            {"capacity": {"m": {"value": "1Gi", "requestPolicy": {"default": "1Gi"}}}},
            "spec.devices[0].capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true",
        ),
        (
            {"name": "GPU_0"},
            'spec.devices[0].name: Invalid value: "GPU_0": a lowercase RFC 1123 label must be used',
        ),
        (
            {"taints": [{"key": "a", "effect": "Never"}]},
            'spec.devices[0].taints[0].effect: Unsupported value: "Never": '
            'supported values: "NoExecute", "NoSchedule", "None"',
        ),
    ],
)
def test_a_device_that_is_refused(device: dict[str, object], expected: str) -> None:
    assert problems(device) == [expected]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        (
            {"default": "3Gi", "validValues": ["1Gi", "2Gi"]},
            '.validValues: Invalid value: "3Gi": default value is not valid according to the requestPolicy',
        ),
        (
            {"default": "1Gi", "validRange": {"min": "1Gi", "max": "16Gi", "step": "1Gi"}},
            '.validRange.max: Invalid value: "16Gi": max is larger than capacity value: 8Gi',
        ),
        ({"validValues": ["1Gi"]}, ".default: Required value: required when validValues is defined"),
    ],
)
def test_a_request_policy_that_is_refused(policy: dict[str, object], expected: str) -> None:
    device = {
        "allowMultipleAllocations": True,
        "capacity": {"m": {"value": "8Gi", "requestPolicy": policy}},
    }

    assert problems(device) == [f"spec.devices[0].capacity[m].requestPolicy{expected}"]


def test_duplicate_names_and_too_many_devices() -> None:
    assert problems(devices=[{"name": "a"}, {"name": "a"}]) == ['spec.devices[1].name: Duplicate value: "a"']
    many = problems(devices=[{"name": f"a{n}"} for n in range(129)])
    assert many == ["spec.devices: Too many: 129: must have at most 128 items"]


def test_exactly_one_way_to_say_which_nodes() -> None:
    wanted = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"

    assert problems(allNodes=True) == [f"spec: {wanted}"]


@pytest.mark.parametrize("profile", profile_names())
def test_every_generated_slice_is_accepted(profile: str) -> None:
    refused = [
        str(problem)
        for entry in generate(profile, nodes=2)
        if entry["kind"] == "ResourceSlice"
        for problem in slice_problems(entry)
    ]

    assert refused == []


def test_the_diagnostic_points_at_the_value() -> None:
    text = """
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: s}
spec:
  driver: d.example.com
  nodeName: n0
  pool: {name: n0, generation: 1, resourceSliceCount: 1}
  devices:
  - name: a
    attributes:
      d.example.com/v: {version: "1.2"}
"""
    found = Diagnostics()

    read_cluster(read_text(text, "s.yaml"), found)

    (only,) = found.sorted()
    assert only.code == "invalid-slice"
    assert only.primary is not None
    assert only.primary.span.position == (12, 34)


def test_a_path_may_hold_dots_and_slashes_in_brackets() -> None:
    path = path_of("spec.devices[3].attributes[a.b/c].version")

    assert path == ("spec", "devices", 3, "attributes", "a.b/c", "version")


@pytest.mark.parametrize("junk", ["x", 1, None, [], {"devices": 3}, {"devices": [1, None]}, {"pool": []}])
def test_nonsense_is_diagnosed_and_never_raises(junk: object) -> None:
    assert slice_problems({"spec": junk})
