"""Every example of every function is true, and the printed list of functions is up to date."""

from __future__ import annotations

from pathlib import Path

import pytest

from policygen.cel.env import base_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib import LIBRARIES, NEVER
from policygen.cel.lib.authorizer import AUTHORIZER_TYPE, Authorizer
from policygen.cel.program import compile_program
from policygen.render.cel_functions import render

ENV = base_env(NEVER, devices=True).declare({"authorizer": AUTHORIZER_TYPE})
DATA = {"authorizer": Authorizer({}, "alice")}
PAGE = Path(__file__).parents[2] / "docs" / "cel-functions.md"
EXAMPLES = [
    pytest.param(example, id=f"{overload.id}::{example.expr}")
    for library in LIBRARIES
    for function in library.declarations()
    for overload in function.overloads
    for example in overload.examples
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_is_true(example):
    text = example.expr if example.result is None else f"({example.expr}) == ({example.result})"
    try:
        value = compile_program(text, ENV).evaluate(DATA)
    except (CompileError, EvalError) as error:
        value = str(error)

    assert (example.error in value) if example.error is not None else value is True


def test_every_function_has_an_example():
    shown = {
        function.name
        for library in LIBRARIES
        for function in library.declarations()
        if any(overload.examples for overload in function.overloads)
    }
    without = {
        function.name
        for library in LIBRARIES
        for function in library.declarations()
        if not function.name.startswith(("@", "cel.@"))
    }

    assert without - shown == set()


def test_the_page_is_up_to_date():
    """`python -m policygen.render.cel_functions > docs/cel-functions.md` writes it again."""
    assert PAGE.read_text(encoding="utf-8") == render()
