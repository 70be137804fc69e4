"""Changes and device selectors in words."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policygen.merge.diff import diff
from policygen.verify.selector_words import tell
from policygen.verify.words import say

TABLE = yaml.safe_load((Path(__file__).parent / "words.yaml").read_text(encoding="utf-8"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
NAMES = ("spec", "containers", "env", "tolerations", "metadata", "labels", "affinity", "securityContext")
PODS = st.recursive(
    JSON,
    lambda inner: (
        st.dictionaries(st.sampled_from(NAMES), inner, max_size=4)
        | st.lists(
            st.fixed_dictionaries({"name": st.text(max_size=3)}, optional={"value": inner}), max_size=3
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("case", TABLE["selectors"], ids=lambda case: case["cel"][:60])
def test_selectors(case):
    assert tell(case["cel"]) == case["words"]


@pytest.mark.parametrize("case", TABLE["changes"], ids=lambda case: str(case["words"][0])[:60])
def test_changes(case):
    said = say(diff(case["before"], case["after"]))

    assert sorted(item.text for item in said) == sorted(case["words"])


@given(PODS, PODS)
def test_every_change_of_anything_is_told(before, after):
    changes = diff(before, after)
    said = say(changes)

    assert len(said) >= len(changes)
    assert all(item.text for item in said)


@given(st.text(max_size=40))
def test_every_selector_is_told(text):
    assert all(isinstance(words, str) for words in tell(text))
