"""Copies, paths and selectors on plain objects."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.kube import objects, selectors

POD = {"metadata": {"name": "a", "namespace": "n", "labels": {"x": "1"}}, "spec": {"list": [{"b": 1}, None]}}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("spec", "list", 0, "b"), 1),
        (("spec", "list", 1), None),
        (("spec", "list", 2), "absent"),
        (("spec", "list", "b"), "absent"),
        (("spec", "list", 0, "b", "c"), "absent"),
        (("metadata", 0), "absent"),
        ((), POD),
    ],
)
def test_get(path, value):
    assert objects.get(POD, path, "absent") == value


def test_setting_leaves_the_original():
    before = copy.deepcopy(POD)

    assert objects.get(objects.replaced(POD, ("spec", "list", 0, "b"), 2), ("spec", "list", 0, "b")) == 2
    assert objects.replaced(POD, ("a", "b"), 1)["a"] == {"b": 1}
    assert objects.removed(POD, ("spec", "list", 0)) == POD | {"spec": {"list": [None]}}
    assert objects.removed(POD, ("spec", "list", 0, "b")) == POD | {"spec": {"list": [{}, None]}}
    assert objects.removed(POD, ("spec", "nope")) is POD
    assert before == POD


def test_names_of_objects():
    assert objects.describe({"kind": "Pod"} | POD) == "Pod n/a"
    assert objects.describe({"kind": "Node", "metadata": {"name": "x"}}) == "Node x"
    assert objects.identity({"metadata": None}) == ("", "", "", "")
    assert objects.labels(POD) == {"x": "1"}
    assert objects.labels({}) == {}
    assert objects.path_text(("spec", "list", 0, "b")) == "spec.list[0].b"
    assert objects.has(POD, ("spec", "list", 1))


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda v: st.lists(v) | st.dictionaries(st.text(max_size=2), v),
)


@given(JSON)
@settings(max_examples=100)
def test_a_copy_is_equal_and_shares_no_container(value):
    made = objects.copy(value)

    assert made == value
    if isinstance(value, dict | list):
        assert made is not value


@pytest.mark.parametrize(
    ("text", "labels", "matches"),
    [
        ("", {}, True),
        ("a=b", {"a": "b"}, True),
        ("a==b", {"a": "c"}, False),
        ("a!=b", {}, True),
        ("a in (b, c)", {"a": "c"}, True),
        ("a notin (b,c)", {"a": "c"}, False),
        ("a", {"a": ""}, True),
        ("!a", {"a": ""}, False),
        ("a=,b", {"a": "", "b": "1"}, True),
        ("x.io/a=b,!c", {"x.io/a": "b"}, True),
    ],
)
def test_selectors_in_text(text, labels, matches):
    parsed = selectors.parse(text)

    assert parsed.matches(labels) is matches
    assert selectors.parse(str(parsed)) == parsed


@pytest.mark.parametrize("text", ["a in b", "a in (b", "=a", "a=b,", "a b", "a in ()x", "ä", "a=é", ",", "!"])
def test_broken_selectors(text):
    with pytest.raises(selectors.SelectorError):
        selectors.parse(text)


@pytest.mark.parametrize(
    ("selector", "labels", "matches"),
    [
        (None, {}, False),
        ({}, {}, True),
        ({"matchLabels": {"a": "b"}}, {"a": "b"}, True),
        ({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": ["b"]}]}, {}, True),
        ({"matchExpressions": [{"key": "a", "operator": "Exists"}]}, {}, False),
        ({"matchLabels": None, "matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}, {}, True),
    ],
)
def test_selectors_as_objects(selector, labels, matches):
    assert selectors.from_object(selector).matches(labels) is matches


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ({"key": "a", "operator": "Is"}, '"Is" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            "values: Invalid value: [b]: values set must be empty for exists and does not exist",
        ),
    ],
)
def test_selectors_that_mean_nothing(requirement, message):
    with pytest.raises(selectors.SelectorError) as error:
        selectors.from_object({"matchExpressions": [requirement]})

    assert str(error.value) == message
