"""A second opinion: cel-python on what it gets right (see the list of engines)."""

from __future__ import annotations

import celpy
import pytest
from celpy import celtypes

from policygen.cel.env import admission_env
from policygen.cel.errors import EvalError
from policygen.cel.program import compile_program

ENV = admission_env("1.36", has_params=True, patch_types=False, stored=True)
DATA = {
    "name": "trainer",
    "replicas": 3,
    "ratio": 0.5,
    "on": True,
    "labels": {"app": "a", "tier": "gold"},
    "list": [3, 1, 2],
    "containers": [{"name": "m", "image": "r/x:1"}, {"name": "s", "image": "b"}],
}
EXPRESSIONS = [
    "object.name == 'trainer'",
    "object.name + '-' + object.labels.app",
    "object.replicas * 2 + 1",
    "object.replicas > 2 && object.on",
    "object.replicas / 2",
    "-7 / 2",
    "-7 % 2",
    "object.ratio * 2.0",
    "object.list[0] + object.list[1]",
    "object.list.map(x, x * 2)",
    "object.list.filter(x, x > 1)",
    "object.list.all(x, x > 0)",
    "object.list.exists(x, x == 2)",
    "object.list.exists_one(x, x > 2)",
    "size(object.list) + size(object.name)",
    "2 in object.list",
    "'app' in object.labels",
    "object.containers.map(c, c.name)",
    "object.containers.filter(c, c.image.startsWith('r/'))",
    "object.name.contains('ain') && object.name.endsWith('er')",
    "has(object.labels.tier) ? object.labels.tier : 'none'",
    "!has(object.nope)",
    "object.nope || true",
    "true || object.nope",
    "object.nope && false",
    "[1, 2] + [3]",
    "{'a': 1}.a",
    "int('42') + 1",
    "double('1.5')",
    "string(42)",
    "size('πέντε')",
    "9223372036854775807 + 1",
    "1 / 0",
    "object.nope",
    "object.list[7]",
]


def ours(expression):
    try:
        return compile_program(expression, ENV).evaluate({"object": DATA})
    except EvalError:
        return "error"


def theirs(expression):
    environment = celpy.Environment()
    program = environment.program(environment.compile(expression))
    try:
        return plain(program.evaluate({"object": celpy.json_to_cel(DATA)}))
    except celpy.CELEvalError:
        return "error"


def plain(value):
    match value:
        case celtypes.BoolType():
            return bool(value)
        case celtypes.IntType():
            return int(value)
        case celtypes.DoubleType():
            return float(value)
        case celtypes.StringType():
            return str(value)
        case celtypes.ListType():
            return [plain(item) for item in value]
        case celtypes.MapType():
            return {plain(key): plain(item) for key, item in value.items()}
        case _:
            return value


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_both_engines_give_one_answer(expression):
    assert ours(expression) == theirs(expression)
