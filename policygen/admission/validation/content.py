"""The forms that names, labels and keys must have, and numbers (apimachinery `util/validation`).

Each function returns the server's messages, none for a good text. What `policygen.kube.names` knows is kept
here: the same names recur. The rest is what only objects need.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from policygen.kube import names
from policygen.kube.names import broken, byte_length, too_long

MAX_SUBDOMAIN: Final = 253

_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"
_CONFIG_KEY: Final = "[-._a-zA-Z0-9]+"
_HTTP_HEADER: Final = "[-A-Za-z0-9]+"
_PERCENT: Final = "[0-9]+%"

_is_c_identifier = re.compile(_C_IDENTIFIER).fullmatch
_is_config_key = re.compile(_CONFIG_KEY).fullmatch
_is_http_header = re.compile(_HTTP_HEADER).fullmatch
_is_percent = re.compile(_PERCENT).fullmatch

_CONFIG_KEY_SAYS: Final = "a valid config key must consist of alphanumeric characters, '-', '_' or '.'"
_HTTP_HEADER_SAYS: Final = "a valid HTTP header must consist of alphanumeric characters or '-'"
_C_IDENTIFIER_SAYS: Final = (
    "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric "
    "characters or '_'"
)
_PERCENT_SAYS: Final = "a valid percent string must be a numeric string followed by an ending '%'"
NEGATIVE: Final = "must be greater than or equal to 0"
NOT_POSITIVE: Final = "must be greater than zero"

Messages = tuple[str, ...]


def in_range(low: int, high: int) -> str:
    """`InclusiveRangeError`."""
    return f"must be between {low} and {high}, inclusive"


@lru_cache(maxsize=4096)
def subdomain(value: str) -> Messages:
    """`IsDNS1123Subdomain`."""
    return tuple(names.dns_subdomain(value))


@lru_cache(maxsize=4096)
def label(value: str) -> Messages:
    """`IsDNS1123Label`."""
    return tuple(names.dns_label(value))


@lru_cache(maxsize=1024)
def label_1035(value: str) -> Messages:
    """`IsDNS1035Label`."""
    return tuple(names.dns_label_1035(value))


@lru_cache(maxsize=8192)
def qualified_name(value: str) -> Messages:
    """`IsQualifiedName`."""
    return tuple(names.qualified_name(value))


@lru_cache(maxsize=8192)
def label_value(value: str) -> Messages:
    """`IsValidLabelValue`."""
    return tuple(names.label_value(value))


@lru_cache(maxsize=2048)
def env_name(value: str) -> Messages:
    """`IsRelaxedEnvVarName`, in force since 1.34."""
    return tuple(names.env_name(value))


@lru_cache(maxsize=1024)
def port_name(value: str) -> Messages:
    """`IsValidPortName`."""
    return tuple(names.port_name(value))


@lru_cache(maxsize=2048)
def config_key(value: str) -> Messages:
    """`IsConfigMapKey`."""
    found = [too_long(MAX_SUBDOMAIN)] if byte_length(value) > MAX_SUBDOMAIN else []
    if not _is_config_key(value):
        found.append(broken(_CONFIG_KEY_SAYS, _CONFIG_KEY, "key.name", "KEY_NAME", "key-name"))
    if value == ".":
        found.append("must not be '.'")
    elif value == "..":
        found.append("must not be '..'")
    elif value.startswith(".."):
        found.append("must not start with '..'")
    return tuple(found)


def c_identifier(value: str) -> Messages:
    """`IsCIdentifier`."""
    if _is_c_identifier(value):
        return ()
    return (broken(_C_IDENTIFIER_SAYS, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName"),)


def http_header(value: str) -> Messages:
    """`IsHTTPHeaderName`."""
    return () if _is_http_header(value) else (broken(_HTTP_HEADER_SAYS, _HTTP_HEADER, "X-Header-Name"),)


def percent(value: str) -> Messages:
    """`IsValidPercent`."""
    return () if _is_percent(value) else (broken(_PERCENT_SAYS, _PERCENT, "1%", "93%"),)


def port_number(value: int) -> Messages:
    """`IsValidPortNum`."""
    return () if 1 <= value <= 65535 else (in_range(1, 65535),)


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
