"""`policygen verify`: prove that a bundle does what was meant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policygen.cli import exit as codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from policygen.verify.report import Report
    from policygen.verify.sources import Located

_FORMATS = ("text", "concise", "json", "junit", "sarif", "github")


@click.command("verify")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-f",
    "--fixtures",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Objects to try, besides suites'.",
)
@click.option("--kubernetes", "versions", multiple=True, metavar="VERSION", help="Version, may be repeated.")
@click.option("--suites-only", is_flag=True, help="Run the cases of suites, without the properties.")
@click.option("--update", is_flag=True, help="Write golden results and show what changed.")
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="text", help="Form of the report.")
def command(
    paths: tuple[Path, ...],
    fixtures: tuple[Path, ...],
    versions: tuple[str, ...],
    suites_only: bool,
    update: bool,
    output: str,
) -> int:
    """Prove that policies do what was meant.

    PATHS are suites, specs, manifests, or folders of them; the current folder by default. Exit code 0: all
    holds; 1: something does not; 2: the input has errors.
    """
    from policygen.verify.engine import PROPERTIES, Options, verify

    options = Options(
        versions=versions,
        fixtures=tuple(_objects(fixtures)),
        properties=() if suites_only else PROPERTIES,
        update=update,
    )
    with _progress() as progress:
        report = verify(paths or (Path(),), options, progress)
    click.echo(_render(report, output), nl=False)
    if report.interrupted:
        return codes.INTERRUPTED
    if any(item.severity == "error" for item in report.diagnostics):
        return codes.INVALID
    return codes.OK if report.passed else codes.FAILED


def _objects(paths: tuple[Path, ...]) -> Iterator[Located]:
    from policygen.kube import reader
    from policygen.verify.sources import Located

    for document in reader.read_paths(paths):
        yield Located(document.value, document.span())


def _render(report: Report, output: str) -> str:
    from policygen.render import concise, github, junit, report_json, sarif
    from policygen.render import report as text

    shown = [*report.diagnostics, *(finding.diagnostic for finding in report.findings)]
    match output:
        case "concise":
            return concise.render(shown)
        case "github":
            return github.render(shown)
        case "sarif":
            return sarif.render(shown)
        case "junit":
            return junit.render(report)
        case "json":
            return report_json.render(report)
        case _:
            return text.render(report, color=sys.stdout.isatty())


class _progress:  # noqa: N801 - used as a `with` statement only
    """One line on a terminal that says what is being verified; nothing elsewhere."""

    def __enter__(self) -> Callable[[str], None]:
        return self._show if sys.stderr.isatty() else lambda _: None

    def _show(self, text: str) -> None:
        click.echo(f"\r\x1b[K{text[:100]}", err=True, nl=False)

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            click.echo("\r\x1b[K", err=True, nl=False)
