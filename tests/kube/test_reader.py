"""Manifests are read as kubectl reads them."""

import io
import json
import math
import tracemalloc

import pytest
import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.diagnostics import Diagnostics, PolicygenError
from policygen.kube import reader


def read(text):
    """The values and the diagnostics of a text."""
    found = Diagnostics()
    documents = list(reader.read_text(text, "f.yaml", found))
    return [document.value for document in documents], [
        (item.code, item.primary.span.position if item.primary else None) for item in found
    ]


def test_scalars_read_as_kubectl_reads_them():
    for case in vectors.load_json("vectors/kubectl-yaml.json")["cases"]:
        text = f"apiVersion: v1\nkind: X\ndata:\n  v: {case['yaml']}\n"
        if "error" in case:
            with pytest.raises(PolicygenError):
                list(reader.read_text(text))
            continue
        (document,) = reader.read_text(text)
        got, wanted = document.value["data"]["v"], json.loads(case["json"])

        assert got == (float(wanted) if isinstance(got, float) else wanted), case
        assert isinstance(got, bool) == isinstance(wanted, bool), case


POD = {"apiVersion": "v1", "kind": "Pod"}


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", []),
        ("# nothing\n", []),
        ("---\n---\n", []),
        ("apiVersion: v1\nkind: Pod\n", [POD]),
        ("\ufeffapiVersion: v1\nkind: Pod\n", [POD]),
        ("apiVersion: v1\r\nkind: Pod\r\n--- # next\r\napiVersion: v1\r\nkind: Pod\r\n", [POD, POD]),
        ('{"apiVersion": "v1", "kind": "Pod"}', [POD]),
        ('{"apiVersion": "v1", "kind": "Pod"}{"apiVersion": "v1",\n"kind": "Pod"}\n', [POD, POD]),
        ('{"apiVersion": "v1", "kind": "Pod"}\n---\napiVersion: v1\nkind: Pod\n', [POD, POD]),
        ("{apiVersion: v1, kind: Pod}\n", [POD]),
        ("apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n", [POD]),
        ("apiVersion: v1\nkind: PodList\nitems:\n- {}\n- x: 1\n", [POD, POD | {"x": 1}]),
        (
            "apiVersion: v1\nkind: Pod\na: &a {b: 1}\nc: {<<: *a, d: 2}\n",
            [POD | {"a": {"b": 1}, "c": {"b": 1, "d": 2}}],
        ),
        (
            '{"apiVersion": "v1", "kind": "Pod", "x": 1.0, "y": 9223372036854775808}',
            [POD | {"x": 1, "y": 2.0**63}],
        ),
        ('{"apiVersion": "v1", "kind": "Pod", "x": "\\ud800"}', [POD | {"x": "\ufffd"}]),
    ],
)
def test_streams(text, values):
    got, faults = read(text)

    assert got == values
    assert faults == []


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        ("apiVersion: v1\nkind: Pod\nkind: Job\n", "manifest-duplicate-key", (3, 1)),
        ('{"apiVersion": "v1",\n "kind": "Pod", "kind": "Job"}', "manifest-duplicate-key", (2, 17)),
        ("a: 1\n", "manifest-not-object", (1, 1)),
        ("- a\n", "manifest-not-object", (1, 1)),
        ("apiVersion: v1\nkind: 5\n", "manifest-not-object", (1, 1)),
        ("apiVersion: v1\nkind: List\nitems:\n- 1\n", "manifest-not-object", (4, 3)),
        ("apiVersion: v1\nkind: Pod\nx: .nan\n", "manifest-value", (3, 4)),
        ("apiVersion: v1\nkind: Pod\nx: !!int a\n", "manifest-value", (3, 4)),
        ("apiVersion: v1\nkind: Pod\n~: a\n", "manifest-key", (3, 1)),
        ("apiVersion: v1\nkind: Pod\n[a]: b\n", "manifest-key", (3, 1)),
        ("apiVersion: v1\nkind: Pod\nx: &a [*a]\n", "manifest-aliases", (3, 4)),
        ("apiVersion: v1\nkind: Pod\nx: a: b\n", "manifest-syntax", (3, 5)),
        ("apiVersion: v1\nkind: Pod\nx:\t- a\n", "manifest-syntax", (3, 4)),
        ("apiVersion: v1\nkind: Pod\nx: \x01\n", "manifest-syntax", (3, 4)),
        ("apiVersion: v1\nkind: Pod\nx: {<<: 1}\n", "manifest-syntax", (3, 9)),
        ("--- x\napiVersion: v1\nkind: Pod\n", "manifest-syntax", (1, 1)),
        ("apiVersion: v1\nkind: Pod\nx: " + "[" * 120 + "]" * 120, "manifest-too-deep", (3, 103)),
        ("apiVersion: v1\nkind: Pod\nx: " + "[" * 9000, "manifest-syntax", None),
        ('{"a":' * 9000, "manifest-syntax", None),
    ],
)
def test_faults_have_a_code_and_a_place(text, code, place):
    _, faults = read(text)

    assert faults[0][0] == code
    assert place is None or faults[0][1] == place


