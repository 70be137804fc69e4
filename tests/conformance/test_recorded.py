"""The recordings of the API server's CEL, and the public suites: full agreement but for what is known."""

from __future__ import annotations

import gzip
import json

import pytest
from vectors import VECTORS, load

from policygen.conformance import runner
from policygen.conformance.runner import category, read_cases, run_file
from policygen.diagnostics import PolicygenError
from policygen.render.conformance import render, render_json

FILES = ["cel.jsonl.gz", "cel-spec-k8s.jsonl.gz", "cel-versions.jsonl.gz", "cel-spec.jsonl.gz"]


@pytest.mark.parametrize("name", FILES)
def test_recorded_expressions_agree(name):
    load(name)
    report = run_file(VECTORS / name)

    assert report.unexpected == []
    assert report.tally.total == report.tally.outcome + len(report.failures)
    assert report.tally.message == report.tally.cost == report.tally.outcome


def vector_file(tmp_path, *cases):
    path = tmp_path / "some.jsonl"
    path.write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    return path


RIGHT = {"id": "a-1", "op": "cel", "expr": "1 + 1", "expect": {"type": "int", "value": {"int": 2}, "cost": 1}}
WRONG = {"id": "a-2", "op": "cel", "expr": "1 + 1", "expect": {"type": "int", "value": {"int": 3}, "cost": 1}}
DEAR = {"id": "b-1", "op": "cel", "expr": "1 + 1", "expect": {"type": "int", "value": {"int": 2}, "cost": 2}}
SYNTAX = {
    "id": "b-2",
    "op": "cel",
    "expr": "1 +",
    "expect": {"compileError": "compilation failed: ERROR: <input>:1:4: Syntax error: mismatched"},
}


def test_differences_are_counted_and_shown(tmp_path):
    report = run_file(vector_file(tmp_path, RIGHT, WRONG, DEAR, SYNTAX))

    assert json.loads(render_json([report])) == {
        "files": {"some.jsonl": {"total": 4, "outcome": 3, "message": 3, "cost": 2, "failures": ["a-2"]}}
    }
    text = render([report], 10)
    assert "outcome of a-2" in text
    assert "cost of b-1" in text
    assert "a                 2    50.0%    50.0%    50.0%" in text


def test_ids_name_their_category():
    names = (
        "arith_int-26",
        "celspec-a/b/c",
        "1.36|sort|new",
        "s-99-h100",
        "apply_pod-1-2-gpu",
        "crd-job-9",
        "quota",
    )
    assert [category(name) for name in names] == [
        "arith_int",
        "celspec-a",
        "sort",
        "s",
        "apply_pod",
        "crd-job",
        "quota",
    ]
    assert category("crd-job-suspend") == "crd"


def test_a_known_difference_that_agrees_fails_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "KNOWN_DIFFERENCES", {"a-1": "it never agreed", "a-2": "it differs"})
    report = run_file(vector_file(tmp_path, RIGHT, WRONG))

    assert report.failures == ["a-2"]
    assert report.unexpected == ["a-1"]
    assert "a-1: agrees, and must be taken off the list of known differences" in render([report], 10)


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "some.jsonl"
    case = {
        **RIGHT,
        "expr": "'\u0085\u2028'",
        "expect": {"type": "string", "value": "\u0085\u2028", "cost": 0},
    }
    path.write_text(json.dumps(case, ensure_ascii=False), encoding="utf-8")

    assert run_file(path).tally.cost == 1


def test_gzipped_files_and_the_contexts_beside_them(tmp_path):
    case = {
        "id": "a-1",
        "op": "cel",
        "expr": "object.a",
        "context": "c",
        "expect": {"type": "dyn", "value": {"int": 7}, "cost": 2},
    }
    (tmp_path / "contexts.json").write_text(json.dumps({"c": {"variables": {"object": {"a": 7}}}}))
    path = tmp_path / "some.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(case).encode()))

    assert run_file(path).failures == []


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"{", "invalid-vectors"),
        (b"[]", "invalid-vectors"),
        (b"\x1f\x8bno", "invalid-vectors"),
        (b"\xff\xfe", "invalid-vectors"),
        (b'{"id": "x", "op": "teleport"}', "unknown-operation"),
        (b'{"id": "x", "op": "../x"}', "unknown-operation"),
        (b'{"id": "x", "op": "cel"}', "invalid-vectors"),
        (b'{"id": "x", "op": "cel", "expr": 1, "expect": {}}', "invalid-vectors"),
        (b'{"id": "x"}', "invalid-vectors"),
    ],
)
def test_files_that_are_no_vectors_are_refused(tmp_path, content, code):
    path = tmp_path / "bad.jsonl"
    path.write_bytes(content)

    with pytest.raises(PolicygenError) as caught:
        run_file(path)

    assert [diagnostic.code for diagnostic in caught.value.diagnostics] == [code]


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(PolicygenError, match="cannot read"):
        list(read_cases(tmp_path / "nothing.jsonl"))
