"""Objects pass through Go's typed structs: what vanishes, what appears, what is refused."""

import contextlib
import copy
import time
from pathlib import Path

import pytest
import vectors
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.kube import catalog, defaults, roundtrip
from policygen.kube.decode_errors import DecodeError, number_text
from policygen.kube.gotime import format_duration, parse_duration
from policygen.kube.roundtrip import convert, round_trip, round_trip_strict

CASES = yaml.safe_load((Path(__file__).parent / "roundtrip.yaml").read_text(encoding="utf-8"))


def schema_of(obj):
    return catalog.load("1.36").get(obj["apiVersion"], obj["kind"])


@pytest.mark.parametrize("case", CASES["trips"], ids=lambda case: case["name"])
def test_trips(case):
    given, wanted = case["given"], case["wanted"]
    before = copy.deepcopy(given)
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {},
        "spec": {"containers": []} | given,
        "status": {},
    }

    assert round_trip(pod, schema_of(pod))["spec"] == {"containers": []} | wanted
    assert given == before


@pytest.mark.parametrize("case", CASES["errors"], ids=lambda case: case["error"][:60])
def test_errors(case):
    pod = {"apiVersion": "v1", "kind": "Pod"} | case["given"]

    with pytest.raises(DecodeError) as error:
        round_trip_strict(pod, schema_of(pod))

    assert error.value.message == case["error"]


@pytest.mark.parametrize("case", CASES["conversions"], ids=lambda case: case["error"])
def test_conversion_errors(case):
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": case["spec"]}

    with pytest.raises(DecodeError) as error:
        convert(pod, schema_of(pod))

    assert error.value.message == f"unable to convert unstructured object to /v1, Kind=Pod: {case['error']}"


def test_the_converter_cuts_large_integers():
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"priority": 2**32 + 5}}

    assert convert(pod, schema_of(pod))["spec"]["priority"] == 5
    with pytest.raises(DecodeError):
        round_trip(pod, schema_of(pod))


def test_unknown_fields_are_dropped_unless_strict():
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a", "nope": 1}], "no": {}}}

    assert "no" not in round_trip(pod, schema_of(pod))["spec"]
    with pytest.raises(DecodeError) as error:
        round_trip_strict(pod, schema_of(pod))
    assert error.value.paths == ("spec.containers[0].nope", "spec.no")


def test_what_the_server_wrote_stays_as_it_is():
    for case in vectors.load("default.jsonl.gz"):
        wanted = case["expect"]["object"]

        assert round_trip(wanted, schema_of(wanted)) == wanted


def test_recorded_defaults():
    for case in vectors.load("default.jsonl.gz"):
        before = copy.deepcopy(case["object"])

        assert defaults.default_object(case["object"], "1.36") == case["expect"]["object"], case["id"]
        assert case["object"] == before


def test_defaulting_twice_changes_nothing():
    for case in vectors.load("default.jsonl.gz")[::3]:
        once = defaults.default_object(case["object"], "1.36")

        assert defaults.default_object(once, "1.36") == once


@pytest.mark.parametrize("case", CASES["defaults"], ids=lambda case: case["name"])
def test_defaults(case):
    got = defaults.default_object(case["given"], case.get("version", "1.36"))
    for path, wanted in case["wanted"].items():
        value = got
        for step in path.split("."):
            value = value[int(step) if step.isdigit() else step]
        assert value == wanted, path


def test_every_rule_is_of_a_type_that_exists():
    known = set()
    for version in catalog.SUPPORTED:
        loaded = catalog.load(version)
        for kind in loaded.kinds():
            loaded.get(*kind)
        known |= set(loaded.types())

    assert set(defaults.TABLE) <= known


def test_a_pod_is_quick():
    pods = [case["object"] for case in vectors.load("default.jsonl.gz") if case["object"]["kind"] == "Pod"]
    for pod in pods:
        defaults.default_object(pod, "1.36")
    start = time.perf_counter()
    for pod in pods:
        defaults.default_object(pod, "1.36")
    each = (time.perf_counter() - start) / len(pods)

    assert each < 600e-6  # 35 µs on a quiet machine


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2)
    ),
    max_leaves=4,
)
FIELDS = sorted(catalog.load("1.36").struct("core/v1.PodSpec").fields)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=3))
@settings(max_examples=200, deadline=None)
def test_any_value_decodes_or_says_why(spec):
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec}
    before = copy.deepcopy(pod)
    for trip in (round_trip, round_trip_strict, convert):
        with contextlib.suppress(DecodeError):
            once = trip(pod, schema_of(pod))
            assert trip(once, schema_of(pod)) == once
    assert pod == before


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (5.5, "5.5"),
        (1e21, "1e+21"),
        (1.5e-7, "1.5e-7"),
        (2.0**63, "9223372036854776000"),
        (0.00001, "0.00001"),
    ],
)
def test_numbers_as_go_writes_them(value, text):
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("90s", "1m30s"),
        ("1h", "1h0m0s"),
        ("0", "0s"),
        ("1500ms", "1.5s"),
        ("-1.5h", "-1h30m0s"),
        ("15us", "15µs"),
    ],
)
def test_durations(text, canonical):
    assert format_duration(parse_duration(text)) == canonical


def test_base64():
    assert roundtrip.is_base64("aGk=")
    assert not roundtrip.is_base64("aGk")
