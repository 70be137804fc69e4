"""`policygen schema`: the JSON Schemas of specs and suites, for editors."""

from __future__ import annotations

import json

import click


@click.command("schema")
@click.argument("what", type=click.Choice(["spec", "suite"]), default="spec")
def command(what: str) -> None:
    """Print the JSON Schema (draft 2020-12) of specs, or of suites.

    Editors use it when a file begins with `# yaml-language-server: $schema=FILE`.
    """
    if what == "suite":
        from policygen.verify.suite_shape import schema

        click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))
        return
    from policygen.compiler.json_schema import schema_text

    click.echo(schema_text(), nl=False)
