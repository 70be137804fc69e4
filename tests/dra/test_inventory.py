"""Reading inventories: versions, taint rules, claims that hold devices, pools that are passed over."""

from __future__ import annotations

import json

import pytest

from policygen.diagnostics import Diagnostics
from policygen.dra.inventory import Cluster, read_cluster
from policygen.dra.model import DeviceId, Node
from policygen.kube.reader import read_text


def read(*objects: dict[str, object]) -> tuple[Cluster, list[str]]:
    found = Diagnostics()
    text = "\n---\n".join(json.dumps(each) for each in objects)
    cluster = read_cluster(read_text(text, "all.yaml", found), found)
    return cluster, [each.code for each in found.sorted()]


def a_slice(version: str = "v1", name: str = "s", **spec: object) -> dict[str, object]:
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 1}
    device = {"attributes": {"a": {"string": "x"}}, "capacity": {"m": {"value": "1Gi"}}}
    devices = [{"name": "d0", "basic": device}] if version == "v1beta1" else [{"name": "d0", **device}]
    body = {"driver": "d.example.com", "nodeName": "n0", "pool": pool, "devices": devices, **spec}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": body,
    }


@pytest.mark.parametrize("version", ["v1", "v1beta2", "v1beta1"])
def test_every_served_version_reads_alike(version: str) -> None:
    cluster, codes = read(a_slice(version))
    (device,) = cluster.inventory().devices(Node("n0"))

    assert codes == []
    assert device.id == DeviceId("d.example.com", "n0", "d0")
    assert device.attributes == {"a": ("string", "x")}
    assert str(device.capacity["m"].value) == "1Gi"


def test_a_version_that_nobody_serves_is_an_error() -> None:
    assert read(a_slice("v1alpha3"))[1] == ["unserved-version"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_a_claim_of_either_shape_reads_alike(version: str) -> None:
    request: dict[str, object] = {"deviceClassName": "c", "count": 2}
    entry = {"name": "r", **request} if version == "v1beta1" else {"name": "r", "exactly": request}
    claim = {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {"name": "c", "namespace": "t"},
        "spec": {"devices": {"requests": [entry]}},
    }
    (only,) = read(claim)[0].claims

    assert [(each.class_name, each.count) for each in only.slots[0].alternatives] == [("c", 2)]


def test_a_taint_rule_taints_the_devices_it_selects() -> None:
    rule = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "r"},
        "spec": {
            "deviceSelector": {"driver": "d.example.com", "device": "d0"},
            "taint": {"key": "bad", "effect": "NoSchedule"},
        },
    }
    (device,) = read(a_slice(), rule)[0].inventory().devices(Node("n0"))

    assert [(each.key, each.effect) for each in device.taints] == [("bad", "NoSchedule")]


def test_allocated_claims_hold_devices_and_shares() -> None:
    results = [
        {"driver": "d", "pool": "p", "device": "whole", "request": "r"},
        {
            "driver": "d",
            "pool": "p",
            "device": "part",
            "request": "r",
            "shareID": "x",
            "consumedCapacity": {"m": "1Gi"},
        },
        {"driver": "d", "pool": "p", "device": "watched", "request": "r", "adminAccess": True},
    ]
    claim = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "c"},
        "spec": {},
        "status": {"allocation": {"devices": {"results": results}}},
    }
    cluster, _ = read(claim)

    assert cluster.claims == []
    assert cluster.allocated == {DeviceId("d", "p", "whole")}
    assert {
        key: {name: str(value) for name, value in amounts.items()}
        for key, amounts in cluster.capacity.items()
    } == {DeviceId("d", "p", "part"): {"m": "1Gi"}}


def test_pools_that_the_allocator_passes_over_are_warned_about() -> None:
    two = {"name": "n0", "generation": 1, "resourceSliceCount": 2}

    assert read(a_slice(pool=two))[1] == ["incomplete-pool"]
    assert read(a_slice(pool=two), a_slice(name="s2", pool=two))[1] == ["duplicate-device"]


def test_an_older_generation_is_said_to_be_ignored() -> None:
    newer = {"name": "n0", "generation": 2, "resourceSliceCount": 1}

    assert read(a_slice(), a_slice(name="s2", pool=newer))[1] == ["outdated-slice"]
