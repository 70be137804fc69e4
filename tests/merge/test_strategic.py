"""Strategic merge patches."""

import copy
from pathlib import Path

import pytest
import yaml

from policygen.kube import catalog
from policygen.kube.crd import schemas_from_crd
from policygen.merge import strategic

CASES = yaml.safe_load((Path(__file__).parent / "strategic.yaml").read_text(encoding="utf-8"))
POD = catalog.load("1.36").get("v1", "Pod")


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_patch(case):
    live, patch = {"spec": case["live"]}, {"spec": case["patch"]}
    before = copy.deepcopy((live, patch))

    if "fails" in case:
        with pytest.raises(strategic.StrategicMergeError) as error:
            strategic.apply(POD, live, patch)
        assert str(error.value) == case["fails"]
    else:
        assert strategic.apply(POD, live, patch) == {"spec": case["gives"]}
    assert (live, patch) == before


def test_finalizers_are_a_set():
    live = {"metadata": {"finalizers": ["a/x", "b/y"]}}

    added = strategic.apply(POD, live, {"metadata": {"finalizers": ["c/z", "a/x"]}})
    removed = strategic.apply(POD, live, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"]}})

    assert added == {"metadata": {"finalizers": ["c/z", "a/x", "b/y"]}}
    assert removed == {"metadata": {"finalizers": ["b/y"]}}


def test_custom_resources_take_no_such_patch():
    definition = {
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "names": {"kind": "Thing", "plural": "things"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": True, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    }
    (schema,) = schemas_from_crd(definition)

    with pytest.raises(strategic.StrategicMergeError):
        strategic.apply(schema, {}, {})
