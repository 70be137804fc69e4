"""`policygen build`: specs -> bundles of manifests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from policygen.cli import exit as codes
from policygen.cli.main import report
from policygen.diagnostics import Diagnostic, PolicygenError

if TYPE_CHECKING:
    from policygen.compiler.bundle import Bundle
    from policygen.compiler.layout import Spec


@click.command("build")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Directory of the bundle; `-` for a stream."
)
@click.option("--check", is_flag=True, help="Write nothing; fail when what is on disk differs.")
@click.option("--kubernetes", metavar="VERSION", help="Build for another version than the spec says.")
def command(paths: tuple[Path, ...], output: Path | None, check: bool, kubernetes: str | None) -> int:
    """Compile specs into Kubernetes manifests.

    PATHS are files, which together are one spec, or directories; the current one by default. A bundle goes to
    `manifests/` beside its spec.
    """
    from policygen.compiler.layout import find_specs

    stream = output == Path("-")
    if stream and check:
        raise click.UsageError("--check compares files: it does not go with `-o -`")
    specs = find_specs(paths or (Path(),), None if stream else output)
    built = _build(specs, kubernetes)
    if built is None:
        return codes.INVALID
    if stream:
        from policygen.compiler.output import render_stream

        click.echo("---\n".join(render_stream(bundle) for _, bundle in built), nl=False)
        return codes.OK
    return _check(built) if check else _write(built)


def _build(specs: list[Spec], kubernetes: str | None) -> list[tuple[Spec, Bundle]] | None:
    """All bundles, or nothing when one has errors; what there is to say about any of them is said."""
    from policygen.compiler import compile_spec

    said: list[Diagnostic] = []
    built = []
    for spec in specs:
        try:
            bundle = compile_spec(spec.files, kubernetes=kubernetes)
        except PolicygenError as error:
            said += error.diagnostics
        else:
            said += bundle.diagnostics
            built.append((spec, bundle))
    report(said)
    return built if len(built) == len(specs) else None


def _write(built: list[tuple[Spec, Bundle]]) -> int:
    from policygen.compiler.output import render_files, write_files

    for spec, bundle in built:
        changed = write_files(spec.output, render_files(bundle))
        count = len(bundle.manifests)
        objects = "1 object" if count == 1 else f"{count} objects"
        click.echo(f"{spec.output}: {objects}{'' if changed else ', unchanged'}")
    return codes.OK


def _check(built: list[tuple[Spec, Bundle]]) -> int:
    from policygen.compiler.output import compare, render_files

    differences = [item for spec, bundle in built for item in compare(spec.output, render_files(bundle))]
    for item in differences:
        click.echo(f"{item.how}: {item.path}")
    if differences:
        click.echo("Hint: run `policygen build` with the same arguments, without --check.", err=True)
    return codes.FAILED if differences else codes.OK
