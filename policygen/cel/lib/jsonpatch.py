"""`jsonpatch.escapeKey` (apiserver `library/jsonpatch.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import STRING_FACTOR, first_text_cost
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload


def escape_key(key: str) -> str:
    """A key as one segment of a JSON pointer: `~` and `/` escaped."""
    return key.replace("~", "~0").replace("/", "~1")


def _estimate(args: Sequence[Estimated]) -> CallEstimate:
    size = args[0].size_or_any
    return CallEstimate(size.scaled(STRING_FACTOR), size)


FUNCTIONS: Final = (
    FunctionDecl(
        "jsonpatch.escapeKey",
        (
            Overload(
                "string_jsonpatch_escapeKey_string",
                (types.STRING,),
                types.STRING,
                escape_key,
                cost=first_text_cost,
                estimate=_estimate,
                doc="a key as one segment of a JSON patch's path",
                examples=(Example("jsonpatch.escapeKey('k8s.io/my~label') == 'k8s.io~1my~0label'"),),
            ),
        ),
    ),
)
