"""`policygen help-error`: the page that an error, a warning or a note points to."""

from __future__ import annotations

from pathlib import Path

import click

from policygen.diagnostics import fail, suggestion

_PACKAGE = Path(__file__).parents[2]
_PLACES = (_PACKAGE / "error_pages", _PACKAGE.parent / "docs" / "errors")
"""Where the pages are: beside the modules when installed, in the repository in a checkout."""


@click.command("help-error")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Print the page of CODE, such as `unknown-key`: what it means, why it matters, what to write instead.

    Without CODE, list all codes. The name of the page, `docs/errors/unknown-key.md`, will do as well.
    """
    pages = _pages()
    if code is None:
        click.echo("\n".join(sorted(pages)))
        return
    wanted = code.rpartition("/")[2].removesuffix(".md")
    if wanted not in pages:
        near = suggestion(wanted, pages)
        fail(
            "unknown-error-code",
            f"there is no page for `{code}`",
            help=[f"did you mean `{near}`?" if near else "`policygen help-error` lists all codes"],
        )
    click.echo(pages[wanted].read_text(encoding="utf-8").strip())


def _pages() -> dict[str, Path]:
    """The pages by their codes."""
    found = next((place for place in _PLACES if place.is_dir()), None)
    if found is None:
        fail("unknown-error-code", "this installation of policygen has no pages on errors")
    return {path.stem: path for path in found.glob("*.md")}
