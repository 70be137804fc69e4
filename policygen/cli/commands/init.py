"""`policygen init`: a first spec with pods to try it on and a suite, or a suite for a spec that is there."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import click

from policygen.diagnostics import fail

FILES = {"policy.yaml": "policy.yaml", "suite.yaml": "suite.yaml", "pods.yaml": "fixtures/pods.yaml"}
"""Template -> where it goes."""
SPEC_SCHEMA = "policygen.schema.json"
SUITE_SCHEMA = "policygen.suite.schema.json"


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), required=False)
@click.option("--name", help="Name of the spec; by default that of the directory.")
@click.option(
    "--kubernetes",
    type=click.Choice(["1.34", "1.35", "1.36", "1.37"]),
    help="The version of the cluster; 1.36 for a new spec.",
)
@click.option(
    "--from",
    "spec",
    type=click.Path(path_type=Path),
    metavar="SPEC",
    help="Write a suite and fixtures for this spec, or folder of manifests.",
)
def command(directory: Path | None, name: str | None, kubernetes: str | None, spec: Path | None) -> None:
    """Write a first spec, a suite and fixtures, and their JSON Schemas for the editor.

    With `--from SPEC` only the suite and its fixtures are written, beside the spec: objects that reach its
    rules, with what happens to them now as golden results. Nothing is ever overwritten.
    """
    if spec is not None:
        from policygen.verify.scaffold import NOT_REACHED

        contents = _suite_for(spec, directory, kubernetes)
        _write(contents)
        if any(NOT_REACHED in text for text in contents.values()):
            click.echo("Some parts of the rules are not reached yet: the end of the suite lists them.")
        click.echo(f"Next: read what the goldens say, then policygen verify {directory or _folder(spec)}")
        return
    from policygen.compiler.json_schema import schema_text
    from policygen.kube.names import dns_label

    directory = directory or Path()
    chosen = name or _name_of(directory)
    if dns_label(chosen):
        fail("bad-name", f"`{chosen}` cannot be the name of a spec", help=["choose one with `--name`"])
    contents = {
        directory / target: _template(source).replace("NAME", chosen).replace("VERSION", kubernetes or "1.36")
        for source, target in FILES.items()
    }
    contents[directory / SPEC_SCHEMA] = schema_text()
    contents[directory / SUITE_SCHEMA] = _suite_schema()
    _write(contents)
    click.echo(f"Next: policygen verify {directory} && policygen build {directory}")


def _write(contents: dict[Path, str]) -> None:
    """Write all files, or none when one is there already."""
    from policygen.verify.files import write_whole

    for path in contents:
        if path.exists():
            fail("file-exists", f"`{path}` exists already", help=["choose another directory"])
    for path, text in contents.items():
        try:
            write_whole(path, text)
        except OSError as error:
            fail("unwritable-output", f"cannot write `{path}`: {(error.strerror or str(error)).lower()}")
        click.echo(f"wrote {path}")


def _folder(spec: Path) -> Path:
    return spec if spec.is_dir() else spec.parent


def _suite_for(spec: Path, directory: Path | None, kubernetes: str | None) -> dict[Path, str]:
    """The suite, its fixtures and its goldens."""
    from os.path import relpath

    from policygen.diagnostics import Diagnostics
    from policygen.verify import scaffold, subject

    found = Diagnostics()
    loaded = subject.load([spec], found, version=kubernetes)
    found.raise_if_errors()
    assert loaded is not None, "what cannot be loaded has been reported"
    folder = directory or _folder(spec)
    made = scaffold.scaffold(loaded, relpath(spec, folder), SUITE_SCHEMA)
    contents = {folder / name: text for name, text in made.items()}
    if not (folder / SUITE_SCHEMA).exists():
        contents[folder / SUITE_SCHEMA] = _suite_schema()
    return contents


def _suite_schema() -> str:
    from policygen.verify.suite_shape import schema

    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _name_of(directory: Path) -> str:
    return directory.resolve().name.lower().replace("_", "-").replace(".", "-") or "cluster"


def _template(name: str) -> str:
    return files("policygen.cli").joinpath("scaffold", name).read_text(encoding="utf-8")
