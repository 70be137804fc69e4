"""The allocator's choices, one at a time; the recordings hold many at once."""

from __future__ import annotations

import pytest
from dra.devices import NODE, allocator, chosen, claim, device, exactly, inventory, match_attribute

from policygen.dra.allocation import AllocationError, SearchLimitError
from policygen.dra.convert import read_slice
from policygen.dra.model import Gates
from policygen.dra.pools import Inventory

FOUR = [device("a", numa=0), device("b", numa=0), device("c", numa=1), device("d", numa=1)]


def test_the_first_devices_are_taken() -> None:
    assert chosen(allocator(inventory(FOUR)), claim([exactly("r", 2)])) == [("r", "a"), ("r", "b")]


def test_devices_in_use_are_passed_over() -> None:
    assert chosen(allocator(inventory(FOUR), used=["a"]), claim([exactly("r")])) == [("r", "b")]


def test_a_constraint_skips_free_devices() -> None:
    subject = allocator(inventory(FOUR), used=["a"])

    assert chosen(subject, claim([exactly("r", 2)], [match_attribute("numa")])) == [("r", "c"), ("r", "d")]


def test_a_device_without_the_attribute_is_excluded() -> None:
    found = inventory([device("a"), device("b", numa=1)])

    assert chosen(allocator(found), claim([exactly("r")], [match_attribute("numa")])) == [("r", "b")]


def test_backtracking_gives_up_what_an_earlier_request_took() -> None:
    subject = allocator(inventory(FOUR))
    requests = [exactly("first"), exactly("second", 2, "numa 0")]

    assert chosen(subject, claim(requests)) == [("first", "c"), ("second", "a"), ("second", "b")]


def test_the_first_alternative_that_works_is_taken() -> None:
    aligned = {"name": "aligned", "deviceClassName": "any", "count": 3}
    loose = {"name": "loose", "deviceClassName": "any", "count": 3}
    wanted = claim(
        [{"name": "gpu", "firstAvailable": [aligned, loose]}], [match_attribute("numa", "gpu/aligned")]
    )

    assert chosen(allocator(inventory(FOUR)), wanted) == [
        ("gpu/loose", "a"),
        ("gpu/loose", "b"),
        ("gpu/loose", "c"),
    ]


def test_all_takes_every_matching_device() -> None:
    wanted = claim([exactly("r", 0, "numa 1", allocationMode="All")])

    assert chosen(allocator(inventory(FOUR)), wanted) == [("r", "c"), ("r", "d")]


def test_all_fails_when_one_is_in_use() -> None:
    wanted = claim([exactly("r", 0, "numa 1", allocationMode="All")])

    assert chosen(allocator(inventory(FOUR), used=["d"]), wanted) is None


def test_admin_access_ignores_what_is_in_use() -> None:
    wanted = claim([exactly("r", 0, "numa 1", allocationMode="All", adminAccess=True)])

    assert chosen(allocator(inventory(FOUR), used=["d"]), wanted) == [("r", "c"), ("r", "d")]


def test_a_taint_keeps_a_device_from_those_who_do_not_tolerate_it() -> None:
    tainted = {**device("a"), "taints": [{"key": "k", "value": "v", "effect": "NoSchedule"}]}
    subject = allocator(inventory([tainted, device("b")]))
    tolerant = exactly("r", tolerations=[{"key": "k", "operator": "Exists"}])

    assert chosen(subject, claim([exactly("r")])) == [("r", "b")]
    assert chosen(subject, claim([tolerant])) == [("r", "a")]


def test_a_taint_without_effect_on_scheduling_does_not_matter() -> None:
    noted = {**device("a"), "taints": [{"key": "k", "effect": "None"}]}

    assert chosen(allocator(inventory([noted])), claim([exactly("r")])) == [("r", "a")]


def shared(capacity: str, policy: dict[str, object]) -> dict[str, object]:
    amounts = {"memory": {"value": capacity, "requestPolicy": policy}}
    return {"name": "a", "allowMultipleAllocations": True, "capacity": amounts}


def asking(memory: str) -> dict[str, object]:
    return exactly("r", capacity={"requests": {"memory": memory}})


@pytest.mark.parametrize(
    ("policy", "memory", "consumed"),
    [
        ({"default": "2Gi", "validRange": {"min": "1Gi", "step": "2Gi"}}, "4Gi", "5Gi"),
        ({"default": "2Gi", "validRange": {"min": "1Gi"}}, "512Mi", "1Gi"),
        ({"default": "2Gi", "validValues": ["2Gi", "4Gi"]}, "3Gi", "4Gi"),
        ({"default": "2Gi", "validValues": ["2Gi", "4Gi"]}, "5Gi", None),
        ({"default": "2Gi", "validRange": {"min": "1Gi", "max": "3Gi"}}, "4Gi", None),
    ],
)
def test_a_request_is_rounded_by_the_policy(
    policy: dict[str, object], memory: str, consumed: str | None
) -> None:
    found = allocator(inventory([shared("8Gi", policy)])).allocate(NODE, [claim([asking(memory)])])

    amounts = found[0].chosen[0].consumed if found else {}
    assert {name: str(amount) for name, amount in amounts.items()} == (
        {"memory": consumed} if consumed else {}
    )


