"""Work in several processes comes back in order, whoever is done first."""

from __future__ import annotations

import time

import pytest

from policygen.cli.workers import map_ordered


def double(number: int) -> int:
    time.sleep(number % 3 / 1000)
    return 2 * number


@pytest.mark.parametrize("jobs", [1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 40])
def test_results_are_in_order(count: int, jobs: int) -> None:
    with map_ordered(double, iter(range(count)), jobs) as results:
        assert list(results) == [2 * number for number in range(count)]


def test_large_items_do_not_block_each_other() -> None:
    with map_ordered(len, (bytes(3_000_000 + n) for n in range(6)), 2) as results:
        assert list(results) == [3_000_000 + n for n in range(6)]
