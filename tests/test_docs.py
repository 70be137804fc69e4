"""Docs cannot rot: every diagnostic code has a page and every page a code; links lead somewhere."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "policygen"
ERROR_PAGES = ROOT / "docs" / "errors"
CODE = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+")
FIRST_ARGUMENT = {"error", "warning", "fail", "Diagnostic"}
SECOND_ARGUMENT = {"make"}


def codes_in(path: Path) -> set[str]:
    """The literal codes in calls that make a diagnostic."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            place = 0 if name in FIRST_ARGUMENT else 1 if name in SECOND_ARGUMENT else None
            if place is not None and len(node.args) > place:
                argument = node.args[place]
                if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                    if CODE.fullmatch(argument.value):
                        found.add(argument.value)
        if isinstance(node, ast.keyword) and node.arg == "code" and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str) and CODE.fullmatch(node.value.value):
                found.add(node.value.value)
    return found


def all_codes() -> set[str]:
    return set().union(*(codes_in(path) for path in PACKAGE.rglob("*.py")))


def test_every_code_has_a_page():
    pages = {page.stem for page in ERROR_PAGES.glob("*.md")}

    assert all_codes() - pages == set()


def test_every_page_has_a_code():
    sources = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    orphans = {page.stem for page in ERROR_PAGES.glob("*.md") if f'"{page.stem}"' not in sources}

    assert orphans == set()


@pytest.mark.parametrize("page", sorted(ERROR_PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_a_page_says_what_and_shows_what_to_write_instead(page):
    text = page.read_text(encoding="utf-8")

    assert text.startswith(f"# {page.stem}\n")
    assert len(text) > 150


@pytest.mark.parametrize(
    "page",
    sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")]),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_relative_links_lead_to_files(page):
    for target in re.findall(r"\]\((?!https?://|#|mailto:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
