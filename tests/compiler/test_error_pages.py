"""The examples on the pages of the spec's diagnostics are true: *Avoid* gives the code, *Prefer* does not."""

import re
from pathlib import Path

import pytest

from policygen.compiler import compile_text
from policygen.diagnostics import PolicygenError

PAGES = Path(__file__).parent.parent.parent / "docs" / "errors"
EXAMPLE = re.compile(
    r"^## (Avoid|Prefer)\n<!-- below spec: -->\n```yaml\n(.*?)```$", re.MULTILINE | re.DOTALL
)
HEADER = (
    "apiVersion: policygen.dev/v1alpha1\nkind: PlacementPolicy\n"
    'metadata: {name: page}\nspec:\n  kubernetes: "1.36"\n'
)

EXAMPLES = [
    pytest.param(page.stem, kind, body, id=f"{page.stem}-{kind.lower()}")
    for page in sorted(PAGES.glob("*.md"))
    for kind, body in EXAMPLE.findall(page.read_text(encoding="utf-8"))
]


def codes(body: str) -> set[str]:
    text = HEADER + "".join(f"  {line}\n" for line in body.splitlines())
    try:
        return {item.code for item in compile_text(text).diagnostics}
    except PolicygenError as error:
        return {item.code for item in error.diagnostics}


def test_most_pages_have_examples_that_can_be_tried():
    assert len(EXAMPLES) > 100


@pytest.mark.parametrize(("code", "kind", "body"), EXAMPLES)
def test_an_example_does_what_the_page_says(code, kind, body):
    assert (code in codes(body)) == (kind == "Avoid")
