"""Whatever the text and whatever the data: a value, or an error of CEL's."""

from __future__ import annotations

import math
import time

import pytest

from policygen.cel.budget import Budget, OutOfBudgetError
from policygen.cel.env import admission_env
from policygen.cel.errors import CompileError, CostLimitExceededError, EvalError
from policygen.cel.program import compile_program
from policygen.cel.values import Optional, to_json

ENV = admission_env("1.36", has_params=True, patch_types=True, stored=True)

HOSTILE_TEXTS = {
    "brackets": "(" * 100_000,
    "lists": "[" * 100_000,
    "maps": "{" * 100_000,
    "calls": "f(" * 50_000,
    "quotes": '"' * 100_000,
    "conditions": "true ? 1 : " * 9_000 + "1",
    "a megabyte": "a" * 1_000_000,
    "nul": "\x00",
    "lone surrogate": "'\ud800' + \udfff",
    "non-ASCII name": "é",
    "private name": "@result",
    "huge number": "1" * 9_000,
    "huge exponent": "1e" + "9" * 900,
    "nested macros": "x.map(y, " * 200 + "1" + ")" * 200,
    "regex": "'a'.matches('" + "(" * 20_000 + "')",
}


@pytest.mark.parametrize("text", HOSTILE_TEXTS.values(), ids=HOSTILE_TEXTS.keys())
def test_hostile_texts_do_not_compile_and_say_so(text):
    with pytest.raises(CompileError) as caught:
        compile_program(text, ENV)

    assert str(caught.value)


@pytest.mark.parametrize("count", [249, 250])
def test_brackets_nest_to_a_limit(count):
    assert compile_program("[" * count + "]" * count, ENV).evaluate({}) != 1


def test_one_more_bracket_is_too_many():
    with pytest.raises(CompileError) as caught:
        compile_program("[" * 251 + "]" * 251, ENV)

    assert str(caught.value) == "ERROR: <input>:-1:0: expression recursion limit exceeded: 250"


def test_operators_on_the_right_nest_too():
    with pytest.raises(CompileError, match="recursion limit exceeded"):
        compile_program("(1 + " * 126 + "1" + ")" * 126, ENV)


def test_too_long_a_text_is_refused():
    with pytest.raises(CompileError) as caught:
        compile_program("1" + " " * 100_000, ENV)

    assert str(caught.value) == (
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000"
    )


def test_long_chains_are_no_problem():
    assert compile_program("1" + "+1" * 3_000, ENV).evaluate({}) == 3_001


def test_many_signs_are_one_or_none():
    assert compile_program("-" * 99_999 + "1", ENV).evaluate({}) == -1
    assert compile_program("!" * 99_000 + "true", ENV).evaluate({}) is True


def test_many_faults_are_cut_off():
    with pytest.raises(CompileError) as caught:
        compile_program("[" + ", ".join(f"a{number}" for number in range(150)) + "]", ENV)

    assert str(caught.value).endswith("50 more errors were truncated")
    assert len(caught.value.issues) == 150


def hostile_data():
    deep: dict = {}
    inner = deep
    for _ in range(1_000):
        inner["a"] = inner = {}
    nested: list = []
    for _ in range(1_000):
        nested = [nested]
    cyclic: dict = {}
    cyclic["a"] = cyclic
    endless: list = []
    endless.append(endless)
    return {
        "deep": deep,
        "nested": nested,
        "cyclic": cyclic,
        "endless": endless,
        "huge": 10**400,
        "big": 2**70,
        "nan": math.nan,
        "inf": math.inf,
        "surrogate": "\ud800abc",
        "set": {1, 2},
        "thing": object(),
        "tuple": (1, 2),
        1: "x",
        False: "y",
        None: "z",
        (1, 2): 3,
    }


