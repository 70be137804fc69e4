"""Versions of attributes: what a slice may hold."""

from __future__ import annotations

import re

_NUMERIC = r"(0|[1-9]\d*)"
_PRERELEASE = r"(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)"
_SEMVER = re.compile(
    rf"{_NUMERIC}\.{_NUMERIC}\.{_NUMERIC}(-{_PRERELEASE}(\.{_PRERELEASE})*)?"
    r"(\+[0-9a-zA-Z-]+(\.[0-9a-zA-Z-]+)*)?",
    re.ASCII,
)


def is_semver(text: str) -> bool:
    """Whether a version is one of semver 2.0.0: three numbers without leading zeros."""
    return _SEMVER.fullmatch(text) is not None
