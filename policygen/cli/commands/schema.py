"""`policygen schema`: the JSON Schema of the spec language, for editors."""

from __future__ import annotations

import click


@click.command("schema")
def command() -> None:
    """Print the JSON Schema (draft 2020-12) of the spec language.

    Editors use it when a spec begins with `# yaml-language-server: $schema=FILE`.
    """
    from policygen.compiler.json_schema import schema_text

    click.echo(schema_text(), nl=False)
