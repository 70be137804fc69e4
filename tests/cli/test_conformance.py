"""`policygen conformance` and `policygen bench`."""

from __future__ import annotations

import json

from policygen.cli.main import run

CASE = {"id": "a-1", "op": "cel", "expr": "1 + 1", "expect": {"type": "int", "value": {"int": 2}, "cost": 1}}


def test_agreement_is_success(capsys, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(CASE))
    assert run(["conformance", str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["files"]["some.jsonl"]["outcome"] == 1


def test_a_different_outcome_is_failure(capsys, tmp_path):
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps({**CASE, "expr": "1 + 2"}))
    assert run(["conformance", str(path), "--show", "1"]) == 1
    assert "outcome of a-1\n  1 + 2\n  expected" in capsys.readouterr().out


def test_bench_measures_cel(capsys, tmp_path):
    assert run(["bench", "cel", "--json", "--vectors", str(tmp_path)]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["cel_compile_us"] > 0
    assert figures["cel_eval_us"] > 0


def test_bench_knows_its_topics(capsys):
    assert run(["bench", "teleport"]) != 0
    assert "no topic `teleport`" in capsys.readouterr().err
