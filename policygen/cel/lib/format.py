"""Named formats of texts: `format.dns1123Label()`, `format.named('uri')` (apiserver `library/format.go`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import REGEX_FACTOR, STRING_FACTOR, size_of
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.gotime import parse_rfc3339
from policygen.cel.values import NONE, Optional, Value
from policygen.kube.names import dns_label, dns_label_1035, dns_subdomain, label_value, qualified_name

FORMAT_TYPE: Final = types.struct("kubernetes.NamedFormat")

_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_BASE64 = re.compile(
    r"(?:[A-Za-z0-9+\\/]{4})*(?:[A-Za-z0-9+\\/]{2}==|[A-Za-z0-9+\\/]{3}=|[A-Za-z0-9+\\/]{4})"
)
_CLOCK = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|([+-][0-9]{2}:[0-9]{2}))")

Check = Callable[[str], list[str]]
"""What is wrong with a text; empty when it is fine."""


@dataclass(frozen=True, slots=True, eq=False)
class NamedFormat:
    """A rule that texts are checked against; equal when of one name."""

    cel_type_name: ClassVar[str] = "kubernetes.NamedFormat"
    name: str
    check: Check
    pattern_size: int
    """Characters of the regular expression that upstream bases the cost on."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _prefix(check: Check) -> Check:
    """The rule for a prefix to which the server appends: a dash at the end is fine."""

    def checked(text: str) -> list[str]:
        return check(f"{text[:-2]}a" if len(text) > 1 and text.endswith("-") else text)

    return checked


def _uri(text: str) -> list[str]:
    from policygen.cel.gourl import UrlError, parse_error, parse_request_uri

    try:
        parse_request_uri(text)
    except UrlError as error:
        return [parse_error(text, error)]
    return []


def _matching(pattern: re.Pattern[str], problem: str) -> Check:
    def check(text: str) -> list[str]:
        return [] if pattern.fullmatch(text) else [problem]

    return check


def _is_date(text: str) -> bool:
    return len(text) == 10 and parse_rfc3339(f"{text}T00:00:00Z") is not None


def _date(text: str) -> list[str]:
    return [] if _is_date(text) else ["invalid date"]


def _datetime(text: str) -> list[str]:
    """kube-openapi `strfmt.IsDateTime`; times are compared as texts."""
    parts = text.lower().split("t")
    if len(parts) > 1 and _is_date(parts[0]):
        clock = _CLOCK.fullmatch(parts[1])
        if clock is not None and clock[1] <= "23" and clock[2] <= "59" and clock[3] <= "59":
            return []
    return ["invalid datetime"]


FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", dns_label_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(dns_label_1035), 30),
    "labelValue": NamedFormat("LabelValue", label_value, 40),
    "uri": NamedFormat("URI", _uri, 1104),
    "uuid": NamedFormat("uuid", _matching(_UUID, "does not match the UUID format"), 70),
    "byte": NamedFormat("byte", _matching(_BASE64, "invalid base64"), 84),
    "date": NamedFormat("date", _date, 71),
    "datetime": NamedFormat("datetime", _datetime, 71),
}


def named(name: str) -> Optional:
    """The format of a name, if there is one."""
    found = FORMATS.get(name)
    return NONE if found is None else Optional(found)


def validate(rule: NamedFormat, text: str) -> Optional:
    """What is wrong with a text, or nothing."""
    problems = rule.check(text)
    return Optional(problems) if problems else NONE


def _validate_cost(args: Sequence[Value], _result: Value) -> int:
    if not isinstance(args[0], NamedFormat):
        return 1
    return ceil((1.0 + size_of(args[1])) * STRING_FACTOR) * ceil(args[0].pattern_size * REGEX_FACTOR)


def _constant(name: str) -> FunctionDecl:
    found = FORMATS[name]
    return FunctionDecl(
        f"format.{name}",
        (
            Overload(
                f"format.{name}",
                (),
                FORMAT_TYPE,
                lambda: found,
                doc=f"the format `{name}`",
                examples=(Example(f"format.{name}() == format.named('{name}').value()"),),
            ),
        ),
    )


FUNCTIONS: Final = (
    FunctionDecl(
        "format.named",
        (
            Overload(
                "format-named",
                (types.STRING,),
                types.optional_of(FORMAT_TYPE),
                named,
                doc="the format of a name, as an optional",
                examples=(
                    Example("format.named('uuid').hasValue()"),
                    Example("!format.named('x').hasValue()"),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "validate",
        (
            Overload(
                "format-validate",
                (FORMAT_TYPE, types.STRING),
                types.optional_of(types.list_of(types.STRING)),
                validate,
                member=True,
                cost=_validate_cost,
                doc="what is wrong with a text, as an optional list; none when it has the format",
                examples=(
                    Example("!format.dns1123Label().validate('my-name').hasValue()"),
                    Example("format.date().validate('2024-13-01').value() == ['invalid date']"),
                ),
            ),
        ),
    ),
    *(_constant(name) for name in FORMATS),
)
