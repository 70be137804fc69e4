"""Laws of CEL that hold for any expression, any text and any data."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.cel import ast
from policygen.cel.env import admission_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib.authorizer import Authorizer
from policygen.cel.program import compile_program, parse
from policygen.cel.types import Type
from policygen.cel.unparse import literal, unparse
from policygen.cel.values import Optional, Uint, equal, type_name
from policygen.conformance.ops.cel import encode

ENV = admission_env("1.36", has_params=True, patch_types=True, stored=True)
FEW = settings(max_examples=80, deadline=None)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
names = st.sampled_from(["a", "b", "c"])


def joined(*parts: st.SearchStrategy[str] | str) -> st.SearchStrategy[str]:
    """Texts one after the other."""
    return st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts)).map("".join)


paths = st.lists(names, min_size=1, max_size=3).map(lambda parts: ".".join(["object", *parts]))
small = st.integers(-5, 5).map(str)
words = st.sampled_from(["''", "'a'", "'abc'", "'é'", "'1'"])


def typed(kind: str, depth: int) -> st.SearchStrategy[str]:
    """Expressions of a type, most of which compile."""
    if depth == 0:
        return {
            "int": small | paths,
            "string": words | paths,
            "bool": st.sampled_from(["true", "false"]) | paths,
            "list": st.sampled_from(["[]", "[1, 2, 3]", "[0]"]) | paths,
        }[kind]
    integer, text, boolean, listed = (typed(name, depth - 1) for name in ("int", "string", "bool", "list"))
    forms = {
        "int": [
            joined("(", integer, st.sampled_from([" + ", " - ", " * ", " / ", " % "]), integer, ")"),
            joined("size(", text, ")"),
            joined("(", boolean, " ? ", integer, " : ", integer, ")"),
            joined(listed, "[", integer, "]"),
            joined("int(", text, ")"),
            joined("object.?", names, ".orValue(", integer, ")"),
        ],
        "string": [
            joined("(", text, " + ", text, ")"),
            joined("string(", integer, ")"),
            joined(text, ".upperAscii()"),
            joined(text, ".substring(", integer, ")"),
        ],
        "bool": [
            joined("(", boolean, st.sampled_from([" && ", " || "]), boolean, ")"),
            joined("!(", boolean, ")"),
            joined("(", integer, st.sampled_from([" < ", " == ", " != ", " >= "]), integer, ")"),
            joined("(", text, st.sampled_from([" == ", " < "]), text, ")"),
            joined(listed, st.sampled_from([".all", ".exists", ".exists_one"]), "(x, x > ", integer, ")"),
            joined("has(", paths, ")"),
            joined("(", integer, " in ", listed, ")"),
            joined(text, ".startsWith(", text, ")"),
        ],
        "list": [
            joined("[", integer, ", ", integer, "]"),
            joined(listed, ".map(x, x + ", integer, ")"),
            joined(listed, ".filter(x, x > ", integer, ")"),
            joined("(", listed, " + ", listed, ")"),
        ],
    }
    return st.one_of(typed(kind, 0), *forms[kind])


expressions = st.sampled_from(["int", "string", "bool", "list"]).flatmap(lambda kind: typed(kind, 2))


def fits(checked: Type, value: Any) -> bool:
    """Whether a value has the type that the checker found."""
    match checked.kind:
        case "dyn" | "any" | "param":
            return True
        case "list":
            return isinstance(value, list) and all(fits(checked.params[0], item) for item in value)
        case "map":
            return isinstance(value, dict) and all(fits(checked.params[1], item) for item in value.values())
        case "opaque" if checked.name == "optional_type":
            return type(value) is Optional
        case _:
            return type_name(value) == checked.name


def outcome(evaluate: Any, data: Any) -> Any:
    try:
        value, cost = evaluate({"object": data, "authorizer": Authorizer({}, "")})
    except EvalError as error:
        return "error", error.message, error.cost
    return "value", repr(encode(value)), cost


@given(expressions, json_values)
@FEW
def test_a_checked_expression_gives_its_type_or_an_error_of_cel(text, data):
    try:
        program = compile_program(text, ENV)
    except CompileError:
        return
    try:
        value, _ = program.evaluate_exactly({"object": data})
    except EvalError:
        return

    assert fits(program.result_type, value)


@given(expressions, json_values)
@FEW
def test_generated_code_agrees_with_the_steps(text, data):
    try:
        program = compile_program(text, ENV)
    except CompileError:
        return
    program.specialize()

    assert outcome(program.evaluate_with_cost, data) == outcome(program.evaluate_exactly, data)


@given(typed("bool", 1), typed("bool", 1), json_values)
@FEW
def test_logic_is_commutative_in_its_value(left, right, data):
    for operator in ("&&", "||"):
        try:
            programs = [
                compile_program(f"({a}) {operator} ({b})", ENV) for a, b in ((left, right), (right, left))
            ]
        except CompileError:
            return
        one, two = (outcome(program.evaluate_with_cost, data) for program in programs)

        assert one[0] == two[0]
        assert one[0] == "error" or one[1] == two[1]


def shape(expr: ast.Expr) -> Any:
    """A tree without its ids."""
    inner = tuple(shape(child) for child in ast.children(expr))
    match expr:
        case ast.Literal(value=value):
            return type(value), repr(value)
        case ast.Ident(name=name):
            return name
        case ast.Select(field=field, test_only=test_only):
            return "select", field, test_only, inner
        case ast.Call(function=function, target=target):
            return function, target is None, inner
        case ast.Comprehension(var=var, var2=var2, accu=accu):
            return var, var2, accu, inner
        case ast.ListExpr(optional=optional):
            return "list", optional, inner
        case ast.MapExpr(entries=entries):
            return "map", tuple(entry.optional for entry in entries), inner
        case ast.StructExpr(type_name=name, fields=fields):
            return name, tuple((field.name, field.optional) for field in fields), inner


constants = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.integers(0, 2**64 - 1).map(Uint)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=6)
    | st.binary(max_size=6)
)
texts = st.recursive(
    constants.map(literal) | names,
    lambda inner: st.one_of(
        joined("(", inner, st.sampled_from([" + ", " * ", " == ", " in ", " && ", " || "]), inner, ")"),
        joined(inner, st.sampled_from([" - ", " / ", " < ", " && ", " || "]), inner),
        joined(st.sampled_from(["!", "-", "!!", "--"]), inner),
        joined("(", inner, ") ? ", inner, " : ", inner),
        joined("[", inner, ", ?", inner, "]"),
        joined("{", inner, ": ", inner, "}"),
        joined("(", inner, ").", names),
        joined("(", inner, ").?", names),
        joined("(", inner, ")[", inner, "]"),
        joined("(", inner, ").all(x, ", inner, ")"),
        joined("has((", inner, ").", names, ")"),
        joined("T{", names, ": ", inner, "}"),
    ),
    max_leaves=12,
)


@given(texts)
@FEW
def test_unparsing_loses_nothing(text):
    try:
        parsed = parse(text, ENV)
    except CompileError:
        return

    assert shape(parse(unparse(parsed), ENV).expr) == shape(parsed.expr)


@given(constants)
@FEW
def test_a_literal_is_its_value(value):
    parsed = parse(literal(value), ENV)

    assert isinstance(parsed.expr, ast.Literal)
    assert equal(parsed.expr.value, value)
    assert type(parsed.expr.value) is type(value)


PIECES = [
    *"()[]{}.,?:!&|=<>+-*/%'\"`@$\\ \n",
    "a",
    "in",
    "0x",
    "1",
    "1.",
    "e3",
    "u",
    "has(",
    "all(x,",
    "'''",
    "r'",
    'b"',
    "\ud800",
    "é",
]


@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=30))
@FEW
def test_no_text_does_anything_but_compile_or_not(text):
    offsets: list[int] = []
    message = "none"
    try:
        compile_program(text, ENV).evaluate({})
    except CompileError as error:
        message, offsets = str(error), [issue.offset for issue in error.issues]
    except EvalError as error:
        message = error.message

    assert message
    assert all(-1 <= offset <= len(text) for offset in offsets)


@given(json_values, json_values)
@FEW
def test_equality_is_symmetric_and_reflexive_but_for_nan(one, two):
    assert equal(one, two) == equal(two, one)
    assert equal(one, one) or "nan" in repr(one)
