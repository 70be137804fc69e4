"""Misspelt fields are found before the server meets them."""

from __future__ import annotations

import pytest

from policygen.cel.env import admission_env
from policygen.cel.schema_env import schema_env, undefined_fields
from policygen.kube.catalog import load

SERVER = admission_env("1.36", has_params=True, patch_types=True)
POD = load("1.36").get("v1", "Pod")
ENV = schema_env(SERVER, {"object": POD, "oldObject": POD})


@pytest.mark.parametrize(
    ("expression", "owner", "field", "meant"),
    [
        ("object.spec.priorityClasName == 'x'", "object.spec", "priorityClasName", "priorityClassName"),
        ("has(object.spec.prioritty)", "object.spec", "prioritty", "priority"),
        ("object.metadata.?lables.?app", "object.metadata", "lables", "labels"),
        (
            "object.spec.containers.all(c, c.imagePullpolicy == 'x')",
            "c",
            "imagePullpolicy",
            "imagePullPolicy",
        ),
        ("object.spec.containers[0].imgae", "object.spec.containers[0]", "imgae", "image"),
        ("object.nonsense", "object", "nonsense", None),
    ],
)
def test_a_misspelt_field_is_found_with_what_was_meant(expression, owner, field, meant):
    (found,) = undefined_fields(expression, ENV)

    assert (found.owner, found.field, found.meant) == (owner, field, meant)
    assert expression[found.offset :].startswith(field)


@pytest.mark.parametrize(
    "expression",
    [
        "object.spec.priority > 5 && object.spec.containers.exists(c, c.name == 'x')",
        "object.metadata.labels['anything'] == 'x' && object.metadata.annotations.x == 'y'",
        "object.spec.overhead == null",
        "object.spec.priority == 'not the right type'",
        "object.spec.containers[0].resources.limits.cpu",
        "params.whatever.it.is",
        "1 +",
    ],
)
def test_nothing_else_is_told(expression):
    assert undefined_fields(expression, ENV) == ()


def test_a_type_that_contains_itself_is_no_trouble():
    kind = load("1.36").get("apiextensions.k8s.io/v1", "CustomResourceDefinition") or POD
    env = schema_env(SERVER, {"object": kind})

    assert undefined_fields("object.spec", env) == ()
