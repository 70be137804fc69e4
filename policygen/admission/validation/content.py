"""The forms that names, labels and keys must have (apimachinery `util/validation`, `api/validate/content`).

Each function returns the server's messages, none for a good text. Results are kept: the same names recur.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = _LABEL + r"(\." + _LABEL + ")*"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = "(" + _QUALIFIED + ")?"
_C_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY = "[-._a-zA-Z0-9]+"
_PORT_CHARSET = re.compile(r"[-a-z0-9]+")
_HTTP_HEADER = "[-A-Za-z0-9]+"
_PERCENT = "[0-9]+%"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_LABEL_1035_RE = re.compile(_LABEL_1035)
_QUALIFIED_RE = re.compile(_QUALIFIED)
_LABEL_VALUE_RE = re.compile(_LABEL_VALUE)
_C_IDENTIFIER_RE = re.compile(_C_IDENTIFIER)
_CONFIG_KEY_RE = re.compile(_CONFIG_KEY)
_HTTP_HEADER_RE = re.compile(_HTTP_HEADER)
_PERCENT_RE = re.compile(_PERCENT)

_SUBDOMAIN_SAYS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character"
)
_LABEL_SAYS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start "
    "and end with an alphanumeric character"
)
_LABEL_1035_SAYS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic "
    "character, and end with an alphanumeric character"
)
_NAME_PART_SAYS = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character"
)
_LABEL_VALUE_SAYS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must "
    "start and end with an alphanumeric character"
)
_CONFIG_KEY_SAYS = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_RELAXED_ENV_SAYS = (
    "a valid environment variable name must consist only of printable ASCII characters other than '='"
)
_HTTP_HEADER_SAYS = "a valid HTTP header must consist of alphanumeric characters or '-'"
_C_IDENTIFIER_SAYS = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'"
)
EMPTY: Final = "must be non-empty"
NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"

Messages = tuple[str, ...]


def max_length(limit: int) -> str:
    """`MaxLenError`."""
    return f"must be no more than {limit} bytes"


def regex(says: str, pattern: str, *examples: str) -> str:
    """`RegexError`: what is wrong, with examples and the pattern."""
    if not examples:
        return f"{says} (regex used for validation is '{pattern}')"
    listed = " or ".join(f"'{example}', " for example in examples)
    return f"{says} (e.g. {listed}regex used for validation is '{pattern}')"


def in_range(low: int, high: int) -> str:
    """`InclusiveRangeError`."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(maxsize=4096)
def subdomain(value: str) -> Messages:
    """`IsDNS1123Subdomain`."""
    found = [max_length(MAX_SUBDOMAIN)] if len(value.encode()) > MAX_SUBDOMAIN else []
    if not _SUBDOMAIN_RE.fullmatch(value):
        found.append(regex(_SUBDOMAIN_SAYS, _SUBDOMAIN, "example.com"))
    return tuple(found)


@lru_cache(maxsize=4096)
def label(value: str) -> Messages:
    """`IsDNS1123Label`."""
    found = [max_length(MAX_LABEL)] if len(value.encode()) > MAX_LABEL else []
    if not _LABEL_RE.fullmatch(value):
        if _SUBDOMAIN_RE.fullmatch(value):
            found.append("must not contain dots")
        else:
            found.append(regex(_LABEL_SAYS, _LABEL, "my-name", "123-abc"))
    return tuple(found)


@lru_cache(maxsize=1024)
def label_1035(value: str) -> Messages:
    """`IsDNS1035Label`."""
    found = [max_length(MAX_LABEL)] if len(value.encode()) > MAX_LABEL else []
    if not _LABEL_1035_RE.fullmatch(value):
        found.append(regex(_LABEL_1035_SAYS, _LABEL_1035, "my-name", "abc-123"))
    return tuple(found)


