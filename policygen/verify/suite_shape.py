"""What may stand in a suite file."""

from __future__ import annotations

from typing import Any, Final

from policygen.verify.shape import (
    AnyValue,
    Bool,
    Int,
    ListOf,
    MapOf,
    Record,
    Shape,
    Text,
    TextOrObject,
    json_schema,
)

API_VERSION: Final = "policygen.dev/v1alpha1"
KIND: Final = "PolicySuite"

_SOURCES: Final = "Files, folders or globs relative to this file, or objects written in place."

USER: Final = Record(
    {
        "username": Text("Name of the user who sends the request."),
        "groups": ListOf(Text(), "Groups of the user."),
        "uid": Text("Id of the user."),
        "extra": MapOf(ListOf(Text()), "Extra attributes of the user."),
    },
    "Who sends the request.",
    required=("username",),
)

EXPECT: Final = Record(
    {
        "matched": ListOf(Text(), "Exactly these rules or policies apply to the object.", or_one=True),
        "changed": ListOf(Text(), "Exactly these rules or policies change it.", or_one=True),
        "unchanged": Bool("No policy changes the object."),
        "allowed": Bool("Whether the server accepts the request."),
        "denied": Text("The server refuses the request, with this text in its message."),
        "values": MapOf(AnyValue(), "Path to value in the result; null means that nothing is there."),
        "warnings": ListOf(Text(), "Each warning holds the text in the same place, and there are no others."),
        "golden": Text("A file with the whole result; `policygen verify --update` writes it."),
        "devices": MapOf(
            ListOf(Text()), "Claim in the pod to the devices that are chosen on the inventory, as names."
        ),
    },
    "What must be true of the answer. A case that expects nothing is an error.",
)

_VARIANT: Final[dict[str, Shape]] = {
    "name": Text("One line that says what is shown."),
    "object": TextOrObject(
        "A fixture by name, `Kind/name` or `namespace/name`, or an object written in place."
    ),
    "set": MapOf(AnyValue(), "Path to value: changes of the object for this case."),
    "remove": ListOf(Text(), "Paths that the object does not have in this case.", or_one=True),
    "operation": Text("Operation of the request.", ("CREATE", "UPDATE", "DELETE")),
    "oldObject": TextOrObject("The stored object of an UPDATE or DELETE."),
    "subresource": Text("Subresource of the request, such as `resize`."),
    "user": USER,
    "namespace": Text("Namespace of the object."),
    "cluster": ListOf(
        TextOrObject(), "More objects that the server stores, for this case alone.", or_one=True
    ),
    "expect": EXPECT,
}

CASE: Final = Record(
    {**_VARIANT, "each": ListOf(Record(_VARIANT, "One variant.", ("name",)), "Variants of this case.")},
    "One request and what is expected of the answer.",
    required=("name",),
)

SUITE: Final = Record(
    {
        "apiVersion": Text("Version of this format.", (API_VERSION,)),
        "kind": Text("Kind of this document.", (KIND,)),
        "metadata": Record({"name": Text("Name of the suite.")}, "Name of the suite.", ("name",)),
        "kubernetes": ListOf(Text(), "Kubernetes versions that the cases run on.", or_one=True),
        "policies": ListOf(TextOrObject(), f"Specs or manifests. {_SOURCES}", or_one=True),
        "cluster": ListOf(TextOrObject(), f"What the server stores besides. {_SOURCES}", or_one=True),
        "fixtures": ListOf(TextOrObject(), f"Objects that cases name. {_SOURCES}", or_one=True),
        "inventory": ListOf(TextOrObject(), f"ResourceSlices. {_SOURCES}", or_one=True),
        "user": USER,
        "authorizer": MapOf(
            Bool(), "`user|verb|group|resource|subresource|namespace|name` to allowed or denied."
        ),
        "plugins": ListOf(
            Text("", ("ServiceAccount", "ExtendedResourceToleration")), "In-tree plugins that run besides."
        ),
        "namespace": Text("Namespace of objects that name none."),
        "cases": ListOf(CASE, "What is tried."),
        "limits": Record(
            {"cost": Int("Share of the cost budgets in percent that no policy may pass. 50 unless said.")},
            "Bounds of the properties.",
        ),
    },
    "Fixtures, requests and what is expected of the answers.",
    required=("apiVersion", "kind", "policies", "cases"),
)


def schema() -> dict[str, Any]:
    """The JSON Schema of suite files."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "policygen suite",
        **json_schema(SUITE),
    }
