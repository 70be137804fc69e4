"""`policygen init`: a first spec with a pod to try it on."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from policygen.diagnostics import fail

FILES = {"policy.yaml": "policy.yaml", "pods.yaml": "fixtures/pods.yaml"}
"""Template -> where it goes."""


@click.command("init")
@click.argument("directory", type=click.Path(path_type=Path, file_okay=False), default=Path())
@click.option("--name", help="Name of the spec; by default that of the directory.")
@click.option(
    "--kubernetes",
    type=click.Choice(["1.34", "1.35", "1.36", "1.37"]),
    default="1.36",
    show_default=True,
    help="The version of the cluster.",
)
def command(directory: Path, name: str | None, kubernetes: str) -> None:
    """Write a first spec, its JSON Schema for the editor, and fixtures. Nothing is ever overwritten."""
    from policygen.compiler.json_schema import schema_text
    from policygen.kube.names import dns_label

    chosen = name or _name_of(directory)
    if dns_label(chosen):
        fail("bad-name", f"`{chosen}` cannot be the name of a spec", help=["choose one with `--name`"])
    contents = {
        directory / target: _template(source).replace("NAME", chosen).replace("VERSION", kubernetes)
        for source, target in FILES.items()
    }
    contents[directory / "policygen.schema.json"] = schema_text()
    for path in contents:
        if path.exists():
            fail("file-exists", f"`{path}` exists already", help=["choose another directory"])
    for path, text in contents.items():
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            fail("unwritable-output", f"cannot write `{path}`: {(error.strerror or str(error)).lower()}")
        click.echo(f"wrote {path}")
    click.echo(f"Next: policygen build {directory}")


def _name_of(directory: Path) -> str:
    return directory.resolve().name.lower().replace("_", "-").replace(".", "-") or "cluster"


def _template(name: str) -> str:
    return files("policygen.cli").joinpath("scaffold", name).read_text(encoding="utf-8")
