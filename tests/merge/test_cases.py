"""The tables of merges and patches, each case as it stands in its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from policygen.kube import objects
from policygen.kube.crd import node_from_schema
from policygen.kube.schema import KindSchema, Struct
from policygen.merge import jsonpatch, merge

CASES = Path(__file__).parent / "cases"


def load(name: str) -> dict[str, Any]:
    return yaml.safe_load((CASES / name).read_text())


STRUCTURED = load("structured.yaml")
PATCHES = load("jsonpatch.yaml")


def schema() -> KindSchema:
    root = node_from_schema(STRUCTURED["schema"])
    assert isinstance(root, Struct)
    return KindSchema("example.com/v1", "Example", root, builtin=False)


@pytest.mark.parametrize("case", STRUCTURED["cases"], ids=lambda case: case["name"])
def test_structured_merge(case: dict[str, Any]) -> None:
    live, patch = objects.copy(case["live"]), objects.copy(case["patch"])

    try:
        got: dict[str, Any] = {"merged": merge.apply(schema(), live, patch)}
    except merge.MergeError as error:
        got = {"error": str(error)}

    assert {key: case[key] for key in ("merged", "error") if key in case} == got
    assert (case["live"], case["patch"]) == (live, patch)


@pytest.mark.parametrize("case", PATCHES["cases"], ids=lambda case: case["name"])
def test_json_patch(case: dict[str, Any]) -> None:
    document = objects.copy(case["doc"])

    try:
        got: dict[str, Any] = {"after": jsonpatch.apply(document, case["patch"])}
    except jsonpatch.TestFailedError:
        got = {"unchanged": True}
    except jsonpatch.PatchError as error:
        got = {"error": str(error)}

    assert {key: case[key] for key in ("after", "error", "unchanged") if key in case} == got
    assert case["doc"] == document


def test_a_replacement_of_the_whole_without_a_value_crashes_the_server() -> None:
    with pytest.raises(jsonpatch.PatchPanicError):
        jsonpatch.apply({}, [{"op": "replace", "path": ""}])
