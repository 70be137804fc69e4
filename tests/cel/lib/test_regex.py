"""Regular expressions: Go's error texts, Go's matches, and nothing else for any pattern."""

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policygen.cel.goregex import RegexError
from policygen.cel.goregex_match import compile_regex

CASES = [
    pytest.param(pattern, expected, id=pattern)
    for case in yaml.safe_load(Path(__file__).with_name("regexes.yaml").read_text("utf-8"))
    for pattern, expected in case.items()
]


@pytest.mark.parametrize(("pattern", "expected"), CASES)
def test_pattern(pattern: str, expected: Any) -> None:
    """The error, or what is found."""
    if isinstance(expected, str):
        with pytest.raises(RegexError) as error:
            compile_regex(pattern)
        assert str(error.value) == f"error parsing regexp: {expected}"
        return
    assert compile_regex(pattern).find(expected["in"]) == expected["find"]


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("(" * 1001 + ")" * 1001, "expression nests too deeply"),
        ("(" * 100_000, "missing closing )"),
        ("[" * 100_000, "missing closing ]"),
        ("(x{1000}){1}" * 4000, "expression too large"),
        ("\ud800", "invalid UTF-8"),
    ],
    ids=["deep", "parentheses", "brackets", "large", "surrogate"],
)
def test_unreasonable_patterns_are_refused(pattern: str, problem: str) -> None:
    """They neither crash nor hang."""
    with pytest.raises(RegexError, match=f"error parsing regexp: {problem.replace(')', chr(92) + ')')}"):
        compile_regex(pattern.replace("[[", "[a", 1) if problem.endswith("]") else pattern)


def test_time_is_linear() -> None:
    """A pattern that ruins backtracking matchers."""
    assert not compile_regex("(a*)*b").matches("a" * 50_000)


@given(st.text(alphabet="ab()[]{}|*+?^$.\\-:,0123dwpPLQEx<>=!iésU ", max_size=14))
def test_any_pattern_compiles_or_is_refused(pattern: str) -> None:
    """What the syntax check lets pass, RE2 takes; matches are parts of the text, in order."""
    try:
        regex = compile_regex(pattern)
    except RegexError as refused:
        problem = str(refused)
    else:
        problem = ""
    assert "too large" not in problem
    if problem:
        return
    text = "ab0é\n(a) b1"
    found = regex.find_all(text)
    assert regex.matches(text) == bool(found)
    assert (found or [""])[0] == regex.find(text)
    position = 0
    for part in found:
        position = text.index(part, position) + len(part)
