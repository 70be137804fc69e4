"""`includes`, which treats a value and a list alike; in DRA selectors only (apiserver `library/lists.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import size_of
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.values import Value, equal

_MOST_VALUES: Final = 48
"""The most values that a device attribute holds."""


def includes(target: Value, wanted: Value) -> bool:
    """Whether a list has the element, or the value is equal."""
    if isinstance(target, list):
        return any(equal(item, wanted) for item in target)
    return equal(target, wanted)


def _cost(args: Sequence[Value], _result: Value) -> int:
    return size_of(args[0]) if isinstance(args[0], list) else 1


def _estimate(_args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(Range(1, _MOST_VALUES))


FUNCTIONS: Final = (
    FunctionDecl(
        "includes",
        (
            Overload(
                "list_includes_dyn_dyn",
                (types.DYN, types.DYN),
                types.BOOL,
                includes,
                member=True,
                cost=_cost,
                estimate=_estimate,
                doc="whether a list has the element, or a single value equals it",
                examples=(Example("[1, 2].includes(2)"), Example("'a'.includes('a')")),
            ),
        ),
    ),
)
