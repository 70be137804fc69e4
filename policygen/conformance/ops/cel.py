"""Expressions as policies use them: value, type, errors and cost against the recording."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from policygen.cel import lib
from policygen.cel.env import Env, compat_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import Program, compile_program
from policygen.cel.values import (
    JSONPatchValue,
    ObjectValue,
    Optional,
    TypeValue,
    Uint,
    Value,
    to_json,
    type_name,
)
from policygen.conformance.runner import Agreement

_SYNTAX = re.compile(r"^(compilation failed: ERROR: <input>:-?\d+:-?\d+): Syntax error")


def judge(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> Agreement:
    """Compile and evaluate one expression."""
    expected = case["expect"]
    got = _evaluate(case, contexts)
    outcome = _outcome(expected, got)
    message = outcome and _same_message(expected, got)
    cost = outcome and expected.get("cost") == got.get("cost")
    if outcome and message and cost:
        return Agreement(True, True, True)
    return Agreement(outcome, message, cost, _shown(expected), _shown(got))


def _evaluate(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> dict[str, Any]:
    env = _env(case)
    try:
        program = _compiled(case["expr"], env)
    except CompileError as error:
        return {"compileError": error.server_text}
    context = contexts.get(case.get("context", ""), {})
    answer: dict[str, Any] = {"type": program.result_type.declared}
    try:
        value, answer["cost"] = program.evaluate_with_cost(_activation(context, case))
        answer["value"] = encode(value)
    except EvalError as error:
        answer["evalError"], answer["cost"] = error.message, error.cost
    return answer


def _env(case: Mapping[str, Any]) -> Env:
    minor = lib.NEVER
    if "compat" in case and case.get("newExpressions"):
        minor = int(case["compat"].split(".")[1])
    return compat_env(minor, bool(case.get("hasParams")), bool(case.get("patchTypes")))


@lru_cache(maxsize=4096)
def _compiled(text: str, env: Env) -> Program:
    return compile_program(text, env)


def _activation(context: Mapping[str, Any], case: Mapping[str, Any]) -> dict[str, Value]:
    from policygen.cel.lib.authorizer import Authorizer

    variables = dict(context.get("variables", {}))
    if not case.get("hasParams"):
        variables.pop("params", None)
    # the table of versions was recorded with an authorizer that has no opinion on anything
    checks = {} if "compat" in case else context.get("authorizerAllow", {})
    authorizer = Authorizer(checks, context.get("user", {}).get("username", ""))
    variables["authorizer"] = authorizer
    variables["authorizer.requestResource"] = authorizer.resource_check(
        "", "pods", "", "ml-team-a", "trainer-0"
    )
    return variables


def _outcome(expected: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    if "compileError" in expected:
        return "compileError" in got
    if expected.get("type") != got.get("type"):
        return False
    if "value" in expected:
        return "value" in got and bool(_plain(got["value"]) == _plain(expected["value"]))
    return "evalError" in got


def _plain(value: Any) -> Any:
    """Tagged values with numbers that compare as JSON does."""
    if isinstance(value, dict):
        if type(value.get("double")) is int:
            return {"double": (False, float(value["double"]))}
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return (type(value) is bool, value)


def _same_message(expected: Mapping[str, Any], got: Mapping[str, Any]) -> bool:
    if expected.get("messageIsGoInternal") or "value" in expected:
        return True
    if "evalError" in expected:
        return bool(expected["evalError"] == got["evalError"])
    wanted, given = expected["compileError"], got["compileError"]
    if (place := _SYNTAX.match(wanted)) is not None:
        found = _SYNTAX.match(given)
        return found is not None and found.group(1) == place.group(1)
    return bool(wanted == given)


def _shown(answer: Mapping[str, Any]) -> str:
    for key in ("compileError", "evalError"):
        if key in answer:
            return f"{answer[key]} (cost {answer.get('cost')})"
    return f"{answer.get('value')!r} of {answer.get('type')} (cost {answer.get('cost')})"


def encode(value: Value) -> Any:
    """A value in the tagged form of the recordings."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if kind is int:
        return {"int": value}
    if kind is Uint:
        return {"uint": str(int(value))}
    if kind is float:
        return {"double": _double(value)}
    if kind is bytes:
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, list):
        return {"list": [encode(item) for item in value]}
    if isinstance(value, Mapping):
        pairs = [[encode(key), encode(item)] for key, item in value.items()]
        return {"map": sorted(pairs, key=lambda pair: _key_json(pair[0]))}
    if kind is Optional:
        return {"optional": encode(value.value) if value.present else None, "present": value.present}
    if kind is ObjectValue:
        return {"object": to_json(value), "typeName": value.type_name}
    if kind is JSONPatchValue:
        return {"jsonpatch": _patch(value)}
    if kind is TypeValue:
        # the type of a dynamic object is a type of its own kind in the server, which the recording shows
        return {"type": "type" if value.name.split(".")[0] in ("Object", "JSONPatch") else value.name}
    return _opaque(value)


def _key_json(key: Any) -> str:
    import json

    return json.dumps(key, separators=(",", ":"), ensure_ascii=False)


def _double(value: float) -> float | str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return value


def _patch(value: JSONPatchValue) -> dict[str, Any]:
    fields = {"op": "", "path": "", **value.fields}
    if "value" in fields:
        fields["value"] = encode(fields["value"])
    return fields


def _opaque(value: Value) -> Any:
    from policygen.cel import gotime

    match type_name(value):
        case "google.protobuf.Duration":
            return {"duration": gotime.format_duration(value.ns)}
        case "google.protobuf.Timestamp":
            return {"timestamp": gotime.format_rfc3339(value.ns)}
        case "kubernetes.Quantity":
            return {"quantity": str(value)}
        case "kubernetes.NamedFormat":
            return {"typeName": "kubernetes.NamedFormat"}
        case name:
            return {"other": str(value), "typeName": name}
