"""Names of kinds and resources, and the rules for names, in the API server's words.

The validators return the server's messages, none when the value is fine
(apimachinery `util/validation/validation.go` and `api/validate/content`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class GroupVersionKind:
    """A kind in one version of its group. The core group is the empty string."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.api_version}, Kind={self.kind}" if self.group else f"/{self.version}, Kind={self.kind}"


@dataclass(frozen=True, slots=True)
class GroupVersionResource:
    """A resource (the plural in request paths) in one version of its group."""

    group: str
    version: str
    resource: str

    @property
    def api_version(self) -> str:
        """`group/version`, or the version alone for the core group."""
        return f"{self.group}/{self.version}" if self.group else self.version


def parse_api_version(api_version: str) -> tuple[str, str]:
    """The group and version of an apiVersion; the core group is empty."""
    group, slash, version = api_version.partition("/")
    return (group, version) if slash else ("", group)


def gvk(api_version: str, kind: str) -> GroupVersionKind:
    """A kind from the two fields of an object."""
    group, version = parse_api_version(api_version)
    return GroupVersionKind(group, version, kind)


CLUSTER_SCOPED: Final = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CSINode",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterTrustBundle",
        "ComponentStatus",
        "CustomResourceDefinition",
        "DeviceClass",
        "DeviceTaintRule",
        "FlowSchema",
        "IPAddress",
        "IngressClass",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourcePoolStatusRequest",
        "ResourceSlice",
        "RuntimeClass",
        "SelfSubjectAccessReview",
        "ServiceCIDR",
        "StorageClass",
        "StorageVersion",
        "StorageVersionMigration",
        "SubjectAccessReview",
        "TokenReview",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    }
)
"""Built-in kinds that are not in a namespace."""

_IRREGULAR: Final = {
    "Endpoints": "endpoints",
    "NetworkPolicy": "networkpolicies",
    "ComponentStatus": "componentstatuses",
}


def plural(kind: str) -> str:
    """The resource of a kind as the built-in kinds are named (apimachinery `meta/restmapper.go`)."""
    found = _IRREGULAR.get(kind)
    if found is not None:
        return found
    lower = kind.lower()
    if lower.endswith(("s", "x", "ch", "sh")):
        return lower + "es"
    if lower.endswith("y") and lower[-2:-1] not in ("a", "e", "i", "o", "u"):
        return lower[:-1] + "ies"
    return lower + "s"


def gvr(api_version: str, kind: str) -> GroupVersionResource:
    """The resource of a built-in kind."""
    group, version = parse_api_version(api_version)
    return GroupVersionResource(group, version, plural(kind))


_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE: Final = f"({_QUALIFIED})?"
_ENV: Final = "[ -<>-~]+"
_PORT: Final = "[-a-z0-9]+"

_is_label = re.compile(_LABEL).fullmatch
_is_subdomain = re.compile(_SUBDOMAIN).fullmatch
_is_label_1035 = re.compile(_LABEL_1035).fullmatch
_is_qualified = re.compile(_QUALIFIED).fullmatch
_is_value = re.compile(_VALUE).fullmatch
_is_env = re.compile(_ENV).fullmatch
_is_port = re.compile(_PORT).fullmatch

_SUBDOMAIN_RULE: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', "
    "and must start and end with an alphanumeric character"
)
_LABEL_RULE: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_LABEL_1035_RULE: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_NAME_PART_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_VALUE_RULE: Final = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character"
)
_ENV_RULE: Final = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)


def byte_length(text: str) -> int:
    """The length of a text in UTF-8, also of one that is not all characters."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def too_long(limit: int) -> str:
    """The server's words for a text above its limit."""
    return f"must be no more than {limit} bytes"


def broken(rule: str, pattern: str, *examples: str) -> str:
    """The server's words for a text that does not match a pattern."""
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def dns_label(value: str) -> list[str]:
    """What is wrong with an RFC 1123 label."""
    found = []
    if byte_length(value) > 63:
        found.append(too_long(63))
    if _is_label(value) is None:
        if _is_subdomain(value) is not None:
            found.append("must not contain dots")
        else:
            found.append(broken(_LABEL_RULE, _LABEL, "my-name", "123-abc"))
    return found


def dns_label_1035(value: str) -> list[str]:
    """What is wrong with an RFC 1035 label (names of Services)."""
    found = []
    if byte_length(value) > 63:
        found.append(too_long(63))
    if _is_label_1035(value) is None:
        found.append(broken(_LABEL_1035_RULE, _LABEL_1035, "my-name", "abc-123"))
    return found


def dns_subdomain(value: str) -> list[str]:
    """What is wrong with an RFC 1123 subdomain, which most object names are."""
    found = []
    if byte_length(value) > 253:
        found.append(too_long(253))
    if _is_subdomain(value) is None:
        found.append(broken(_SUBDOMAIN_RULE, _SUBDOMAIN, "example.com"))
    return found


def qualified_name(value: str) -> list[str]:
    """What is wrong with `[prefix/]name`: label and annotation keys, resource names."""
    found = []
    parts = value.split("/")
    if len(parts) > 2:
        rule = f"a qualified name {_NAME_PART_RULE}"
        return [broken(rule, _QUALIFIED, "MyName", "my.name", "123-abc") + _PREFIX_NOTE]
    if len(parts) == 2:
        if not parts[0]:
            found.append("prefix part must be non-empty")
        else:
            found.extend(f"prefix part {message}" for message in dns_subdomain(parts[0]))
    name = parts[-1]
    if not name:
        found.append("name part must be non-empty")
    elif byte_length(name) > 63:
        found.append(f"name part {too_long(63)}")
    if _is_qualified(name) is None:
        found.append(f"name part {broken(_NAME_PART_RULE, _QUALIFIED, 'MyName', 'my.name', '123-abc')}")
    return found


_PREFIX_NOTE: Final = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"


def label_value(value: str) -> list[str]:
    """What is wrong with a label's value."""
    found = []
    if byte_length(value) > 63:
        found.append(too_long(63))
    if _is_value(value) is None:
        found.append(broken(_VALUE_RULE, _VALUE, "MyValue", "my_value", "12345"))
    return found


def env_name(value: str) -> list[str]:
    """What is wrong with the name of an environment variable (relaxed rule, on since 1.34)."""
    found = [] if value else ["environment variable name must be non-empty"]
    if value and _is_env(value) is None:
        found.append(_ENV_RULE)
    return found


def port_name(value: str) -> list[str]:
    """What is wrong with a port's name (an IANA service name)."""
    found = []
    if byte_length(value) > 15:
        found.append(too_long(15))
    if _is_port(value) is None:
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not any("a" <= character <= "z" for character in value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value.startswith("-") or value.endswith("-"):
        found.append("must not begin or end with a hyphen")
    return found
