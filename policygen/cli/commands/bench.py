"""`policygen bench`: how fast policygen is on this machine."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("bench")
@click.argument("topics", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option(
    "--vectors", type=click.Path(path_type=Path), help="Folder of recorded vectors to measure with."
)
def command(topics: tuple[str, ...], as_json: bool, vectors: Path | None) -> None:
    """Measure, and print the figures.

    TOPICS are those of `policygen.bench`; all by default. Without recorded vectors, typical inputs are used.
    """
    from policygen.bench import runner

    known = runner.topics()
    for topic in topics:
        if topic not in known:
            raise click.UsageError(f"no topic `{topic}`: choose from {', '.join(known)}")
    figures = runner.run(vectors or runner.find_vectors(), topics)
    if as_json:
        click.echo(json.dumps({name: round(value, 3) for name, value in figures.items()}, indent=1))
        return
    width = max(map(len, figures), default=0)
    for name, value in figures.items():
        click.echo(f"{name:{width}}  {value:,.1f}")
