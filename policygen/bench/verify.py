"""How long `verify` takes from a cold start: ten mutating policies on fifty pods, all properties."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any, Final

from policygen import bench
from policygen.kube import reader

_ROOT: Final = Path(bench.__file__).parents[2]
_EXAMPLES: Final = (
    "a100-one-numa-node",
    "aligned-training",
    "amd-pool",
    "large-model-memory",
    "low-latency-inference",
    "mig-inference",
    "namespace-node-pools",
    "secure-ai-pods",
)
"""Together they have ten mutating policies."""
_MATCHED: Final = (
    ("two-gpus", ("a100-pair", "vision-pool")),
    ("eight-gpus", ("training",)),
    ("four-gpus", ("training",)),
    ("amd-two", ("amd-gpus",)),
    ("large-model", ("large-model",)),
    ("server", ("inference",)),
    ("one-slice", ("one-slice",)),
    ("two-slices", ("split-model",)),
    ("vision-plain", ("vision-pool",)),
    ("ai-training", ("user-namespace",)),
)
_FIXTURES: Final = 50
_RUNS: Final = 3


def measure(vectors: Path | None) -> dict[str, float]:
    """Seconds of wall time, the best of some runs; nothing where the examples are not at hand."""
    del vectors
    if not (_ROOT / "policies").is_dir():
        return {}
    with tempfile.TemporaryDirectory() as folder:
        suite = Path(folder) / "ten.suite.yaml"
        suite.write_text(json.dumps(_suite()), encoding="utf-8")
        return {
            "cold_verify_s": _best(suite),
            "cold_verify_suites_s": _best(suite, "--suites-only"),
        }


def _best(suite: Path, *options: str) -> float:
    command = [sys.executable, "-m", "policygen", "verify", str(suite), *options]
    times = []
    for _ in range(_RUNS):
        started = perf_counter()
        subprocess.run(command, check=False, capture_output=True)
        times.append(perf_counter() - started)
    return min(times)


def _suite() -> dict[str, Any]:
    pods = _pods()
    return {
        "apiVersion": "policygen.dev/v1alpha1",
        "kind": "PolicySuite",
        "policies": [str(_ROOT / "policies" / name / "policy.yaml") for name in _EXAMPLES],
        "cluster": [str(_ROOT / "fixtures" / "priorityclasses")],
        "fixtures": [pod for pod, _ in pods],
        "cases": [
            {
                "name": f"case {number}",
                "object": f"{pod['metadata']['namespace']}/{pod['metadata']['name']}",
                "expect": {"matched": list(rules)},
            }
            for number, (pod, rules) in enumerate(pods)
        ],
    }


def _pods() -> list[tuple[dict[str, Any], tuple[str, ...]]]:
    """Pods with the rules that apply to them, again and again with more containers until there are enough."""
    found = {
        document.value["metadata"]["name"]: document.value
        for document in reader.read_paths([_ROOT / "fixtures" / "pods"])
    }
    pods: list[tuple[dict[str, Any], tuple[str, ...]]] = []
    for number in range(_FIXTURES):
        name, rules = _MATCHED[number % len(_MATCHED)]
        pod, round_ = found[name], number // len(_MATCHED)
        more = [{"name": f"more-{index}", "image": "more:1"} for index in range(round_)]
        metadata = {**pod["metadata"], "name": f"{name}-{number}"}
        spec = {**pod["spec"], "containers": [*pod["spec"]["containers"], *more]}
        pods.append(({**pod, "metadata": metadata, "spec": spec}, rules))
    return pods