def test_shares_of_one_device_add_up() -> None:
    subject = allocator(inventory([shared("8Gi", {"default": "4Gi"})]))
    three = [claim([asking("4Gi")]) for _ in range(3)]

    assert chosen(subject, *three[:2]) == [("r", "a"), ("r", "a")]
    assert chosen(subject, *three) is None


def partition(name: str, amount: str) -> dict[str, object]:
    use = {"counterSet": "gpu", "counters": {"slices": {"value": amount}}}
    return {"name": name, "consumesCounters": [use]}


def partitions(*devices: dict[str, object]) -> Inventory:
    pool = {"name": "n0", "generation": 1, "resourceSliceCount": 2}
    base = {"driver": "d.example.com", "nodeName": "n0", "pool": pool}
    counters = [{"name": "gpu", "counters": {"slices": {"value": "7"}}}]
    return Inventory(
        [
            read_slice({"metadata": {"name": "c"}, "spec": {**base, "sharedCounters": counters}}),
            read_slice({"metadata": {"name": "s"}, "spec": {**base, "devices": list(devices)}}),
        ]
    )


def test_partitions_share_their_counters() -> None:
    found = partitions(partition("whole", "7"), partition("big", "4"), partition("small", "3"))

    assert chosen(allocator(found), claim([exactly("r", 2)])) == [("r", "big"), ("r", "small")]
    assert chosen(allocator(found, used=["small"]), claim([exactly("r")])) == [("r", "big")]
    assert chosen(allocator(found, used=["whole"]), claim([exactly("r")])) is None


def test_a_selector_that_fails_ends_the_node() -> None:
    with pytest.raises(
        AllocationError, match=r"claim t/c: selector #0: CEL runtime error: no such key: fail"
    ):
        chosen(allocator(inventory(FOUR)), claim([exactly("r", 1, "fail")]))


def test_a_class_that_is_missing_is_an_error() -> None:
    with pytest.raises(AllocationError, match=r"claim t/c, request r: could not retrieve device class nope"):
        chosen(allocator(inventory(FOUR)), claim([exactly("r", deviceClassName="nope")]))


def test_more_devices_than_a_result_holds_are_an_error() -> None:
    with pytest.raises(
        AllocationError, match=r"number of requested devices 33 exceeds the claim limit of 32"
    ):
        chosen(allocator(inventory(FOUR)), claim([exactly("r", 33)]))


def test_what_can_never_hold_is_found_without_trying_every_subset() -> None:
    many = [device(f"a{n:02}", numa=n % 4) for n in range(64)]
    wanted = claim([exactly("any", 12), exactly("none", 20, "numa 9")])

    assert chosen(allocator(inventory(many), max_steps=2_000), wanted) is None


def test_a_constraint_that_no_group_meets_is_found_as_quickly() -> None:
    many = [device(f"a{n:02}", numa=n % 16) for n in range(32)]
    wanted = claim([exactly("any", 8), exactly("same", 5)], [match_attribute("numa", "same")])

    assert chosen(allocator(inventory(many), max_steps=2_000), wanted) is None


def test_more_requests_than_devices_are_found_as_quickly() -> None:
    many = [device(f"a{n:02}") for n in range(24)]
    wanted = claim([exactly("x", 10), exactly("y", 10), exactly("z", 5)])

    assert chosen(allocator(inventory(many), max_steps=2_000), wanted) is None


def test_values_that_are_all_the_same_are_never_distinct() -> None:
    many = [device(f"a{n:02}", same=1) for n in range(24)]
    distinct = {"distinctAttribute": "d.example.com/same", "requests": ["y"]}

    assert (
        chosen(
            allocator(inventory(many), max_steps=2_000), claim([exactly("x", 8), exactly("y", 2)], [distinct])
        )
        is None
    )


def test_the_search_is_given_up_at_its_bound() -> None:
    many = [device(f"a{n:02}", here=n % 2, there=n) for n in range(24)]
    both = [match_attribute("here", "x", "y"), match_attribute("there", "y", "z")]
    wanted = claim([exactly("x", 6), exactly("y", 1), exactly("z", 1)], both)

    with pytest.raises(SearchLimitError, match="gave up after 2000 attempts"):
        chosen(allocator(inventory(many), max_steps=2_000), wanted)


def listed(name: str, *numa: int) -> dict[str, object]:
    return {"name": name, "attributes": {"numa": {"ints": list(numa)}}}


def test_lists_match_when_they_share_an_element() -> None:
    devices = [listed("a", 1, 2), listed("b", 1), listed("c", 2), listed("d", 2)]
    found = Inventory(inventory(devices).slices, Gates(list_attributes=True))

    assert chosen(allocator(found), claim([exactly("r", 3)], [match_attribute("numa")])) == [
        ("r", "a"),
        ("r", "c"),
        ("r", "d"),
    ]


def test_lists_never_match_where_the_feature_is_off() -> None:
    found = inventory([listed("a", 1), listed("b", 1)])

    assert chosen(allocator(found), claim([exactly("r", 2)], [match_attribute("numa")])) is None


def test_a_claim_may_be_as_large_as_many_claims_together() -> None:
    many = inventory(device(f"a{n:03}") for n in range(1000))

    found = chosen(allocator(many), *[claim([exactly("r", 32)]) for _ in range(30)])

    assert found is not None
    assert len(found) == 960
