"""Why not, and how much of an inventory can serve a claim."""

from __future__ import annotations

from dra.devices import NODE, allocator, claim, device, exactly, inventory, match_attribute

from policygen.dra.advice import advise, try_node
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_node, read_slice
from policygen.dra.model import Node
from policygen.dra.pools import Inventory
from policygen.dra.profiles import generate
from policygen.dra.selectors import SelectorMatcher

FOUR = [device("a", numa=0), device("b", numa=0), device("c", numa=1), device("d", numa=1)]


def why(*args, used=(), **kwargs) -> list[str]:
    return list(try_node(allocator(inventory(FOUR), used), NODE, [claim(*args, **kwargs)]).reasons)


def test_too_few_devices_match() -> None:
    assert why([exactly("r", 3, "numa 1")]) == ["request `r` needs 3: 2 of 4 devices match"]


def test_devices_that_match_are_in_use() -> None:
    assert why([exactly("r", 2, "numa 1")], used=["c"]) == [
        "request `r` needs 2: 2 of 4 devices match, 1 in use"
    ]


def test_a_constraint_that_cannot_be_met_says_how_many_agree() -> None:
    assert why([exactly("r", 3)], [match_attribute("numa")]) == [
        "constraint matchAttribute `d.example.com/numa` needs 3 alike: at most 2 (0: 2, 1: 2)"
    ]


def test_an_attribute_that_nothing_has_is_said_to_be_missing() -> None:
    assert why([exactly("r", 2)], [match_attribute("nope")]) == [
        "constraint matchAttribute `d.example.com/nope` needs 2 alike: none has it"
    ]


def test_requests_that_fit_alone_may_not_fit_together() -> None:
    assert why([exactly("r", 2, "numa 1"), exactly("s", 1, "numa 1")]) == [
        "each request could be met alone, but not all of them together"
    ]


def machines(*profiles: str) -> tuple[Allocator, list[Node]]:
    objects = [each for profile in profiles for each in generate(profile)]
    by_kind: dict[str, list[dict[str, object]]] = {}
    for each in objects:
        by_kind.setdefault(str(each["kind"]), []).append(each)
    classes = {entry.name: entry for entry in map(read_class, by_kind["DeviceClass"])}
    subject = Allocator(Inventory(map(read_slice, by_kind["ResourceSlice"])), classes, SelectorMatcher())
    return subject, [read_node(each) for each in by_kind["Node"]]


def gpus(count: int, attribute: str):
    exact = {"deviceClassName": "gpu.nvidia.com", "count": count}
    devices = {
        "requests": [{"name": "gpu", "exactly": exact}],
        "constraints": [{"matchAttribute": f"resource.kubernetes.io/{attribute}"}],
    }
    return read_claim({"metadata": {"name": "c", "namespace": "t"}, "spec": {"devices": devices}})


def test_the_share_of_nodes_and_the_binding_constraint() -> None:
    subject, nodes = machines("dgx-a100", "dgx-h100", "t4")

    advice = advise(subject, nodes, [gpus(4, "numaNode")])

    assert (advice.nodes, advice.now, advice.empty) == (3, 2, 2)
    assert [(each.attribute, freed) for each, freed in advice.binding] == [
        ("resource.kubernetes.io/numaNode", 1)
    ]
    assert advice.impossible == ()


def test_four_gpus_on_a_root_that_has_two_can_never_be() -> None:
    subject, nodes = machines("dgx-a100", "dgx-h100")

    advice = advise(subject, nodes, [gpus(4, "pcieRoot")])

    assert (advice.now, advice.empty) == (0, 0)
    (only,) = advice.impossible
    assert only.startswith(
        "constraint matchAttribute `resource.kubernetes.io/pcieRoot` needs 4 alike: at most 2"
    )
