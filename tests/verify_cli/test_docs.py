"""The pages about suites and explanations: their examples run, and no key is left out."""

import re
from pathlib import Path

import pytest

from policygen.cli.main import run
from policygen.verify.suite_shape import CASE, EXPECT, SUITE

DOCS = Path(__file__).parents[2] / "docs"
SUITES = (DOCS / "suites.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", SUITES, re.MULTILINE | re.DOTALL)


@pytest.fixture
def example(tmp_path, monkeypatch):
    """The files of the example, which say their names."""
    monkeypatch.chdir(tmp_path)
    for language, text in BLOCKS:
        if language == "yaml":
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")


def test_the_example_verifies(example):
    assert run(["verify", "."]) == 0


def test_the_example_in_python_runs(example):
    (code,) = [text for language, text in BLOCKS if language == "python"]

    exec(compile(code, "suites.md", "exec"), {})


@pytest.mark.parametrize("shape", [SUITE, CASE, EXPECT], ids=["suite", "case", "expect"])
def test_every_key_is_explained(shape):
    assert [key for key in shape.fields if f"`{key}`" not in SUITES] == []


@pytest.mark.parametrize("page", ["suites.md", "explain.md"])
@pytest.mark.parametrize("command", ["verify", "explain", "diff", "init", "schema"])
def test_options_that_are_named_exist(page, command, capsys):
    text = (DOCS / page).read_text(encoding="utf-8")
    run([command, "--help"])
    known = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    named = set(re.findall(rf"policygen {command}[^`\n]*?(--[a-z-]+)", text))

    assert named <= known
