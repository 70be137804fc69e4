"""Sorting as Go does it: sorted in any case, stable only for short lists."""

from hypothesis import given
from hypothesis import strategies as st

from policygen.cel.gosort import go_order
from policygen.cel.lib.lists_ext import sort, sort_by_keys

keys = st.lists(st.integers(0, 9), max_size=300)


@given(keys)
def test_keys_end_up_in_order(numbers: list[int]) -> None:
    """Whatever the pattern, and each element once."""
    order = go_order(len(numbers), lambda left, right: numbers[left] < numbers[right])
    assert [numbers[at] for at in order] == sorted(numbers)
    assert sorted(order) == list(range(len(numbers)))


@given(st.lists(st.integers(0, 3), max_size=12))
def test_short_lists_are_stable(numbers: list[int]) -> None:
    """Up to twelve elements Go inserts, which keeps equal keys in order."""
    items = [f"{number}-{at}" for at, number in enumerate(numbers)]
    assert sort_by_keys(items, numbers) == sorted(items, key=lambda item: int(item[0]))


@given(st.lists(st.floats(), max_size=40))
def test_nan_hangs_nothing(numbers: list[float]) -> None:
    """NaN is less than nothing, so it stays somewhere."""
    assert len(sort(numbers)) == len(numbers)


def test_patterns_that_switch_the_algorithm() -> None:
    """Descending, organ pipe, saw and constant lists."""
    for numbers in (
        list(range(200, 0, -1)),
        [*range(100), *range(100, 0, -1)],
        [at % 7 for at in range(500)],
        [1] * 100,
        [at * 7919 % 1009 for at in range(1000)],
    ):
        order = go_order(len(numbers), lambda left, right, of=numbers: of[left] < of[right])
        assert [numbers[at] for at in order] == sorted(numbers)
