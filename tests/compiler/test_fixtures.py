"""Fixtures of built-in kinds are valid for Kubernetes 1.36, and no two fixtures have one name."""

from pathlib import Path

from policygen.kube.catalog import load
from policygen.kube.reader import read_paths
from policygen.kube.validate import check

FIXTURES = Path(__file__).parent.parent.parent / "fixtures"
BUILT_IN = load("1.36")
DOCUMENTS = list(read_paths(sorted(FIXTURES.glob("**/*.yaml"))))


def test_fixtures_are_valid_objects():
    problems = {
        f"{document.name}:{document.line}": [problem.message for problem in found]
        for document in DOCUMENTS
        if BUILT_IN.has(document.value["apiVersion"], document.value["kind"])
        and (found := check(document.value, "1.36"))
    }

    assert problems == {}


def test_fixtures_have_names_of_their_own():
    inventories = {"DeviceClass", "Node", "ResourceSlice"}
    seen: dict[tuple[str, str, str], str] = {}
    for document in DOCUMENTS:
        value = document.value
        if value["kind"] in inventories:
            continue
        key = (value["kind"], value["metadata"].get("namespace", ""), value["metadata"]["name"])
        assert seen.setdefault(key, document.name) == document.name
        seen[key] = f"{document.name} (again)"
