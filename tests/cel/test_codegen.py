"""Generated code gives what the exact steps give, or gives up."""

from __future__ import annotations

import warnings

import pytest
from vectors import load, load_json

from policygen.cel import codegen, runtime
from policygen.cel.env import admission_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib.authorizer import Authorizer
from policygen.cel.program import compile_program
from policygen.conformance.ops.cel import encode

ENV = admission_env("1.36", has_params=True, patch_types=True, stored=True)
NO_LIMIT = 2**64


def evaluated(evaluate, data):
    try:
        value, cost = evaluate(data)
    except EvalError as error:
        return error.message, error.cost
    return repr(encode(value)), cost


@pytest.mark.parametrize("name", ["cel.jsonl.gz", "cel-spec-k8s.jsonl.gz"])
def test_code_agrees_with_the_steps_on_recorded_expressions(name):
    context = load_json("vectors/contexts.json")["pod"]
    authorizer = Authorizer(context["authorizerAllow"], context["user"]["username"])
    check = authorizer.resource_check("", "pods", "", "ml-team-a", "trainer-0")
    data = {**context["variables"], "authorizer": authorizer, "authorizer.requestResource": check}
    different, generated = [], 0
    for case in load(name)[::3]:
        try:
            program = compile_program(case["expr"], ENV)
        except CompileError:
            continue
        generated += program.specialize()
        if evaluated(program.evaluate_with_cost, data) != evaluated(program.evaluate_exactly, data):
            different.append(case["expr"])

    assert different == []
    assert generated > 100


ORDINARY = [
    "object.a.b == 'x'",
    "has(object.a) && object.a.b != 'y'",
    "object.list.all(x, x > 0)",
    "object.list.filter(x, x > 1).map(x, x * 2)",
    "object.?nope.?b.orValue('none')",
    "object.a.b + 'z'",
    "object.list.exists(i, x, i == x)",
    "object.a.b in ['x', 'y'] ? 1 : 2",
    "Object{spec: Object.spec{a: object.a.b}}",
    "[JSONPatch{op: 'add', path: '/a', value: object.a.b}]",
    "optional.of(object.a.b).optMap(v, v + v)",
    "size(object.list) > 2 || object.list[0] == 1",
    "{'k': object.a.b}",
]
DATA = {"object": {"a": {"b": "x"}, "list": [1, 2, 3]}}


@pytest.mark.parametrize("expression", ORDINARY)
def test_ordinary_expressions_have_code_that_does_not_give_up(expression):
    program = compile_program(expression, ENV)

    assert program.specialize()
    run = codegen.generate(program._step, program.checked.types)
    value, cost = run(DATA, NO_LIMIT)
    exact = program.evaluate_exactly(DATA)
    assert (repr(encode(value)), cost) == (repr(encode(exact[0])), exact[1])


@pytest.mark.parametrize(
    "data",
    [
        {"object": {"a": "text", "list": "text"}},
        {"object": {"a": {"b": 1}, "list": {"k": True}}},
        {"object": {"a": {"b": None}, "list": [True, 1.0, "1"]}},
        {"object": {"a": {"b": ""}, "list": []}},
        {"object": []},
        {"object": None},
        {},
    ],
)
@pytest.mark.parametrize("expression", ORDINARY)
def test_unexpected_data_changes_no_answer(expression, data):
    program = compile_program(expression, ENV)
    program.specialize()

    assert evaluated(program.evaluate_with_cost, data) == evaluated(program.evaluate_exactly, data)


def test_what_code_raises_is_caught():
    with pytest.raises(runtime.GIVE_UP):
        runtime.give_up()


@pytest.mark.parametrize(("left", "right"), [(a, b) for a in range(4) for b in range(4)])
def test_logic_follows_the_truth_table(left, right):
    """An error or a value that is no bool is absorbed by the deciding value on either side."""
    operands = ["true", "false", "object.nope", "dyn('text')"]
    values = [True, False, None, None]
    for operator, deciding in (("&&", False), ("||", True)):
        for first, second in ((left, right), (right, left)):
            program = compile_program(f"({operands[first]}) {operator} ({operands[second]})", ENV)
            expected = {values[first], values[second]}
            got = evaluated(program.evaluate_with_cost, {"object": {}})[0]
            exact = evaluated(program.evaluate_exactly, {"object": {}})[0]
            if deciding in expected:
                assert got == exact == str(deciding)
            elif None in expected:
                assert got == exact
                assert got in ("no such key: nope", "no such overload")
            else:
                assert got == exact == str(not deciding)


@pytest.mark.parametrize("expression", ["dyn('a')['b']", "[1].all(x, dyn(null)[1] == x)", "dyn(1.5).a"])
def test_nothing_is_said_about_the_generated_code(expression):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        compile_program(expression, ENV).specialize()

    assert said == []
