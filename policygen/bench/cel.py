"""How long CEL takes: compiling an expression, and evaluating one that reads `object`."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median, quantiles
from time import perf_counter
from typing import Any, Final

from policygen.bench.runner import best_of
from policygen.cel.budget import PER_CALL_LIMIT
from policygen.cel.env import Env, compat_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.lib import NEVER
from policygen.cel.program import Program, compile_program

_RUNS: Final = 20
_MICROSECONDS: Final = 1e6

_POD: Final = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer-0", "namespace": "team-a", "labels": {"app": "trainer", "tier": "gold"}},
    "spec": {
        "priority": 1000,
        "nodeSelector": {"gpu": "a100"},
        "containers": [
            {
                "name": "main",
                "image": "registry.local/train:2.3",
                "env": [{"name": "RANK", "value": "0"}],
                "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "4"}},
            },
            {"name": "sidecar", "image": "busybox:1"},
        ],
    },
}
_EXPRESSIONS: Final = (
    "object.spec.priority > 500",
    "has(object.spec.nodeSelector) && object.spec.nodeSelector.gpu == 'a100'",
    "object.spec.containers.all(c, c.image.startsWith('registry.local/') || c.name == 'sidecar')",
    "object.spec.containers.exists(c, has(c.resources) && 'nvidia.com/gpu' in c.resources.limits)",
    "object.spec.containers.filter(c, has(c.env)).map(c, c.name)",
    "object.metadata.?annotations['x'].orValue('none') == 'none'",
    "quantity(object.spec.containers[0].resources.limits.cpu).isGreaterThan(quantity('4'))",
    "object.metadata.labels.map(k, k + '=' + object.metadata.labels[k]).join(',')",
    "Object{spec: Object.spec{priorityClassName: 'gpu-' + object.metadata.labels.tier}}",
)


def measure(vectors: Path | None) -> dict[str, float]:
    """Medians over the recorded expressions, or over some typical ones where there are none."""
    cases, context = _recorded(vectors) if vectors is not None else ((), {})
    expressions = list(cases) or [(text, compat_env(NEVER, True, True)) for text in _EXPRESSIONS]
    activation = context or {"object": _POD, "oldObject": None, "params": {}, "request": {}}
    compiled, compiling = _compile(expressions)
    evaluating = [
        _time(program, activation)
        for text, program in compiled
        if "object" in text and _evaluates(program, activation)
    ]
    return {
        "cel_compile_us": median(compiling) * _MICROSECONDS,
        "cel_eval_us": median(evaluating) * _MICROSECONDS,
        "cel_eval_p99_us": quantiles(evaluating, n=100)[98] * _MICROSECONDS,
        "cel_expressions": len(compiled),
    }


def _time(program: Program, activation: Mapping[str, Any]) -> float:
    return best_of(lambda: program.evaluate_with_cost(activation, limit=PER_CALL_LIMIT), _RUNS)


def _compile(expressions: Iterable[tuple[str, Env]]) -> tuple[list[tuple[str, Program]], list[float]]:
    compiled, seconds = [], []
    for text, env in expressions:
        start = perf_counter()
        try:
            program = compile_program(text, env)
        except CompileError:
            continue
        program.specialize()
        seconds.append(perf_counter() - start)
        compiled.append((text, program))
    return compiled, seconds


def _evaluates(program: Program, activation: Mapping[str, Any]) -> bool:
    try:
        program.evaluate(activation, limit=PER_CALL_LIMIT)
    except EvalError:
        return False
    return True


def _recorded(vectors: Path) -> tuple[list[tuple[str, Env]], dict[str, Any]]:
    """The expressions of `cel.jsonl.gz` with their environments, and the data that they read."""
    from policygen.cel.lib.authorizer import Authorizer

    file, contexts = vectors / "cel.jsonl.gz", vectors / "contexts.json"
    if not file.is_file() or not contexts.is_file():
        return [], {}
    cases = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    context = json.loads(contexts.read_text(encoding="utf-8"))["pod"]
    authorizer = Authorizer(context["authorizerAllow"], context["user"]["username"])
    check = authorizer.resource_check("", "pods", "", "ml-team-a", "trainer-0")
    activation = {**context["variables"], "authorizer": authorizer, "authorizer.requestResource": check}
    return [
        (case["expr"], compat_env(NEVER, case["hasParams"], case["patchTypes"])) for case in cases
    ], activation
