"""`policygen help-error`, and `--error-format` behind a command."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from policygen.cli import exit as codes
from policygen.cli.commands import help_error
from policygen.cli.main import run

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "errors"


@pytest.mark.parametrize("code", ["unknown-key", "docs/errors/unknown-key.md"])
def test_a_page_is_printed(code, capsys):
    assert run(["help-error", code]) == 0
    assert capsys.readouterr().out == (PAGES / "unknown-key.md").read_text().strip() + "\n"


def test_all_codes_are_listed(capsys):
    assert run(["help-error"]) == 0
    assert capsys.readouterr().out.split() == sorted(path.stem for path in PAGES.glob("*.md"))


@pytest.mark.parametrize(
    ("code", "says"), [("unknown-kye", "did you mean `unknown-key`?"), ("../../README", "lists all codes")]
)
def test_an_unknown_code_is_told(code, says, capsys):
    assert run(["help-error", code]) == 2
    shown = capsys.readouterr().err
    assert "error[unknown-error-code]" in shown
    assert says in shown


def test_wheels_hold_the_pages_where_the_command_looks():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]

    assert help_error._PLACES[0] == ROOT / included["docs/errors"]


@pytest.mark.parametrize(
    "words",
    [
        ["--error-format", "json", "run", "-p", "nope", "-f", "nope"],
        ["run", "-p", "nope", "-f", "nope", "--error-format", "json"],
        ["help-error", "--error-format=json", "nope"],
        ["devices", "match", "true", "-f", "nope", "--error-format", "json"],
        ["--error-format", "github", "devices", "--error-format", "json", "match", "true", "-f", "nope"],
    ],
)
def test_the_format_of_errors_may_stand_anywhere(words, capsys):
    assert run(words) == 2
    assert json.loads(capsys.readouterr().err)


def test_only_the_main_help_shows_the_format(capsys):
    run(["run", "--help"])
    assert "--error-format" not in capsys.readouterr().out
    assert run(["run", "--error-format", "loud"]) == codes.USAGE
    assert "'loud' is not one of 'full', 'concise', 'json', 'github'" in capsys.readouterr().err
