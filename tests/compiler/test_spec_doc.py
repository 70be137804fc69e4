"""The page about the spec is true: its examples compile, and every key of the language is on it."""

import re
from pathlib import Path

import pytest

from policygen.compiler import compile_text
from policygen.compiler.json_schema import spec_schema

PAGE = (Path(__file__).parent.parent.parent / "docs" / "spec.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
HEADER = (
    "apiVersion: policygen.dev/v1alpha1\nkind: PlacementPolicy\n"
    'metadata: {name: page}\nspec:\n  kubernetes: "1.36"\n'
)


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_an_example_compiles(number):
    text = EXAMPLES[number]
    if not text.startswith("apiVersion:"):
        text = HEADER + "".join(f"  {line}\n" for line in text.splitlines())

    compile_text(text)


def test_every_key_is_described_with_the_words_of_the_schema():
    missing = [
        f"{name}.{key}"
        for name, definition in spec_schema()["$defs"].items()
        for key, value in definition.get("properties", {}).items()
        if (f"- `{key}`: {value['description']}" if "description" in value else f"- `{key}`\n") not in PAGE
    ]

    assert missing == []
