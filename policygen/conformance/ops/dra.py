"""`dra`: one selector on one device."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from policygen.conformance.runner import Agreement
from policygen.dra.allocation import SelectorError
from policygen.dra.convert import read_device
from policygen.dra.selectors import VERSION, compile_selector, evaluate

_SYNTAX_ERROR = re.compile(r"ERROR: <input>:(\d+:\d+): Syntax error")


def judge(case: Mapping[str, Any], _contexts: Mapping[str, Any]) -> Agreement:
    """The same stage and value; message and cost (run-time and static) counted beside."""
    expected, got = case["expect"], run(case)
    texts = ("compileError", "evalError")
    same = all((key in expected) == (key in got) for key in texts)
    outcome = same and all(expected.get(key) == got.get(key) for key in ("type", "matches"))
    message = outcome and all(_same_text(expected.get(key), got.get(key)) for key in texts)
    cost = outcome and all(expected.get(key) == got.get(key) for key in ("cost", "maxCost"))
    if message and cost:
        return Agreement(outcome, message, cost)
    return Agreement(outcome, message, cost, json.dumps(expected), json.dumps(got))


def run(case: Mapping[str, Any]) -> dict[str, Any]:
    """Compile and evaluate as the scheduler does."""
    raw = case["device"]
    device = read_device({"name": "device", **raw}, raw["driver"], "pool")
    features = case.get("features", {})
    selector = compile_selector(
        case["expr"],
        VERSION if features.get("EnableConsumableCapacity", True) else "1.33",
        list_attributes=features.get("EnableListTypeAttributes") is True,
    )
    if selector.error:
        return {"compileError": selector.error}
    answer: dict[str, Any] = {"type": selector.type_name, "maxCost": str(selector.max_cost)}
    try:
        answer["matches"], answer["cost"] = evaluate(selector, device)
    except SelectorError as error:
        answer["evalError"] = error.text
        if error.cost is not None:
            answer["cost"] = error.cost
    return answer


def _same_text(expected: str | None, got: str | None) -> bool:
    """Of a syntax error only the first place counts: the wording is the parser generator's."""
    if expected == got:
        return True
    left, right = _SYNTAX_ERROR.search(expected or ""), _SYNTAX_ERROR.search(got or "")
    return left is not None and right is not None and left[1] == right[1]
