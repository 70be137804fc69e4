"""Paths as people write them in suites."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.verify import paths
from policygen.verify.paths import ABSENT, PathError, Where

POD = {
    "metadata": {"labels": {"a.b/c": "x", "it's": "y"}},
    "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}]}, {"name": "b.c"}]},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("spec.containers[0].name", "a"),
        ("spec.containers[-1].name", "b.c"),
        ("spec.containers[name=a].name", "a"),
        ('spec.containers[name="b.c"].name', "b.c"),
        ("spec.containers[name=a].ports[containerPort=80].containerPort", 80),
        ('metadata.labels["a.b/c"]', "x"),
        ("metadata.labels['a.b/c']", "x"),
        ("spec.containers[2]", ABSENT),
        ("spec.containers[name=c]", ABSENT),
        ("spec.nodeSelector.x", ABSENT),
        ("spec.containers.name", ABSENT),
    ],
)
def test_get(text: str, value: Any):
    assert paths.get(POD, paths.parse(text)) == value


@pytest.mark.parametrize("text", ["", ".", "a.", "a..b", "a[", "a[x", "a[]", "a[=1]", 'a["b]', "a b"])
def test_what_is_no_path(text: str):
    with pytest.raises(PathError):
        paths.parse(text)


STEPS = (
    st.lists(
        st.one_of(
            st.text(min_size=1, max_size=8),
            st.integers(-3, 9),
            st.builds(
                Where,
                st.from_regex(r"[a-z]{1,5}", fullmatch=True),
                st.from_regex(r"[a-z.0-9]{1,5}", fullmatch=True),
            ),
        ),
        min_size=1,
        max_size=5,
    )
    .filter(lambda steps: isinstance(steps[0], str))
    .map(tuple)
)


@settings(deadline=None)
@given(STEPS)
def test_what_is_shown_reads_back(steps: tuple[paths.Step, ...]):
    assert paths.parse(paths.show(steps)) == steps


def _can_be_put(steps: tuple[paths.Step, ...]) -> bool:
    """Whether no step is a position, and none overwrites the field that the step before it is found by."""
    pairs = list(pairwise(steps))
    return not any(isinstance(step, int) for step in steps) and not any(
        isinstance(left, Where) and (isinstance(right, Where) or right == left.field) for left, right in pairs
    )


@settings(deadline=None)
@given(STEPS.filter(_can_be_put))
def test_what_is_put_is_there_and_can_go(steps: tuple[paths.Step, ...]):
    made = paths.put({}, steps, "new")

    assert paths.get(made, steps) == "new" or isinstance(steps[-1], Where)
    if not isinstance(steps[-1], Where):
        assert paths.get(paths.remove(made, steps), steps) is ABSENT
