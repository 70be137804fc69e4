"""`find` and `findAll` (apiserver `library/regex.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from policygen.cel import types
from policygen.cel.cost import regex_cost
from policygen.cel.decls import CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError
from policygen.cel.lib.standard import estimate_regex

if TYPE_CHECKING:
    from policygen.cel.goregex_match import Regex


def _compiled(pattern: str) -> Regex:
    from policygen.cel.goregex import RegexError
    from policygen.cel.goregex_match import compile_regex

    try:
        return compile_regex(pattern)
    except RegexError as error:
        raise EvalError(f"Illegal regex: {error}") from None


def find(text: str, pattern: str) -> str:
    """The leftmost match, or the empty text."""
    return _compiled(pattern).find(text)


def find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    """The matches from left to right, at most `limit` of them unless that is negative."""
    return _compiled(pattern).find_all(text, limit)


def _estimate(args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(estimate_regex(args).cost, Range(0, args[0].size_or_any.greatest))


_S: Final = types.STRING

FUNCTIONS: Final = (
    FunctionDecl(
        "find",
        (
            Overload(
                "string_find_string",
                (_S, _S),
                _S,
                find,
                member=True,
                cost=regex_cost,
                estimate=_estimate,
                doc="the first match of a regular expression, or the empty text",
                examples=(Example("'abc 123'.find('[0-9]+') == '123'"), Example("'abc'.find('x') == ''")),
            ),
        ),
    ),
    FunctionDecl(
        "findAll",
        (
            Overload(
                "string_find_all_string",
                (_S, _S),
                types.list_of(_S),
                find_all,
                member=True,
                cost=regex_cost,
                estimate=_estimate,
                doc="the matches of a regular expression, all or a number of them",
                examples=(
                    Example("'123 abc 456'.findAll('[0-9]+') == ['123', '456']"),
                    Example("'123 abc 456'.findAll('[0-9]+', 1) == ['123']"),
                ),
            ),
            Overload(
                "string_find_all_string_int",
                (_S, _S, types.INT),
                types.list_of(_S),
                find_all,
                member=True,
                cost=regex_cost,
                estimate=_estimate,
            ),
        ),
    ),
)
