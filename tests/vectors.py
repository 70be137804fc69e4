"""Recorded vectors, from the folder beside the repository; tests skip, and say so, without it."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
VECTORS = SHARED / "vectors"


@cache
def load(name: str) -> list[dict[str, Any]]:
    """The lines of a vector file, such as `cel.jsonl.gz`."""
    path = VECTORS / name
    if not path.exists():
        pytest.skip(f"the recorded vectors are not at hand: {name} is missing")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def load_json(path: str) -> Any:
    """A JSON file of the shared folder, plain or gzipped, such as `vectors/contexts.json`."""
    file = SHARED / path
    if not file.exists():
        pytest.skip(f"the shared facts are not at hand: {path} is missing")
    data = file.read_bytes()
    return json.loads(gzip.decompress(data) if file.suffix == ".gz" else data)
