"""Operators: their signatures, examples and cost (cel-go `common/stdlib/standard.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from policygen.cel import types
from policygen.cel.cost import concat_cost, equality_cost, order_cost, size_of
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.operations import (
    add,
    contains,
    divide,
    greater,
    greater_equals,
    less,
    less_equals,
    logical_not,
    modulo,
    multiply,
    negate,
    not_equal,
    not_strictly_false,
    subtract,
)
from policygen.cel.types import Type
from policygen.cel.values import Value, equal

A, B = types.param("A"), types.param("B")
_LIST, _MAP = types.list_of(A), types.map_of(A, B)


def _in_list_cost(args: Sequence[Value], _result: Value) -> int:
    return size_of(args[1])


_COSTS: Final = {"add_string": concat_cost, "add_bytes": concat_cost, "in_list": _in_list_cost}


def _operator(
    name: str, bind: Any, *signatures: tuple[str, tuple[Type, ...], Type], doc: str, example: str
) -> FunctionDecl:
    overloads = tuple(
        Overload(overload, params, result, bind, cost=_COSTS.get(overload, 1))
        for overload, params, result in signatures
    )
    first = Overload(
        overloads[0].id,
        overloads[0].params,
        overloads[0].result,
        bind,
        cost=overloads[0].cost,
        doc=doc,
        examples=(Example(example),),
    )
    return FunctionDecl(name, (first, *overloads[1:]), bind, doc)


_SCALARS: Final = (("double", types.DOUBLE), ("int64", types.INT), ("uint64", types.UINT))
_COMPARED: Final = (
    ("bool", types.BOOL, types.BOOL),
    ("int64", types.INT, types.INT),
    ("int64_double", types.INT, types.DOUBLE),
    ("int64_uint64", types.INT, types.UINT),
    ("uint64", types.UINT, types.UINT),
    ("uint64_double", types.UINT, types.DOUBLE),
    ("uint64_int64", types.UINT, types.INT),
    ("double", types.DOUBLE, types.DOUBLE),
    ("double_int64", types.DOUBLE, types.INT),
    ("double_uint64", types.DOUBLE, types.UINT),
    ("string", types.STRING, types.STRING),
    ("bytes", types.BYTES, types.BYTES),
    ("timestamp", types.TIMESTAMP, types.TIMESTAMP),
    ("duration", types.DURATION, types.DURATION),
)
_TEXT_ORDER: Final = frozenset({"string", "bytes"})


def _comparison(name: str, word: str, bind: Any, example: str) -> FunctionDecl:
    overloads = tuple(
        Overload(
            f"{word}_{suffix}",
            (left, right),
            types.BOOL,
            bind,
            cost=order_cost if suffix in _TEXT_ORDER else 1,
            doc="compares two values of one type, or two numbers" if index == 0 else "",
            examples=(Example(example),) if index == 0 else (),
        )
        for index, (suffix, left, right) in enumerate(_COMPARED)
    )
    return FunctionDecl(name, overloads, bind)


def _arithmetic(word: str) -> tuple[tuple[str, tuple[Type, ...], Type], ...]:
    return tuple((f"{word}_{suffix}", (kind, kind), kind) for suffix, kind in _SCALARS)


FUNCTIONS: Final = (
    FunctionDecl(
        "_?_:_",
        (
            Overload(
                "conditional",
                (types.BOOL, A, A),
                A,
                doc="the second value when the first is true, otherwise the third",
                examples=(Example("(1 < 2 ? 'a' : 'b') == 'a'"),),
            ),
        ),
    ),
    FunctionDecl(
        "_&&_",
        (
            Overload(
                "logical_and",
                (types.BOOL, types.BOOL),
                types.BOOL,
                doc="both; false on either side wins over an error on the other",
                examples=(Example("!(1 / 0 == 1 && false)"),),
            ),
        ),
    ),
    FunctionDecl(
        "_||_",
        (
            Overload(
                "logical_or",
                (types.BOOL, types.BOOL),
                types.BOOL,
                doc="either; true on either side wins over an error on the other",
                examples=(Example("1 / 0 == 1 || true"),),
            ),
        ),
    ),
    _operator("!_", logical_not, ("logical_not", (types.BOOL,), types.BOOL), doc="not", example="!false"),
    FunctionDecl(
        "@not_strictly_false",
        (Overload("not_strictly_false", (types.BOOL,), types.BOOL, not_strictly_false, strict=False),),
        not_strictly_false,
    ),
    FunctionDecl(
        "_==_",
        (
            Overload(
                "equals",
                (A, A),
                types.BOOL,
                equal,
                cost=equality_cost,
                doc="equality by content; numbers compare across their types",
                examples=(Example("[1, 2] == [1, 2]"), Example("dyn(1) == 1.0"), Example("dyn(true) != 1")),
            ),
        ),
        equal,
    ),
    FunctionDecl(
        "_!=_",
        (
            Overload(
                "not_equals",
                (A, A),
                types.BOOL,
                not_equal,
                cost=order_cost,
                doc="the opposite of equality",
                examples=(Example("'a' != 'b'"),),
            ),
        ),
        not_equal,
    ),
    _comparison("_<_", "less", less, "1 < 2.5"),
    _comparison("_<=_", "less_equals", less_equals, "'a' <= 'a'"),
    _comparison("_>_", "greater", greater, "2u > 1"),
    _comparison("_>=_", "greater_equals", greater_equals, "b'b' >= b'a'"),
    _operator(
        "_+_",
        add,
        ("add_bytes", (types.BYTES, types.BYTES), types.BYTES),
        ("add_double", (types.DOUBLE, types.DOUBLE), types.DOUBLE),
        ("add_duration_duration", (types.DURATION, types.DURATION), types.DURATION),
        ("add_duration_timestamp", (types.DURATION, types.TIMESTAMP), types.TIMESTAMP),
        ("add_timestamp_duration", (types.TIMESTAMP, types.DURATION), types.TIMESTAMP),
        ("add_int64", (types.INT, types.INT), types.INT),
        ("add_list", (_LIST, _LIST), _LIST),
        ("add_string", (types.STRING, types.STRING), types.STRING),
        ("add_uint64", (types.UINT, types.UINT), types.UINT),
        doc="the sum of numbers, durations and timestamps; texts and lists one after the other",
        example="[1] + [2] == [1, 2]",
    ),
    _operator(
        "_-_",
        subtract,
        ("subtract_double", (types.DOUBLE, types.DOUBLE), types.DOUBLE),
        ("subtract_duration_duration", (types.DURATION, types.DURATION), types.DURATION),
        ("subtract_int64", (types.INT, types.INT), types.INT),
        ("subtract_timestamp_duration", (types.TIMESTAMP, types.DURATION), types.TIMESTAMP),
        ("subtract_timestamp_timestamp", (types.TIMESTAMP, types.TIMESTAMP), types.DURATION),
        ("subtract_uint64", (types.UINT, types.UINT), types.UINT),
        doc="the difference",
        example="duration('1h') - duration('1m') == duration('59m')",
    ),
    _operator("_*_", multiply, *_arithmetic("multiply"), doc="the product", example="2 * 3 == 6"),
    _operator("_/_", divide, *_arithmetic("divide"), doc="the quotient", example="-7 / 2 == -3"),
    _operator("_%_", modulo, *_arithmetic("modulo")[1:], doc="the rest", example="-7 % 2 == -1"),
    _operator(
        "-_",
        negate,
        ("negate_double", (types.DOUBLE,), types.DOUBLE),
        ("negate_int64", (types.INT,), types.INT),
        doc="the opposite number",
        example="-(2) == -2",
    ),
    FunctionDecl(
        "_[_]",
        (
            Overload(
                "index_list",
                (_LIST, types.INT),
                A,
                doc="the element of a list or the value under a key",
                examples=(Example("[1, 2][0] == 1"), Example("{'a': 1}['a'] == 1")),
            ),
            Overload("index_map", (_MAP, A), B),
        ),
    ),
    _operator(
        "@in",
        contains,
        ("in_list", (A, _LIST), types.BOOL),
        ("in_map", (A, _MAP), types.BOOL),
        doc="whether a list has the element, or a map the key",
        example="'a' in {'a': 1}",
    ),
)

_V, _K = types.param("V"), types.param("K")
_OPTIONAL_V = types.optional_of(_V)
OPTIONAL_FUNCTIONS: Final = (
    FunctionDecl(
        "_?._",
        (
            Overload(
                "select_optional_field",
                (types.DYN, types.STRING),
                _OPTIONAL_V,
                doc="the field as an optional value",
                examples=(Example("{'a': 1}.?a.value() == 1"),),
            ),
        ),
    ),
    FunctionDecl(
        "_[?_]",
        (
            Overload(
                "list_optindex_optional_int",
                (types.list_of(_V), types.INT),
                _OPTIONAL_V,
                doc="the element or entry as an optional value",
                examples=(Example("![1][?5].hasValue()"),),
            ),
            Overload(
                "optional_list_optindex_optional_int",
                (types.optional_of(types.list_of(_V)), types.INT),
                _OPTIONAL_V,
            ),
            Overload("map_optindex_optional_value", (types.map_of(_K, _V), _K), _OPTIONAL_V),
            Overload(
                "optional_map_optindex_optional_value",
                (types.optional_of(types.map_of(_K, _V)), _K),
                _OPTIONAL_V,
            ),
        ),
    ),
    FunctionDecl(
        "_[_]",
        (
            Overload(
                "optional_list_index_int", (types.optional_of(types.list_of(_V)), types.INT), _OPTIONAL_V
            ),
            Overload("optional_map_index_value", (types.optional_of(types.map_of(_K, _V)), _K), _OPTIONAL_V),
        ),
    ),
)
