"""Every recorded mutation of a real API server."""

from __future__ import annotations

from vectors import load

from policygen.conformance.ops.map import judge


def test_recorded_mutations() -> None:
    cases = load("map.jsonl.gz")

    differing = [case["id"] for case in cases if not judge(case, {}).full]

    assert differing == []
