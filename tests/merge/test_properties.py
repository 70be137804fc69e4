"""Laws of merging, patching and comparing, on random objects of random schemas."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.kube import objects
from policygen.kube.gotext import quote
from policygen.kube.schema import Field, KindSchema, ListOf, MapOf, Node, Scalar, Struct
from policygen.merge import merge
from policygen.merge.diff import apply, diff
from policygen.merge.fieldpath import go_float

WORDS = st.sampled_from(["a", "b", "c", "d"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=12,
)
TEXT = Scalar("string")


def keyed(inner: Node) -> ListOf:
    fields = {"name": Field(TEXT), "value": Field(inner)}
    return ListOf(Struct("", fields), "map", ("name",))


NODES = st.recursive(
    st.just(TEXT) | st.just(Scalar("int64")) | st.just(ListOf(TEXT, "set")) | st.just(ListOf(TEXT)),
    lambda inner: (
        st.builds(MapOf, inner)
        | st.builds(keyed, inner)
        | st.builds(
            lambda fields: Struct("", fields), st.dictionaries(WORDS, st.builds(Field, inner), min_size=1)
        )
    ),
    max_leaves=6,
)


def values(node: Node, *, atomics: bool) -> st.SearchStrategy[Any]:
    """Values of a node; without atomics a patch that may be applied."""
    match node:
        case Scalar(kind="string"):
            return WORDS
        case Scalar():
            return st.integers(0, 9)
        case MapOf():
            return st.dictionaries(WORDS, values(node.value, atomics=atomics), max_size=3)
        case ListOf(list_type="set"):
            return st.lists(WORDS, unique=True, max_size=4)
        case ListOf(list_type="map", element=Struct(fields=fields)):
            item = st.fixed_dictionaries(
                {"name": WORDS}, optional={"value": values(fields["value"].type, atomics=atomics)}
            )
            return st.lists(item, unique_by=lambda entry: entry["name"], max_size=4)
        case ListOf():
            return st.lists(WORDS, max_size=3) if atomics else st.none()
        case Struct():
            below = {name: values(field.type, atomics=atomics) for name, field in node.fields.items()}
            return st.fixed_dictionaries({}, optional=below)


@st.composite
def merges(draw: st.DrawFn) -> tuple[KindSchema, Any, Any]:
    root = Struct("", draw(st.dictionaries(WORDS, st.builds(Field, NODES), min_size=1)))
    schema = KindSchema("example.com/v1", "Example", root, builtin=False)
    return schema, draw(values(root, atomics=True)), draw(values(root, atomics=False))


@settings(max_examples=50, deadline=None)
@given(merges())
def test_an_empty_patch_changes_nothing(case: tuple[KindSchema, Any, Any]) -> None:
    schema, live, _ = case
    assert merge.apply(schema, live, {}) == live


@settings(max_examples=50, deadline=None)
@given(merges())
def test_merging_twice_is_merging_once(case: tuple[KindSchema, Any, Any]) -> None:
    schema, live, patch = case
    once = merge.apply(schema, live, patch)
    assert merge.apply(schema, once, patch) == once


@settings(max_examples=50, deadline=None)
@given(merges())
def test_inputs_are_untouched(case: tuple[KindSchema, Any, Any]) -> None:
    schema, live, patch = case
    before = objects.copy(live), objects.copy(patch)
    merge.apply(schema, live, patch)
    assert (live, patch) == before


@settings(max_examples=50, deadline=None)
@given(merges())
def test_an_object_merged_into_nothing_is_itself(case: tuple[KindSchema, Any, Any]) -> None:
    schema, _, patch = case
    assert merge.apply(schema, {}, patch) == patch


@settings(max_examples=150, deadline=None)
@given(JSON, JSON)
def test_applying_a_difference_gives_the_other(before: Any, after: Any) -> None:
    kept = objects.copy(before)
    result = apply(diff(before, after), before)
    assert result == after
    assert repr(result) == repr(after) or _sorted(result) == _sorted(after)
    assert before == kept


@given(JSON)
def test_there_is_no_difference_to_itself(value: Any) -> None:
    assert diff(value, objects.copy(value)) == []


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_printed_float_reads_back(value: float) -> None:
    assert float(go_float(value)) == value


@given(st.text(max_size=20))
def test_a_quoted_text_is_one_line(text: str) -> None:
    assert "\n" not in quote(text)


def _sorted(value: Any) -> str:
    """Python says that `True == 1`; the printed form does not."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{key}:{_sorted(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_sorted, value)) + "]"
    return repr(value)