def test_reading_goes_on_behind_a_fault():
    values, faults = read("a: [\n---\napiVersion: v1\nkind: Pod\n---\nb: 1\n")

    assert values == [POD]
    assert [code for code, _ in faults] == ["manifest-syntax", "manifest-not-object"]
    assert faults[1][1] == (6, 1)


def test_aliases_do_not_explode():
    lines = ["apiVersion: v1", "kind: Pod", "a: &a [x, x, x, x, x, x, x, x, x]"]
    lines += [f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join(['*' + chr(97 + at)] * 9)}]" for at in range(9)]

    _, faults = read("\n".join(lines))

    assert [code for code, _ in faults] == ["manifest-aliases"]


def test_bytes_that_are_not_utf8_are_an_error():
    found = Diagnostics()

    assert list(reader.read_stream(io.BytesIO(b"a: b\nc: \xff\n"), "f", found)) == []
    assert [(item.code, item.primary.span.position) for item in found] == [("manifest-encoding", (2, 1))]


def test_a_document_above_the_limit_is_an_error():
    found = Diagnostics()
    data = b"a: " + b"x" * (reader.MAX_DOCUMENT + 2 * 1024 * 1024)

    assert list(reader.read_stream(io.BytesIO(data), "f", found)) == []
    assert [item.code for item in found] == ["manifest-too-large"]


def test_spans_are_found_when_asked():
    head = "---\n---\napiVersion: v1\nkind: List\nitems:\n"
    text = head + "- apiVersion: v1\n  kind: Pod\n  spec: {a: [1, {b: 2}]}\n"
    (document,) = reader.read_text(text, "f.yaml")

    assert document.span(("spec", "a", 1, "b")).position == (8, 21)
    assert document.span(("spec", "nope", 3)).position == (8, 9)
    assert document.span().position == (6, 3)


class Repeated(io.RawIOBase):
    """A stream of many equal documents that is never held as a whole."""

    def __init__(self, document, count):
        self.document, self.left = document, count * len(document)
        self.at = 0

    def read(self, size=-1):
        size = min(size, self.left)
        self.left -= size
        first = self.at % len(self.document)
        self.at += size
        return (self.document * (size // len(self.document) + 2))[first : first + size]


@pytest.mark.parametrize(
    "document",
    [
        b"apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n# " + b"x" * 20_000 + b"\n---\n",
        b'{"apiVersion": "v1", "kind": "Pod", "x": "' + b"x" * 20_000 + b'"}\n',
    ],
)
def test_memory_does_not_grow_with_the_stream(document):
    tracemalloc.start()
    count = 1500

    assert sum(1 for _ in reader.read_stream(Repeated(document, count), "s")) == count
    assert tracemalloc.get_traced_memory()[1] < 8 * 1024 * 1024 < count * len(document) / 3
    tracemalloc.stop()


def test_paths(tmp_path):
    (tmp_path / "b.yaml").write_text("apiVersion: v1\nkind: Pod\nx: b\n")
    (tmp_path / "a.json").write_text('{"apiVersion": "v1", "kind": "Pod", "x": "a"}')
    (tmp_path / "notes.txt").write_text("[")
    found = Diagnostics()
    empty = tmp_path / "empty"
    empty.mkdir()

    assert [document.value["x"] for document in reader.read_paths([tmp_path], found)] == ["a", "b"]
    assert list(reader.read_paths([tmp_path / "nope.yaml", empty], found)) == []
    assert [item.code for item in found] == ["manifest-not-found", "manifest-not-found"]


@given(st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_no_text_makes_the_reader_fall_over(text):
    for _, place in read(text)[1]:
        assert place is None or min(place) >= 1


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_json_numbers_keep_their_value(number):
    (document,) = reader.read_text(json.dumps({"apiVersion": "v1", "kind": "X", "n": number}))

    assert math.isclose(document.value["n"], number, rel_tol=1e-15)


def test_the_json_schemas_in_a_directory_are_no_manifests(tmp_path):
    schema = tmp_path / "policygen.schema.json"
    schema.write_text('{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}')
    (tmp_path / "a.yaml").write_text("apiVersion: v1\nkind: X\n")
    (tmp_path / "b.schema.json").write_text('{"apiVersion": "v1", "kind": "Y"}')
    found = Diagnostics()

    assert [document.value["kind"] for document in reader.read_paths([tmp_path], found)] == ["X", "Y"]
    assert not list(found)
    assert list(reader.read_paths([schema], found)) == []
    assert [item.code for item in found] == ["manifest-not-object"]
