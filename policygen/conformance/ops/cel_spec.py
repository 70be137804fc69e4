"""Cases of the public CEL suites, in the environment of device selectors without checks of literals.

What the API server does not have cannot agree; `_reason` says so for such a case.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any, Final

from policygen.cel import lib, types
from policygen.cel.decls import FunctionDecl, Overload
from policygen.cel.env import Env, base_env, merge_functions
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import check, compile_program
from policygen.cel.types import Type
from policygen.cel.values import Duration, Timestamp, TypeValue, Uint, Value
from policygen.conformance.ops.cel import encode
from policygen.conformance.runner import Agreement

_NO_EXTENSION: Final[Mapping[str, str]] = {
    "math_ext": "the API server has no math extension",
    "encoders_ext": "the API server has no base64",
}
_UNCHECKED: Final = "the API server runs checked expressions only"
_NO_CONTAINER: Final = "the API server sets no container for names"
_NO_QUOTED_NAMES: Final = "the API server does not switch on quoted field names"
_NO_REVERSE: Final = "the API server has version 2 of the string extension, without `reverse`"
_LOCALE: Final = "the API server formats as an earlier version of the string extension does"
_NO_MAPPED: Final = "Kubernetes refuses IPv4-mapped IPv6 addresses"

_PRIMITIVES: Final = {
    "bool": types.BOOL,
    "int64": types.INT,
    "uint64": types.UINT,
    "double": types.DOUBLE,
    "string": types.STRING,
    "bytes": types.BYTES,
}
_SIMPLE: Final = {
    "dyn": types.DYN,
    "null": types.NULL,
    "any": types.ANY,
    "duration": types.DURATION,
    "timestamp": types.TIMESTAMP,
}


def judge(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> Agreement:
    """Compile and evaluate one case; costs are not part of the suites."""
    del contexts
    expected = _expected(case)
    got = _run(case)
    if expected == got or (expected == "an error" and got.startswith("error: ")):
        return Agreement(True, True, True)
    return Agreement(False, False, False, expected, got, _reason(case, got))


def _reason(case: Mapping[str, Any], got: str) -> str:
    """What the API server leaves out, where that is why a case differs."""
    suite, section, *_ = case["id"].split("/")
    rules = (
        (suite in _NO_EXTENSION, _NO_EXTENSION.get(suite, "")),
        (bool(case["container"]), _NO_CONTAINER),
        ("unsupported syntax: '`'" in got, _NO_QUOTED_NAMES),
        ("for 'reverse' applied to 'string" in got, _NO_REVERSE),
        (suite == "string_ext" and section == "format", _LOCALE),
        ("IPv4-mapped" in got, _NO_MAPPED),
        (bool(case["disableCheck"]), _UNCHECKED),
    )
    return next((reason for applies, reason in rules if applies), "")


def _expected(case: Mapping[str, Any]) -> str:
    if case["matcher"] == "eval_error":
        return "an error"
    value = "" if case.get("checkOnly") else repr(_comparable(_value(case["expected"])))
    kind = _type(case["deducedType"]).declared if case["matcher"] == "typed_result" else ""
    return f"{value} {kind}".strip()


def _run(case: Mapping[str, Any]) -> str:
    try:
        env = _env(case)
        if case.get("checkOnly"):
            return check(case["expr"], env).result_type.declared
        program = compile_program(case["expr"], env)
        bound = {name: _value(value) for name, (_, value) in case["bindings"].items()}
        value = repr(_comparable(program.evaluate(bound)))
    except CompileError as error:
        return f"error: {error.server_text}"
    except EvalError as error:
        return f"error: {error.message}"
    kind = program.result_type.declared if case["matcher"] == "typed_result" else ""
    return f"{value} {kind}".strip()


def _comparable(value: Value) -> Any:
    """A value in a form that `repr` shows apart from every other one."""
    encoded = encode(value)
    if isinstance(encoded, dict) and "double" in encoded and isinstance(encoded["double"], (int, float)):
        return {"double": float(encoded["double"])}
    return encoded


@cache
def _base() -> Env:
    return replace(base_env(lib.NEVER, devices=True), validators=frozenset())


def _env(case: Mapping[str, Any]) -> Env:
    variables: dict[str, Type] = {}
    functions: list[FunctionDecl] = []
    for name, kind, declared in case["declarations"]:
        if kind == "ident":
            variables[name] = _type(declared)
        else:
            functions.append(FunctionDecl(name, tuple(_overload(*overload) for overload in declared)))
    base = _base()
    if not variables and not functions:
        return base
    merged = merge_functions((*base.functions.values(), *functions))
    return replace(base, variables=variables, functions=merged)


def _overload(name: str, params: list[Any], result: Any, member: bool) -> Overload:
    return Overload(name, tuple(map(_type, params)), _type(result), _no_binding, member=member)


def _no_binding(*_: Value) -> Value:
    raise EvalError("the suite gives this function no meaning")


def _type(declared: list[Any]) -> Type:
    match declared:
        case ["prim", name]:
            return _PRIMITIVES[name]
        case ["list", element]:
            return types.list_of(_type(element))
        case ["map", key, value]:
            return types.map_of(_type(key), _type(value))
        case ["wrapper", name]:
            return types.wrapper(_PRIMITIVES[name])
        case ["abstract", name, params]:
            return types.opaque(name, *map(_type, params))
        case ["param", name]:
            return types.param(name)
        case ["type", *inner]:
            return types.type_of(_type(inner[0])) if inner and inner[0] else types.TYPE
        case ["wellknown" | "well_known", name]:
            return _SIMPLE[name.lower()]
        case [name, *_]:
            return _SIMPLE.get(name, types.DYN)
        case _:
            return types.DYN


def _value(written: list[Any]) -> Value:
    kind = written[0]
    value: Any = written[1] if len(written) > 1 else None
    match kind:
        case "uint":
            return Uint(value)
        case "double":
            return float(value["float"]) if isinstance(value, dict) else float(value)
        case "bytes":
            return base64.b64decode(value["b64"])
        case "list":
            return [_value(item) for item in value]
        case "map":
            return {_value(key): _value(item) for key, item in value}
        case "duration":
            return Duration(value)
        case "timestamp":
            return Timestamp(value)
        case "type":
            return TypeValue(value)
        case _:
            return value
