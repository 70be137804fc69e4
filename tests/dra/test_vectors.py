"""What a real scheduler answered: the allocator's and the selectors' recordings."""

from __future__ import annotations

import pytest
import vectors

from policygen.conformance.ops import alloc, dra

SELECTORS = "selector.jsonl.gz"


def test_every_recorded_allocation_agrees() -> None:
    differing = [case["id"] for case in vectors.load("alloc.jsonl.gz") if not alloc.judge(case, {}).full]

    assert differing == []


def test_every_recorded_selector_agrees() -> None:
    cases = [case for case in vectors.load(SELECTORS) if not _runs_long(case)]

    assert [case["id"] for case in cases if not dra.judge(case, {}).full] == []


def _runs_long(case: dict) -> bool:
    """Those that end at the cost limit take a second each; one of them is enough."""
    return "cost limit" in case["expect"].get("evalError", "")


def test_an_expensive_selector_is_cut_off_as_by_the_scheduler() -> None:
    long = [case for case in vectors.load(SELECTORS) if _runs_long(case)]
    if not long:
        pytest.skip("no recording ends at the cost limit")

    assert dra.judge(long[0], {}).full
