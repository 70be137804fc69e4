"""Collects the figures of every topic.

Contract for a topic: a module `policygen.bench.<topic>` with

    def measure(vectors: Path | None) -> dict[str, float]

It returns figures by name (`<topic>_<what>_<unit>`), medians over many runs. `vectors` is a folder of
recorded vectors where there is one; a topic that cannot do without returns nothing then.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from time import perf_counter

from policygen import bench


def topics() -> list[str]:
    """The names of all topics."""
    return sorted(module.name for module in iter_modules(bench.__path__) if module.name != "runner")


def run(vectors: Path | None, only: tuple[str, ...] = ()) -> dict[str, float]:
    """The figures of all topics, or of some."""
    figures: dict[str, float] = {}
    for topic in only or topics():
        measure: Callable[[Path | None], dict[str, float]] = import_module(f"policygen.bench.{topic}").measure
        with _undisturbed():
            figures |= measure(vectors)
    return figures


def find_vectors() -> Path | None:
    """`shared/vectors` beside the repository, or beside the current directory."""
    for root in (Path(bench.__file__).parents[3], Path.cwd().parent, Path.cwd()):
        folder = root / "shared" / "vectors"
        if folder.is_dir():
            return folder
    return None


def best_of(function: Callable[[], object], runs: int, rounds: int = 3) -> float:
    """Seconds per call: the best of some rounds, so that what else the machine does counts little."""
    best = float("inf")
    for _ in range(rounds):
        start = perf_counter()
        for _ in range(runs):
            function()
        best = min(best, perf_counter() - start)
    return best / runs


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Without the garbage collector, which would charge one case for another's objects."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
