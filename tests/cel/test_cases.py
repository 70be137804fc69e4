"""Tables of expressions: value or error, type, cost. Both evaluators agree, and the text comes back."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from policygen.cel.env import admission_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib.authorizer import Authorizer
from policygen.cel.program import compile_program, parse
from policygen.cel.unparse import unparse
from policygen.cel.values import to_json

FOLDER = Path(__file__).parent / "cases"
ENV = admission_env("1.36", has_params=True, patch_types=True, stored=True)
EMPTY: dict[str, Any] = {
    "object": None,
    "oldObject": None,
    "params": None,
    "request": {},
    "namespaceObject": None,
    "authorizer": Authorizer({}, ""),
}


def load() -> list[Any]:
    found = []
    for path in sorted(FOLDER.glob("*.yaml")):
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
        for case in table["cases"]:
            data = {**EMPTY, **table.get("vars", {}), **case.get("vars", {})}
            found.append(pytest.param(case, data, id=f"{path.stem}::{case['name']}"))
    return found


CASES = load()


def outcome(case: dict[str, Any], data: dict[str, Any], *, exactly: bool) -> dict[str, Any]:
    """What came of a case, in the words of the table."""
    try:
        program = compile_program(case["expr"], ENV)
    except CompileError as error:
        return {"check_error": str(error)}
    program.specialize()
    evaluate = program.evaluate_exactly if exactly else program.evaluate_with_cost
    try:
        value, cost = evaluate(data)
    except EvalError as error:
        return {"error": error.message, "cost": error.cost}
    return {"value": to_json(value), "type": program.result_type.declared, "cost": cost}


@pytest.mark.parametrize("exactly", [True, False], ids=["steps", "code"])
@pytest.mark.parametrize(("case", "data"), CASES)
def test_a_case_comes_out_as_written(case, data, exactly):
    got = outcome(case, data, exactly=exactly)
    if "check_error" in case and "check_error" in got:
        assert case["check_error"] in got["check_error"]
        return

    wanted = {name: case[name] for name in ("value", "error", "check_error", "type", "cost") if name in case}
    assert {name: got.get(name) for name in wanted} == wanted


@pytest.mark.parametrize(("case", "data"), CASES)
def test_unparsing_gives_a_text_that_parses_to_the_same(case, data):
    try:
        parsed = parse(case["expr"], ENV)
    except CompileError:
        return
    text = unparse(parsed)

    assert unparse(parse(text, ENV)) == text


def test_without_optional_syntax_it_is_refused():
    env = replace(ENV, optional_syntax=False)

    with pytest.raises(CompileError, match=r"unsupported syntax: '\.\?'"):
        parse("object.?a", env)
