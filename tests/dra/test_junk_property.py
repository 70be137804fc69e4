"""No object, however broken, makes reading, judging or allocating raise anything but its own errors."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from dra.devices import NODE
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.diagnostics import Diagnostics
from policygen.dra.allocation import AllocationError
from policygen.dra.allocator import Allocator
from policygen.dra.convert import read_claim, read_class, read_node, read_slice
from policygen.dra.inventory import Cluster
from policygen.dra.lint import lint_claim, lint_selector
from policygen.dra.pools import Inventory
from policygen.dra.quota import check_quota
from policygen.dra.selectors import SelectorMatcher
from policygen.dra.validate import slice_problems

KEYS = st.sampled_from(
    [
        "spec",
        "devices",
        "name",
        "driver",
        "pool",
        "nodeName",
        "attributes",
        "capacity",
        "value",
        "int",
        "string",
        "version",
        "bool",
        "requests",
        "exactly",
        "firstAvailable",
        "selectors",
        "cel",
        "expression",
        "count",
        "allocationMode",
        "constraints",
        "matchAttribute",
        "sharedCounters",
        "counters",
        "consumesCounters",
        "counterSet",
        "taints",
        "effect",
        "key",
        "generation",
        "resourceSliceCount",
        "requestPolicy",
        "validRange",
        "min",
        "max",
        "step",
        "default",
        "validValues",
        "nodeSelector",
        "nodeSelectorTerms",
        "basic",
        "deviceClassName",
    ]
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.sampled_from(
        ["", "a", "n0", "1Gi", "-1", "1.2.3", "All", "ExactCount", "any", "true", "device.nope", "1/0"]
    ),
    st.text(max_size=5),
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=6)),
    max_leaves=30,
)
POOL = {"name": "n0", "generation": 1, "resourceSliceCount": 1}


@settings(max_examples=200, deadline=None)
@given(JSON, JSON, JSON)
def test_junk_is_read_and_judged(devices: Any, requests: Any, rest: Any) -> None:
    entry = {
        "metadata": rest,
        "spec": {"driver": "d", "nodeName": "n0", "pool": POOL, "devices": devices, "sharedCounters": rest},
    }
    claim = {"metadata": rest, "spec": {"devices": {"requests": requests, "constraints": rest}}}
    found = Diagnostics()

    slice_problems(entry)
    slice_problems({"spec": rest})
    read_node({"metadata": rest})
    inventory = Inventory([read_slice(entry), read_slice({"spec": rest})])
    asked = read_claim(claim)
    classes = {"any": read_class({"metadata": {"name": "any"}, "spec": rest})}
    lint_claim(asked, classes, found)
    check_quota([asked], classes, {"spec": rest, "status": rest}, found)
    with suppress(AllocationError):
        Allocator(inventory, classes, SelectorMatcher(), Cluster().state(), 2000).allocate(NODE, [asked])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "device",
                ".",
                "attributes",
                "[",
                "]",
                "'gpu.nvidia.com'",
                "memory",
                "&&",
                "||",
                "!",
                "(",
                ")",
                "==",
                "<",
                "40",
                "has(",
                "cel.bind(",
                "a",
                ",",
                "?",
                ":",
                "in",
                "true",
                "capacity",
                "quantity(",
                "semver(",
                "'1.2'",
            ]
        ),
        max_size=14,
    )
)
def test_no_expression_breaks_the_lint(pieces: list[str]) -> None:
    lint_selector(" ".join(pieces), Diagnostics())
