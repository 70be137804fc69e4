"""The allocator against an oracle: the first choice in lexicographic order that satisfies everything."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from dra.devices import allocator, chosen, claim, device, exactly, inventory, match_attribute
from hypothesis import given, settings
from hypothesis import strategies as st

numbers = st.integers(0, 2)
devices = st.lists(st.tuples(numbers, st.one_of(st.none(), numbers)), min_size=1, max_size=7)
requests = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(["", "numa 0", "numa 1"])), min_size=1, max_size=3
)


def solutions(
    free: list[tuple[str, int, int | None]], wanted: list[tuple[int, str]]
) -> Iterator[list[list[tuple[str, int, int | None]]]]:
    """Every choice, request by request, each a subset in order."""
    if not wanted:
        yield []
        return
    (count, selector), *rest = wanted
    fitting = [each for each in free if not selector or each[1] == int(selector[-1])]
    for picked in combinations(fitting, count):
        left = [each for each in free if each not in picked]
        for others in solutions(left, rest):
            yield [list(picked), *others]


@settings(max_examples=150, deadline=None)
@given(devices, requests, st.booleans(), st.integers(0, 6))
def test_the_first_solution_is_chosen(
    found: list[tuple[int, int | None]],
    wanted: list[tuple[int, str]],
    aligned: bool,
    used: int,
) -> None:
    named = [(f"a{index}", numa, root) for index, (numa, root) in enumerate(found)]
    free = [each for index, each in enumerate(named) if index != used]
    expected = None
    for picked in solutions(free, wanted):
        roots = {root for _, _, root in picked[0]}
        if not aligned or (len(roots) == 1 and roots != {None}):
            expected = [(f"r{index}", each[0]) for index, group in enumerate(picked) for each in group]
            break
    subject = allocator(
        inventory(
            device(name, numa=numa, **({"root": root} if root is not None else {}))
            for name, numa, root in named
        ),
        used=[f"a{used}"],
    )
    asked = claim(
        [exactly(f"r{index}", count, selector) for index, (count, selector) in enumerate(wanted)],
        [match_attribute("root", "r0")] if aligned else [],
    )

    assert chosen(subject, asked) == expected
