"""Names of resources and the server's rules for names."""

import pytest

from policygen.kube import names

LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and "
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', "
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.mark.parametrize(
    ("kind", "resource"),
    [
        ("Pod", "pods"),
        ("PriorityClass", "priorityclasses"),
        ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
        ("NetworkPolicy", "networkpolicies"),
        ("Endpoints", "endpoints"),
        ("Gateway", "gateways"),
        ("ResourceSlice", "resourceslices"),
    ],
)
def test_plurals(kind, resource):
    assert names.plural(kind) == resource


@pytest.mark.parametrize(
    ("check", "value", "messages"),
    [
        (names.dns_label, "a-1", []),
        (names.dns_label, "A", [LABEL]),
        (names.dns_label, "a.b", ["must not contain dots"]),
        (names.dns_label, "a" * 64, ["must be no more than 63 bytes"]),
        (names.dns_subdomain, "a.b-c.d", []),
        (names.qualified_name, "nvidia.com/gpu", []),
        (names.qualified_name, "/gpu", ["prefix part must be non-empty"]),
        (names.qualified_name, "x/" + "a" * 64, ["name part must be no more than 63 bytes"]),
        (names.label_value, "", []),
        (names.label_value, "a:b", [VALUE]),
        (names.label_value, "a" * 64, ["must be no more than 63 bytes"]),
        (names.env_name, "A.b-c d", []),
        (names.env_name, "", ["environment variable name must be non-empty"]),
        (names.port_name, "http-1", []),
        (names.port_name, "80", ["must contain at least one letter (a-z)"]),
        (
            names.port_name,
            "-a--b",
            ["must not contain consecutive hyphens", "must not begin or end with a hyphen"],
        ),
        (names.dns_label_1035, "a1", []),
    ],
)
def test_rules(check, value, messages):
    assert check(value) == messages


@pytest.mark.parametrize("value", ["", "a_b", "-a", "A.b", "a..b"])
def test_broken_subdomains(value):
    assert len(names.dns_subdomain(value)) == 1


@pytest.mark.parametrize("value", ["", "a/b/c", "é", "a=b", "1a/-"])
def test_broken_qualified_names(value):
    assert names.qualified_name(value)


def test_kinds_and_resources():
    kind = names.gvk("apps/v1", "Deployment")

    assert (kind.group, kind.api_version, str(kind)) == ("apps", "apps/v1", "apps/v1, Kind=Deployment")
    assert str(names.gvk("v1", "Pod")) == "/v1, Kind=Pod"
    assert names.gvr("v1", "Pod").resource == "pods"
