"""Semantic versions (apiserver `library/semverlib.go`, parsing as github.com/blang/semver/v4)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import first_text_cost
from policygen.cel.decls import Binding, Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.gotext import parse_uint
from policygen.cel.types import Type
from policygen.kube.gotext import quote

SEMVER_TYPE: Final = types.struct("kubernetes.Semver")

_NUMERIC = re.compile(r"[0-9]*")
_ALPHANUMERIC = re.compile(r"[0-9A-Za-z-]*")


@dataclass(frozen=True, slots=True, eq=False)
class Semver:
    """A version; build metadata does not count when versions are compared."""

    cel_type_name: ClassVar[str] = "kubernetes.Semver"
    major: int
    minor: int
    patch: int
    pre: tuple[int | str, ...] = ()
    build: tuple[str, ...] = ()

    def compare(self, other: Semver) -> int:
        """-1, 0 or 1, by the precedence of semver.org."""
        mine, theirs = self._key(), other._key()
        return (mine > theirs) - (mine < theirs)

    def _key(self) -> tuple[int, int, int, bool, tuple[tuple[bool, int, str], ...]]:
        """Numbers go before words, and a version before its release when it has a pre-release part."""
        parts = tuple((True, 0, part) if isinstance(part, str) else (False, part, "") for part in self.pre)
        return self.major, self.minor, self.patch, not self.pre, parts

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Semver) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(str(part) for part in self.pre)
        return text + "+" + ".".join(self.build) if self.build else text


_KEPT: Final = 64
"""Longer texts are read anew each time, so that the memory of what was read stays small."""


def parse_semver(text: str, normalize: bool = False) -> Semver:
    """The version that a text means; normalisation drops a `v` and leading zeros and fills up short ones."""
    return _kept(text, normalize) if len(text) <= _KEPT else _parse(text, normalize)


@lru_cache(maxsize=1024)
def _kept(text: str, normalize: bool) -> Semver:
    return _parse(text, normalize)


def _parse(text: str, normalize: bool) -> Semver:
    if normalize:
        text = _normalized(text)
    if not text:
        raise EvalError("Version string empty")
    parts = text.split(".", 2)
    if len(parts) != 3:
        raise EvalError("No Major.Minor.Patch elements found")
    major = _number("Major", parts[0])
    minor = _number("Minor", parts[1])
    rest, plus, build = parts[2].partition("+")
    rest, dash, pre = rest.partition("-")
    return Semver(
        major,
        minor,
        _number("Patch", rest),
        tuple(_pre_release(part) for part in pre.split(".")) if dash else (),
        tuple(_build(part) for part in build.split(".")) if plus else (),
    )


def _normalized(text: str) -> str:
    parts = text.removeprefix("v").split(".", 2)
    for at, part in enumerate(parts):
        if len(part) > 1:
            stripped = part.lstrip("0")
            parts[at] = stripped if stripped and stripped[0] in "123456789" else f"0{stripped}"
    if len(parts) < 3:
        if "+" in parts[-1] or "-" in parts[-1]:
            raise EvalError("short version cannot contain PreRelease/Build meta data")
        parts += ["0"] * (3 - len(parts))
    return ".".join(parts)


def _number(name: str, text: str) -> int:
    if _NUMERIC.fullmatch(text) is None:
        raise EvalError(f"Invalid character(s) found in {name.lower()} number {quote(text)}")
    if len(text) > 1 and text[0] == "0":
        raise EvalError(f"{name} number must not contain leading zeroes {quote(text)}")
    return _parsed(text)


def _parsed(text: str) -> int:
    number = parse_uint(text)
    if number is None:
        problem = "value out of range" if text else "invalid syntax"
        raise EvalError(f"strconv.ParseUint: parsing {quote(text)}: {problem}")
    return number


def _pre_release(part: str) -> int | str:
    if not part:
        raise EvalError("Prerelease is empty")
    if _NUMERIC.fullmatch(part):
        if len(part) > 1 and part[0] == "0":
            raise EvalError(f"Numeric PreRelease version must not contain leading zeroes {quote(part)}")
        return _parsed(part)
    if _ALPHANUMERIC.fullmatch(part) is None:
        raise EvalError(f"Invalid character(s) found in prerelease {quote(part)}")
    return part


def _build(part: str) -> str:
    if not part:
        raise EvalError("Build meta data is empty")
    if _ALPHANUMERIC.fullmatch(part) is None:
        raise EvalError(f"Invalid character(s) found in build meta data {quote(part)}")
    return part


def is_semver(text: str, normalize: bool = False) -> bool:
    """Whether a text is a version."""
    try:
        parse_semver(text, normalize)
    except EvalError:
        return False
    return True


def _int(number: int) -> int:
    """Go's conversion from uint64 to int64."""
    return number - (1 << 64) if number >= 1 << 63 else number


