"""What claims charge at worst."""

from __future__ import annotations

from policygen.diagnostics import Diagnostics
from policygen.dra.convert import read_claim, read_class
from policygen.dra.quota import against_quota, check_quota, claim_charges

CLASSES = {
    "gpu": read_class({"metadata": {"name": "gpu"}, "spec": {"extendedResourceName": "nvidia.com/gpu"}}),
    "mig": read_class({"metadata": {"name": "mig"}, "spec": {}}),
}


def claim(*requests: dict[str, object]):
    spec = {"devices": {"requests": list(requests)}}
    return read_claim({"metadata": {"name": "c", "namespace": "t"}, "spec": spec})


def test_a_class_is_charged_under_three_keys() -> None:
    charges = claim_charges(
        [claim({"name": "r", "exactly": {"deviceClassName": "gpu", "count": 3}})], CLASSES
    )

    assert charges == {
        "count/resourceclaims.resource.k8s.io": 1,
        "gpu.deviceclass.resource.k8s.io/devices": 3,
        "requests.deviceclass.resource.kubernetes.io/gpu": 3,
        "requests.nvidia.com/gpu": 3,
    }


def test_all_counts_as_the_most_that_a_claim_may_hold() -> None:
    charges = claim_charges(
        [claim({"name": "r", "exactly": {"deviceClassName": "mig", "allocationMode": "All"}})], CLASSES
    )

    assert charges["mig.deviceclass.resource.k8s.io/devices"] == 32


def test_of_alternatives_every_class_is_charged_with_its_worst() -> None:
    alternatives = [
        {"name": "a", "deviceClassName": "gpu", "count": 1},
        {"name": "b", "deviceClassName": "mig", "count": 4},
        {"name": "c", "deviceClassName": "mig", "count": 2},
    ]

    charges = claim_charges([claim({"name": "r", "firstAvailable": alternatives})], CLASSES)

    assert charges["gpu.deviceclass.resource.k8s.io/devices"] == 1
    assert charges["mig.deviceclass.resource.k8s.io/devices"] == 4


def quota(used: str = "0", **hard: str) -> dict[str, object]:
    key = "gpu.deviceclass.resource.k8s.io/devices"
    return {
        "metadata": {"name": "q"},
        "spec": {"hard": {key: hard.get("gpu", "4")}},
        "status": {"used": {key: used}},
    }


def test_what_is_used_already_counts() -> None:
    charges = claim_charges(
        [claim({"name": "r", "exactly": {"deviceClassName": "gpu", "count": 3}})], CLASSES
    )

    assert [each.exceeds for each in against_quota(charges, quota())] == [False]
    assert [each.exceeds for each in against_quota(charges, quota(used="2"))] == [True]


def test_a_class_that_the_quota_does_not_list_is_unlimited() -> None:
    found = Diagnostics()

    check_quota(
        [claim({"name": "r", "exactly": {"deviceClassName": "mig", "count": 1}})], CLASSES, quota(), found
    )

    assert [each.code for each in found] == ["quota-not-limited"]


def test_a_claim_that_can_never_be_granted_is_an_error() -> None:
    small, large = (
        claim({"name": "r", "exactly": {"deviceClassName": "gpu", "count": count}}) for count in (3, 5)
    )

    def said(claims, used="0"):
        found = Diagnostics()
        check_quota(claims, CLASSES, quota(used=used), found)
        return [(each.severity, each.code) for each in found]

    assert said([small]) == []
    assert said([small, small]) == [("warning", "quota-exceeded")]
    assert said([small], used="2") == [("warning", "quota-exceeded")]
    assert said([small, large]) == [("error", "quota-exceeded")]