@lru_cache(maxsize=8192)
def qualified_name(value: str) -> Messages:
    """`IsQualifiedName`: an optional subdomain, a slash, and a name."""
    found: list[str] = []
    parts = value.split("/")
    if len(parts) == 1:
        name = parts[0]
    elif len(parts) == 2:
        prefix, name = parts
        if not prefix:
            found.append("prefix part " + EMPTY)
        else:
            found.extend("prefix part " + message for message in subdomain(prefix))
    else:
        says = "a qualified name " + _NAME_PART_SAYS
        message = regex(says, _QUALIFIED, "MyName", "my.name", "123-abc")
        return (message + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",)
    if not name:
        found.append("name part " + EMPTY)
    elif len(name.encode()) > MAX_LABEL:
        found.append("name part " + max_length(MAX_LABEL))
    if not _QUALIFIED_RE.fullmatch(name):
        found.append("name part " + regex(_NAME_PART_SAYS, _QUALIFIED, "MyName", "my.name", "123-abc"))
    return tuple(found)


@lru_cache(maxsize=8192)
def label_value(value: str) -> Messages:
    """`IsValidLabelValue`."""
    found = [max_length(MAX_LABEL)] if len(value.encode()) > MAX_LABEL else []
    if not _LABEL_VALUE_RE.fullmatch(value):
        found.append(regex(_LABEL_VALUE_SAYS, _LABEL_VALUE, "MyValue", "my_value", "12345"))
    return tuple(found)


@lru_cache(maxsize=2048)
def env_name(value: str) -> Messages:
    """`IsRelaxedEnvVarName`, in force since 1.34."""
    if not value:
        return ("environment variable name " + EMPTY,)
    if not value.isascii() or not value.isprintable() or "=" in value:
        return (_RELAXED_ENV_SAYS,)
    return ()


@lru_cache(maxsize=2048)
def config_key(value: str) -> Messages:
    """`IsConfigMapKey`."""
    found = [max_length(MAX_SUBDOMAIN)] if len(value.encode()) > MAX_SUBDOMAIN else []
    if not _CONFIG_KEY_RE.fullmatch(value):
        found.append(regex(_CONFIG_KEY_SAYS, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value == ".":
        found.append("must not be '.'")
    elif value == "..":
        found.append("must not be '..'")
    elif value.startswith(".."):
        found.append("must not start with '..'")
    return tuple(found)


@lru_cache(maxsize=1024)
def c_identifier(value: str) -> Messages:
    """`IsCIdentifier`."""
    if _C_IDENTIFIER_RE.fullmatch(value):
        return ()
    return (regex(_C_IDENTIFIER_SAYS, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName"),)


@lru_cache(maxsize=1024)
def port_name(value: str) -> Messages:
    """`IsValidPortName`."""
    found = [max_length(15)] if len(value.encode()) > 15 else []
    if not _PORT_CHARSET.fullmatch(value):
        found.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search("[a-z]", value):
        found.append("must contain at least one letter (a-z)")
    if "--" in value:
        found.append("must not contain consecutive hyphens")
    if value and (value[0] == "-" or value[-1] == "-"):
        found.append("must not begin or end with a hyphen")
    return tuple(found)


def port_number(value: int) -> Messages:
    """`IsValidPortNum`."""
    return () if 1 <= value <= 65535 else (in_range(1, 65535),)


def http_header(value: str) -> Messages:
    """`IsHTTPHeaderName`."""
    return (
        () if _HTTP_HEADER_RE.fullmatch(value) else (regex(_HTTP_HEADER_SAYS, _HTTP_HEADER, "X-Header-Name"),)
    )


def percent(value: str) -> Messages:
    """`IsValidPercent`."""
    if _PERCENT_RE.fullmatch(value):
        return ()
    says = "a valid percent string must be a numeric string followed by an ending '%'"
    return (regex(says, _PERCENT, "1%", "93%"),)


def user_id(value: int) -> Messages:
    """`IsValidUserID` and `IsValidGroupID`."""
    return () if 0 <= value <= 2**31 - 1 else (in_range(0, 2**31 - 1),)


def path_segment(value: str) -> Messages:
    """`IsPathSegmentName`: what may be one step of a URL path."""
    if value in (".", ".."):
        return (f"may not be '{value}'",)
    return tuple(f"may not contain '{char}'" for char in ("/", "%") if char in value)


def masked(value: str) -> str:
    """The name that a `generateName` stands for in checks: a trailing dash is masked."""
    return value[:-2] + "a" if len(value) > 1 and value.endswith("-") else value
