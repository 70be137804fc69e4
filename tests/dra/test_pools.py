"""Pools as a node sees them."""

from __future__ import annotations

from policygen.dra.convert import read_slice
from policygen.dra.model import Node
from policygen.dra.pools import Inventory


def a_slice(name: str = "s", **spec: object) -> dict[str, object]:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    base = {"driver": "d.example.com", "pool": pool, "nodeName": "n0", "devices": [{"name": "a"}]}
    return {"metadata": {"name": name}, "spec": {**base, **spec}}


def pools(*slices: dict[str, object], node: str = "n0", **labels: str) -> list[tuple[str, str, list[str]]]:
    inventory = Inventory([read_slice(each) for each in slices])
    return [
        (
            str(pool),
            "incomplete" if pool.incomplete else pool.invalid,
            [device.name for device in pool.devices],
        )
        for pool in inventory.pools(Node(node, labels))
    ]


def test_an_older_generation_is_ignored() -> None:
    new = a_slice(
        "b", pool={"name": "p", "generation": 2, "resourceSliceCount": 1}, devices=[{"name": "new"}]
    )

    assert pools(a_slice("a"), new) == [("d.example.com/p", "", ["new"])]


def test_a_newer_generation_elsewhere_makes_the_pool_obsolete() -> None:
    other = a_slice("b", nodeName="n1", pool={"name": "p", "generation": 2, "resourceSliceCount": 1})
    mine = a_slice("a", pool={"name": "p", "generation": 1, "resourceSliceCount": 2})

    assert pools(mine, other) == []


def test_a_pool_that_lacks_a_slice_is_incomplete() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}

    assert pools(a_slice(pool=pool)) == [("d.example.com/p", "incomplete", [])]


def test_slices_of_other_nodes_complete_a_pool() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}
    other = a_slice("b", pool=pool, nodeName="n1", devices=[{"name": "b"}])

    assert pools(a_slice("a", pool=pool), other) == [("d.example.com/p", "", ["a"])]


def test_duplicate_devices_make_a_pool_invalid() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 2}

    found = pools(a_slice("a", pool=pool), a_slice("b", pool=pool))

    assert found == [("d.example.com/p", "duplicate device name a", [])]


def test_pools_are_sorted_and_those_with_binding_conditions_come_last() -> None:
    def named(name: str, **device: object) -> dict[str, object]:
        pool = {"name": name, "generation": 1, "resourceSliceCount": 1}
        return a_slice(name, pool=pool, devices=[{"name": "x", **device}])

    found = pools(named("c"), named("a", bindingConditions=["ready"]), named("b"))

    assert [name for name, _, _ in found] == ["d.example.com/b", "d.example.com/c", "d.example.com/a"]


def test_a_node_selector_decides_by_labels() -> None:
    selector = {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["z1"]}]}]
    }
    entry = a_slice(nodeName=None, nodeSelector=selector)

    assert pools(entry, zone="z1") == [("d.example.com/p", "", ["a"])]
    assert pools(entry, zone="z2") == []


def test_devices_may_choose_their_nodes_one_by_one() -> None:
    devices = [{"name": "a", "nodeName": "n0"}, {"name": "b", "nodeName": "n1"}]
    inventory = Inventory([read_slice(a_slice(nodeName=None, perDeviceNodeSelection=True, devices=devices))])

    assert [device.name for device in inventory.devices(Node("n1"))] == ["b"]


def test_counters_that_do_not_exist_make_a_pool_invalid() -> None:
    use = [{"counterSet": "none", "counters": {"m": {"value": "1"}}}]

    found = pools(a_slice(devices=[{"name": "a", "consumesCounters": use}]))

    assert found == [("d.example.com/p", "counter set none not found", [])]


def test_a_broken_counter_pool_of_another_node_is_seen_everywhere() -> None:
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 3}
    counters = a_slice(
        "c", pool=pool, devices=[], sharedCounters=[{"name": "g", "counters": {"m": {"value": "1"}}}]
    )

    assert pools(counters, node="n7") == [("d.example.com/p", "incomplete", [])]
