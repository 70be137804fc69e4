"""How long compiling takes: the example policies from a cold start, and one spec with two hundred rules."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from policygen import bench
from policygen.bench.runner import best_of
from policygen.compiler import compile_text
from policygen.compiler.output import render_files

_RULES: Final = 200
_COLD_RUNS: Final = 5
_HEAD: Final = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: many}
spec:
  kubernetes: "1.36"
  priorities: {training: {value: 1000}}
  devices: {a100: {driver: gpu.nvidia.com, release: main, where: {productName: {contains: A100}}}}
  claims:
    four: {devices: {gpu: {device: a100, count: 4}}, align: {numaNode: required}, replaces: nvidia.com/gpu}
  rules:
"""
_RULE: Final = """\
    - name: rule-%(number)d
      match: {namespaces: [team-%(number)d], uses: {device: a100}}
      place:
        priority: training
        claim: four
        spread: [{over: topology.kubernetes.io/zone, by: [app]}]
        tolerate: [nvidia.com/gpu]
      inject:
        userNamespace: true
        env: {NCCL_DEBUG: WARN, NCCL_IB_DISABLE: "%(number)d"}
        sharedMemory: 16Gi
"""


def measure(_vectors: Path | None) -> dict[str, float]:
    """Seconds for many rules, and from a cold start for the examples, where the repository is at hand."""
    text = many_rules(_RULES)
    figures = {f"build_{_RULES}_rules_s": best_of(lambda: render_files(compile_text(text)), runs=1, rounds=2)}
    examples = Path(bench.__file__).parents[2] / "policies"
    if examples.is_dir():
        figures["build_examples_cold_s"] = median(_cold(examples) for _ in range(_COLD_RUNS))
    return figures


def many_rules(count: int) -> str:
    """A spec with many rules that do what rules usually do."""
    return _HEAD + "".join(_RULE % {"number": number} for number in range(count))


def _cold(examples: Path) -> float:
    command = [sys.executable, "-m", "policygen", "build", str(examples), "-o", "-"]
    start = perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return perf_counter() - start
