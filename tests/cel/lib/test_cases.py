"""Functions at their edges, as tables: an expression that is true, or the error that it gives."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from policygen.cel.env import Env, admission_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib.authorizer import Authorizer
from policygen.cel.program import compile_program

CASES = [
    pytest.param(expression, expected, id=f"{path.stem}: {expression}")
    for path in sorted(Path(__file__).with_name("cases").glob("*.yaml"))
    for case in yaml.safe_load(path.read_text("utf-8"))
    for expression, expected in case.items()
]


@pytest.fixture(scope="module")
def env() -> Env:
    return admission_env("1.36", has_params=False, patch_types=True, stored=True)


@pytest.mark.parametrize(("expression", "expected"), CASES)
def test_case(expression: str, expected: Any, env: Env) -> None:
    """The value or the error is the one in the table."""
    authorizer = Authorizer({}, "alice")
    activation = {
        "object": {},
        "authorizer": authorizer,
        "authorizer.requestResource": authorizer.resource_check("", "pods"),
    }
    try:
        got: object = compile_program(expression, env).evaluate(activation)
    except EvalError as error:
        got = {"error": error.message}
    except CompileError as error:
        got = {"error": error.text}
    assert got == expected