def major(version: Semver) -> int:
    """The first number."""
    return _int(version.major)


def minor(version: Semver) -> int:
    """The second number."""
    return _int(version.minor)


def patch(version: Semver) -> int:
    """The third number."""
    return _int(version.patch)


def is_greater(left: Semver, right: Semver) -> bool:
    """Whether the first is newer."""
    return left.compare(right) > 0


def is_less(left: Semver, right: Semver) -> bool:
    """Whether the first is older."""
    return left.compare(right) < 0


def compare(left: Semver, right: Semver) -> int:
    """-1, 0 or 1."""
    return left.compare(right)


def _from_text(
    name: str, ids: tuple[str, str], result: Type, bind: Binding, doc: str, *examples: Example
) -> FunctionDecl:
    return FunctionDecl(
        name,
        (
            Overload(ids[0], (types.STRING,), result, bind, cost=first_text_cost, doc=doc, examples=examples),
            Overload(ids[1], (types.STRING, types.BOOL), result, bind, cost=first_text_cost),
        ),
    )


def _member(
    name: str, overload: str, params: tuple[Type, ...], result: Type, bind: Binding, *, doc: str, example: str
) -> FunctionDecl:
    return FunctionDecl(
        name, (Overload(overload, params, result, bind, member=True, doc=doc, examples=(Example(example),)),)
    )


_V: Final = SEMVER_TYPE

FUNCTIONS: Final = (
    _from_text(
        "semver",
        ("string_to_semver", "string_bool_to_semver"),
        _V,
        parse_semver,
        "the version that a text means; with `true`, short ones and a leading `v` are accepted",
        Example("semver('1.2.3').major() == 1"),
        Example("semver('v1.2', true) == semver('1.2.0')"),
        Example("semver('1.2')", error="No Major.Minor.Patch elements found"),
    ),
    _from_text(
        "isSemver",
        ("is_semver_string", "is_semver_string_bool"),
        types.BOOL,
        is_semver,
        "whether a text is a version; with `true`, short ones and a leading `v` are",
        Example("!isSemver('v1.2')"),
        Example("isSemver('v1.2', true)"),
    ),
    _member(
        "major",
        "semver_major",
        (_V,),
        types.INT,
        major,
        doc="the first number",
        example="semver('1.2.3').major() == 1",
    ),
    _member(
        "minor",
        "semver_minor",
        (_V,),
        types.INT,
        minor,
        doc="the second number",
        example="semver('1.2.3').minor() == 2",
    ),
    _member(
        "patch",
        "semver_patch",
        (_V,),
        types.INT,
        patch,
        doc="the third number",
        example="semver('1.2.3').patch() == 3",
    ),
    _member(
        "isGreaterThan",
        "semver_is_greater_than",
        (_V, _V),
        types.BOOL,
        is_greater,
        doc="whether the version is newer than another",
        example="semver('1.10.0').isGreaterThan(semver('1.9.0'))",
    ),
    _member(
        "isLessThan",
        "semver_is_less_than",
        (_V, _V),
        types.BOOL,
        is_less,
        doc="whether the version is older than another",
        example="semver('1.0.0-rc.1').isLessThan(semver('1.0.0'))",
    ),
    _member(
        "compareTo",
        "semver_compare_to",
        (_V, _V),
        types.INT,
        compare,
        doc="-1, 0 or 1: older, the same or newer",
        example="semver('1.2.3+a').compareTo(semver('1.2.3+b')) == 0",
    ),
)
