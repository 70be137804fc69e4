"""Positions, sorting, caps and renderings of diagnostics."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policygen.diagnostics import (
    Diagnostic,
    Diagnostics,
    Label,
    PolicygenError,
    Source,
    Span,
    fail,
    suggestion,
)
from policygen.render import concise, full, github
from policygen.render import json as json_render

TEXT = "a: 1\nb: {c: näme, d: 全角x}\n"
SOURCE = Source("spec.yaml", TEXT)


def span(part: str) -> Span:
    start = TEXT.index(part)
    return Span(SOURCE, start, start + len(part))


def test_positions_count_code_points_from_one():
    assert span("d: ").position == (2, 14)
    assert str(span("näme")) == "spec.yaml:2:8"


@given(st.text(), st.integers(-3, 50))
def test_an_offset_survives_the_way_through_line_and_column(text, offset):
    source = Source("x", text)
    inside = max(0, min(offset, len(text)))

    assert source.offset(*source.position(offset)) == inside


def test_full_shows_snippet_carets_notes_and_help():
    item = Diagnostic(
        "unknown-thing",
        "error",
        "there is no `全角`",
        Label(span("全角"), "not declared"),
        (Label(span("a: 1"), "declared here: `a`"),),
        ("a fact",),
        ("did you mean `a`?",),
    )

    assert full.render([item]) == (
        "error[unknown-thing]: there is no `全角`\n"
        " --> spec.yaml:2:17\n"
        "  |\n"
        "2 | b: {c: näme, d: 全角x}\n"
        "  |                 ^^^^ not declared\n"
        " ::: spec.yaml:1:1\n"
        "1 | a: 1\n"
        "  | ---- declared here: `a`\n"
        "  = note: a fact\n"
        "  = help: did you mean `a`?\n"
        "  = see:  docs/errors/unknown-thing.md\n"
        "\n"
        "1 error in 1 file.\n"
    )


def test_concise_is_one_line():
    item = Diagnostic("some-code", "warning", "careful", Label(span("näme")))

    assert concise.render([item]) == "spec.yaml:2:8: warning[some-code]: careful\n"


def test_json_carries_every_part():
    item = Diagnostic("some-code", "error", "bad", Label(span("näme"), "here"), notes=("n",), help=("h",))

    [loaded] = json.loads(json_render.render([item]))["diagnostics"]

    assert loaded == {
        "code": "some-code",
        "severity": "error",
        "message": "bad",
        "primary": {
            "file": "spec.yaml",
            "line": 2,
            "column": 8,
            "endLine": 2,
            "endColumn": 12,
            "text": "here",
        },
        "related": [],
        "notes": ["n"],
        "help": ["h"],
    }


def test_github_escapes_what_would_end_the_command():
    item = Diagnostic("some-code", "error", "100%\nbad", Label(Span(Source("a,b:c.yaml", "x"), 0, 1)))

    assert github.render([item]) == (
        "::error file=a%2Cb%3Ac.yaml,line=1,col=1,endLine=1,endColumn=2,title=some-code::100%25%0Abad\n"
    )


def test_more_than_a_hundred_are_counted_not_shown():
    items = [Diagnostic("c", "error", f"number {n}") for n in range(130)]

    text = full.render(items)

    assert "number 99\n" in text
    assert "number 100\n" not in text
    assert "30 more diagnostics were truncated\n" in text
    assert text.endswith("130 errors.\n")


def test_collected_errors_are_sorted_by_place_and_raised_together():
    found = Diagnostics()
    found.warning("w", "later", span("d: "))
    found.error("e", "earlier", span("a: 1"))
    found.error("e", "earlier", span("a: 1"))

    with pytest.raises(PolicygenError) as raised:
        found.raise_if_errors()

    assert [item.message for item in raised.value.diagnostics] == ["earlier", "later"]


def test_warnings_alone_do_not_raise():
    found = Diagnostics()
    found.warning("w", "only this")
    found.raise_if_errors()
    assert [item.severity for item in found] == ["warning"]


def test_fail_raises_one_error():
    with pytest.raises(PolicygenError, match="no such pool"):
        fail("unknown-pool", "no such pool")


@pytest.mark.parametrize(
    ("word", "expected"),
    [("priorityClasName", "priorityClassName"), ("MEMORY", "memory"), ("zebra", None)],
)
def test_suggestions_are_close_or_absent(word, expected):
    assert suggestion(word, ["priorityClassName", "memory"]) == expected


@given(st.text(max_size=300), st.integers(0, 300), st.integers(0, 300))
def test_rendering_never_fails(text, start, length):
    source = Source("x", text)
    item = Diagnostic("c", "error", text, Label(Span(source, start, start + length), text))

    assert full.render([item], color=True)
    assert concise.render([item])
    assert github.render([item])
    assert json_render.render([item])
