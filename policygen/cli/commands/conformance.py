"""`policygen conformance`: recorded vectors -> agreement."""

from __future__ import annotations

from pathlib import Path

import click

from policygen.cli import exit as codes


@click.command("conformance")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print counts and failed cases as JSON.")
@click.option(
    "--show", default=10, metavar="N", type=click.IntRange(0), help="Differences to print per file."
)
def command(files: tuple[Path, ...], as_json: bool, show: int) -> int:
    """Run files of recorded vectors and print where policygen agrees with the API server.

    FILES hold JSON lines, plain or gzipped; a `contexts.json` beside a file is used with it. The exit code is
    0 when every outcome agrees or is on the list of known differences.
    """
    from policygen.conformance.runner import run_file
    from policygen.render.conformance import render, render_json

    reports = [run_file(file) for file in files]
    click.echo(render_json(reports) if as_json else render(reports, show), nl=False)
    return codes.FAILED if any(report.unexpected for report in reports) else codes.OK
