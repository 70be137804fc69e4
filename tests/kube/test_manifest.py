"""Objects are written in the order that people write, and read back the same."""

import pytest
import vectors
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.kube import manifest, reader


def test_an_object_in_writing_order():
    policy = {
        "spec": {
            "mutations": [{"jsonPatch": {"expression": "[\n  1\n]\n"}, "patchType": "JSONPatch"}],
            "matchConstraints": {"resourceRules": [{"resources": ["pods"], "apiGroups": [""]}]},
            "reinvocationPolicy": "IfNeeded",
            "failurePolicy": "Fail",
        },
        "metadata": {"labels": {"name": "x", "app": "y"}, "name": "p", "annotations": {}},
        "kind": "MutatingAdmissionPolicy",
        "apiVersion": "admissionregistration.k8s.io/v1",
    }

    assert manifest.write(policy) == (
        "apiVersion: admissionregistration.k8s.io/v1\n"
        "kind: MutatingAdmissionPolicy\n"
        "metadata:\n"
        "  name: p\n"
        "  labels:\n"
        '    app: "y"\n'
        "    name: x\n"
        "  annotations: {}\n"
        "spec:\n"
        "  failurePolicy: Fail\n"
        "  reinvocationPolicy: IfNeeded\n"
        "  matchConstraints:\n"
        "    resourceRules:\n"
        '    - apiGroups: [""]\n'
        "      resources: [pods]\n"
        "  mutations:\n"
        "  - patchType: JSONPatch\n"
        "    jsonPatch:\n"
        "      expression: |\n"
        "        [\n"
        "          1\n"
        "        ]\n"
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("y", '"y"'),
        ("No", '"No"'),
        ("010", '"010"'),
        ("1e3", '"1e3"'),
        ("1:30", '"1:30"'),
        ("2024-01-01", '"2024-01-01"'),
        ("0x1F", '"0x1F"'),
        (".5", '".5"'),
        ("", '""'),
        ("~", '"~"'),
        ("<<", '"<<"'),
        ("- a", '"- a"'),
        ("a: b", '"a: b"'),
        ("a #b", '"a #b"'),
        ('say "x"', 'say "x"'),
        ('"x"', "'\"x\"'"),
        ("nvidia.com/gpu", "nvidia.com/gpu"),
        ("64Gi", "64Gi"),
        ("8-GPU", "8-GPU"),
        ("nccl@sha256:1", "nccl@sha256:1"),
        ("x\x07", '"x\\u0007"'),
        ("x\u2028", '"x\\u2028"'),
        (" x", '" x"'),
        (True, "true"),
        (None, "null"),
        (1.5, "1.5"),
        (1e22, "1.0e+22"),
    ],
)
def test_scalars(value, text):
    assert manifest.write({"v": value}) == f"v: {text}\n"


def test_documents_of_a_stream():
    assert manifest.write_all([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"


def test_recorded_objects_survive():
    for case in vectors.load("map.jsonl.gz")[::7]:
        for value in (case.get("object"), case["policy"]):
            if value:
                assert reader.load(manifest.write(value)) == value


WORDS = st.text(alphabet="yn01e.:- \n\t#'\"{}[],&*!|>%@`~=<_x", max_size=8)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False).filter(lambda number: not number.is_integer())
    | st.text(max_size=8)
    | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=5) | st.sampled_from(["y", "010", "labels"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4))
@settings(max_examples=300, deadline=None)
def test_what_is_written_reads_back_the_same(value):
    text = manifest.write(value)

    assert reader.load(text) == value
    assert yaml.safe_load(text) == value
    assert manifest.write(dict(reversed(value.items()))) == text
