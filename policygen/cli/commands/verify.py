"""`policygen verify`: prove that a bundle does what was meant."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policygen.cli import exit as codes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from policygen.verify.engine import Part, Progress, Spread, Worker
    from policygen.verify.report import Report
    from policygen.verify.sources import Located

_FORMATS = ("text", "concise", "json", "junit", "sarif", "github", "markdown")


class _ReportFile(click.ParamType[tuple[str, Path]]):
    """`junit=FILE`."""

    name = "FORM=FILE"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, Path]:
        form, equals, path = value.partition("=")
        if form not in _FORMATS or not equals or not path:
            self.fail(f"`{value}` is not FORM=FILE, with one of {', '.join(_FORMATS)}", param, ctx)
        return form, Path(path)


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
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="text", help="Form of the report.")
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=_ReportFile(),
    help="Write a report in another form besides; may be repeated.",
)
def command(
    paths: tuple[Path, ...],
    fixtures: tuple[Path, ...],
    versions: tuple[str, ...],
    suites_only: bool,
    update: bool,
    jobs: int,
    output: str,
    reports: tuple[tuple[str, Path], ...],
) -> int:
    """Prove that policies do what was meant.

    PATHS are suites, specs, manifests, or folders of them; the current folder by default. Exit code 0: all
    holds; 1: something does not; 2: the input has errors; 130: interrupted.
    """
    from policygen.kube.versions import parse
    from policygen.verify.engine import PROPERTIES, Options, verify

    options = Options(
        versions=tuple(parse(version) for version in versions),
        fixtures=tuple(_objects(fixtures)),
        properties=() if suites_only else PROPERTIES,
        update=update,
    )
    with _progress() as progress:
        if jobs == 1:
            report = verify(paths or (Path(),), options, progress)
        else:
            report = verify(paths or (Path(),), options, spread=_over(jobs, progress))
    click.echo(_render(report, output), nl=False)
    _write(report, reports)
    if report.interrupted:
        return codes.INTERRUPTED
    if any(item.severity == "error" for item in report.diagnostics):
        return codes.INVALID
    return codes.OK if report.passed else codes.FAILED


def _objects(paths: tuple[Path, ...]) -> Iterator[Located]:
    from policygen.diagnostics import Diagnostics
    from policygen.kube import reader
    from policygen.verify.sources import Located, is_usable

    found = Diagnostics()
    for document in reader.read_paths(paths, found):
        if is_usable(document.value, document.span(), found):
            yield Located(document.value, document.span(), document)
    found.raise_if_errors()


def _over(jobs: int, progress: Progress) -> Spread:
    """Tasks over processes; progress is what has been done."""

    @contextmanager
    def spread(worker: Worker, numbers: Iterable[int]) -> Iterator[Iterator[Part]]:
        from policygen.cli.workers import map_ordered

        with map_ordered(_Quiet(worker), numbers, jobs) as results:
            yield _counted(results, len(worker.tasks), progress)

    return spread


def _counted(results: Iterator[Part], total: int, progress: Progress) -> Iterator[Part]:
    progress(f"0 of {total} done")
    for number, part in enumerate(results, 1):
        progress(f"{number} of {total} done")
        yield part


class _Quiet:
    """A worker in another process: an interrupt is for the process that reports."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def __call__(self, number: int) -> Part:
        """The result of a task."""
        import signal

        signal.signal(signal.SIGINT, signal.SIG_IGN)
        return self._worker(number)


def _render(report: Report, output: str, *, terminal: bool = True) -> str:
    from importlib import import_module

    match output:
        case "text":
            from policygen.render import report as text

            return text.render(
                report, color=terminal and sys.stdout.isatty() and "NO_COLOR" not in os.environ
            )
        case "concise" | "github" | "sarif":
            found = (finding.diagnostic for finding in report.findings)
            shown = list(dict.fromkeys((*report.diagnostics, *found)))
            rendered: str = import_module(f"policygen.render.{output}").render(shown)
        case "json":
            from policygen.render import report_json

            rendered = report_json.render(report)
        case _:
            name = {"markdown": "report_markdown"}.get(output, output)
            rendered = import_module(f"policygen.render.{name}").render(report)
    return rendered


def _write(report: Report, reports: Iterable[tuple[str, Path]]) -> None:
    """Each report whole or not at all."""
    from policygen.diagnostics import fail
    from policygen.verify.files import write_whole

    for form, path in reports:
        try:
            write_whole(path, _render(report, form, terminal=False))
        except OSError as error:
            fail("unwritable-output", f"cannot write `{path}`: {(error.strerror or str(error)).lower()}")


class _progress:  # noqa: N801 - used as a `with` statement only
    """One line on a terminal that says what is being verified; nothing elsewhere."""

    def __enter__(self) -> Progress:
        return self._show if sys.stderr.isatty() else lambda _: None

    def _show(self, text: str) -> None:
        click.echo(f"\r\x1b[K{text[:100]}", err=True, nl=False)

    def __exit__(self, *_: object) -> None:
        if sys.stderr.isatty():
            click.echo("\r\x1b[K", err=True, nl=False)