EXPRESSIONS = [
    "x == x",
    "x != oldObject",
    "x + 1",
    "x * x",
    "x < 1.5",
    "x == 1.0",
    "x == 'a'",
    "-x",
    "x[0]",
    "x['a']",
    "x.a.a.a",
    "x.?a.?a.hasValue()",
    "x in x",
    "x in [1.0, 2.0]",
    "x.size()",
    "x.map(y, y)",
    "x.all(y, y == x)",
    "x.all(i, y, true)",
    "[x].distinct()",
    "x.distinct()",
    "[x].flatten()",
    "x.flatten(1000)",
    "[x, x].sort()",
    "x.sum()",
    "x.isSorted()",
    "{x: 1}",
    "Object{a: x}",
    "JSONPatch{value: x}",
    "string(x)",
    "int(x)",
    "uint(x)",
    "double(x)",
    "bytes(x)",
    "bool(x)",
    "duration(x)",
    "timestamp(x)",
    "quantity(x)",
    "url(x)",
    "ip(x)",
    "semver(x)",
    "'%s'.format([x])",
    "'%x'.format([x])",
    "'%d'.format([x])",
    "x.matches('a')",
    "x.find('a')",
    "x.split('')",
    "x.upperAscii()",
    "x.replace('a', 'b')",
    "jsonpatch.escapeKey(x)",
    "strings.quote(x)",
    "format.dns1123Label().validate(x)",
    "sets.contains([x], [x])",
    "optional.of(x) == optional.of(x)",
    "type(x)",
]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_hostile_data_gives_a_value_or_an_error_of_cel(expression):
    env = ENV.declare({"x": ENV.variables["object"]})
    program = compile_program(expression, env)
    program.specialize()
    outcomes = []
    for value in (*hostile_data().values(), hostile_data()):
        for evaluate in (program.evaluate_exactly, program.evaluate_with_cost):
            try:
                found, _ = evaluate({"x": value, "oldObject": None}, limit=1_000_000)
                to_json(found)
            except EvalError as error:
                found = error.message
            outcomes.append(found)

    assert len(outcomes) == 2 * (len(hostile_data()) + 1)


def shared(kind, levels=28):
    """A value of as many lists or maps as there are levels, which is a tree of 2 ** levels leaves."""
    value = [1, 2.5, "a"]
    for _ in range(levels):
        value = [value, value] if kind == "list" else {"a": value, "b": Optional([value])}
    return value


@pytest.mark.parametrize("kind", ["list", "map"])
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("x == y", True),
        ("x != y", False),
        ("x in [y]", True),
        ("[x, y].distinct().size()", 1),
        ("sets.equivalent([x], [y])", True),
        ("optional.of(x) == optional.of(y)", True),
        ("Object{a: x} == Object{a: y}", None),
        ("[nan, nan] == [nan, nan]", False),
        ("[x, nan] == [y, nan]", False),
    ],
)
def test_what_stands_in_many_places_is_compared_once(kind, expression, expected):
    names = ("x", "y", "nan")
    env = ENV.declare(dict.fromkeys(names, ENV.variables["object"]))
    program = compile_program(expression, env)
    data = {"x": shared(kind), "y": shared(kind), "nan": [math.nan]}

    found = program.evaluate(data)

    assert expected is None or found == expected


@pytest.mark.parametrize("expression", ["x.flatten(50).size()", "'%s'.format([x])", "[x].lastIndexOf(x)"])
def test_writing_out_what_stands_in_many_places_is_cancelled(expression):
    env = ENV.declare({"x": ENV.variables["object"]})

    with pytest.raises(CostLimitExceededError):
        compile_program(expression, env).evaluate_with_cost({"x": shared("list")}, limit=1_000_000)


def test_data_is_never_changed():
    data = {"object": {"list": [3, 1, 2], "map": {"a": 1}}}
    program = compile_program(
        "object.list.sort().size() + (object.list + object.list).size() + object.list.map(x, x).size() + "
        "object.map.transformMap(k, v, v).size()",
        ENV,
    )
    for _ in range(3):
        program.evaluate(data)

    assert data == {"object": {"list": [3, 1, 2], "map": {"a": 1}}}


@pytest.mark.parametrize("exactly", [True, False])
def test_evaluation_is_bounded_by_cost(exactly):
    program = compile_program("lists.range(1000000).all(x, x >= 0)", ENV)
    evaluate = program.evaluate_exactly if exactly else program.evaluate_with_cost
    start = time.monotonic()
    with pytest.raises(CostLimitExceededError) as caught:
        evaluate({}, limit=20_000)

    assert caught.value.message == "operation cancelled: actual cost limit exceeded"
    assert caught.value.cost > 20_000
    assert time.monotonic() - start < 5


def test_a_limit_is_not_absorbed():
    program = compile_program("lists.range(1000).all(x, x >= 0) || true", ENV)

    with pytest.raises(CostLimitExceededError):
        program.evaluate({}, limit=100)


def test_calls_share_a_budget():
    program = compile_program("object.a.b", ENV)
    budget = Budget(7)
    data = {"object": {"a": {"b": 1}}}
    program.evaluate(data, budget=budget)
    program.evaluate(data, budget=budget)

    assert budget.remaining == 1
    with pytest.raises(OutOfBudgetError):
        program.evaluate(data, budget=budget)


def test_regexes_take_linear_time():
    program = compile_program("object.matches('^(a+)+$')", ENV)
    start = time.monotonic()

    assert program.evaluate({"object": "a" * 5_000 + "b"}) is False
    assert time.monotonic() - start < 1
