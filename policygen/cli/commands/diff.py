"""`policygen diff`: what a change of policies does, on real objects instead of in YAML."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policygen.cli import exit as codes
from policygen.cli.main import report
from policygen.diagnostics import Diagnostics, Label, PolicygenError, Source, Span, fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from policygen.diagnostics import Diagnostic
    from policygen.verify.effects import Comparison, Ground
    from policygen.verify.subject import Subject

_FORMATS = ("text", "markdown", "json")
Paths = tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two: where it lies on disk, and how that is called in messages."""

    path: Path
    root: str = ""
    """The temporary folder of a revision."""
    label: str = ""

    def named(self, text: str) -> str:
        """A text with the names that the user knows."""
        return text.replace(f"{self.root}{os.sep}", f"{self.label}:") if self.root else text


@click.command("diff")
@click.argument("sides", nargs=-1, required=True, metavar="OLD NEW")
@click.option(
    "--rev",
    metavar="OLD..NEW",
    help="Compare one PATH in two revisions; without `..NEW`, with the files as they are.",
)
@click.option(
    "-f",
    "--fixtures",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Objects to try, besides suites'.",
)
@click.option(
    "--stored", multiple=True, type=click.Path(path_type=Path), help="Anything else in the cluster."
)
@click.option("--kubernetes", metavar="VERSION", help="Another version than the specs say, for both sides.")
@click.option("--exit-code", is_flag=True, help="Exit with 1 when effects differ.")
@click.option("-o", "--output", type=click.Choice(_FORMATS), default="text", show_default=True)
def command(
    sides: tuple[str, ...],
    rev: str | None,
    fixtures: Paths,
    stored: Paths,
    kubernetes: str | None,
    exit_code: bool,
    output: str,
) -> int:
    """Compare the effects of two specs, bundles or git revisions.

    OLD and NEW are specs, manifests or folders of them, or `REV:path` as git writes it. Every object of `-f`
    and of the suites beside NEW is sent to both. As with `git diff`, the exit code is 0 unless `--exit-code`
    asks for 1 when effects differ; 2: the input has errors.
    """
    from policygen.kube import versions

    version = versions.parse(kubernetes) if kubernetes else None
    with ExitStack() as stack:
        old, new = _sides(sides, rev, stack)
        try:
            found = _compare(old, new, fixtures, stored, version)
        except PolicygenError as error:
            report(_renamed(error.diagnostics, old, new))
            return codes.INVALID
        shown = new.named(old.named(_render(found, output)))
    click.echo(shown, nl=False)
    return codes.FAILED if exit_code and found.different else codes.OK


def _sides(arguments: tuple[str, ...], rev: str | None, stack: ExitStack) -> tuple[Side, Side]:
    if rev is None:
        if len(arguments) != 2:
            raise click.UsageError("name two specs or bundles, or one with `--rev`")
        return _side(arguments[0], stack), _side(arguments[1], stack)
    if len(arguments) != 1:
        raise click.UsageError("with `--rev` name one path")
    from policygen.verify.revisions import from_here

    before, dots, after = rev.partition("..")
    path = from_here(arguments[0])
    old = _side(f"{before or 'HEAD'}:{path}", stack)
    return old, _side(f"{after or 'HEAD'}:{path}", stack) if dots else _side(arguments[0], stack)


def _side(text: str, stack: ExitStack) -> Side:
    from policygen.verify import revisions

    found = revisions.parse(text)
    if found is None:
        if not Path(text).exists():
            fail("manifest-not-found", f"cannot read `{text}`: no such file or directory")
        return Side(Path(text))
    root = stack.enter_context(revisions.checked_out(found.name))
    return Side(root / found.path, str(root), found.name)


def _compare(old: Side, new: Side, fixtures: Paths, stored: Paths, version: str | None) -> Comparison:
    """All pairs of the two sides, each with its own suites, put together."""
    from policygen.verify.effects import Comparison, compare

    found = Diagnostics()
    given = _given(fixtures, stored, found)
    pairs = list(_pairs(old, new))
    results = []
    for before, after in pairs:
        subjects = _subjects(before, after, version, found)
        grounds = [*given, *_suites(before, after, found)]
        found.raise_if_errors()
        if subjects is not None:
            results.append(compare(*subjects, grounds))
    effects = tuple(effect for result in results for effect in result.effects)
    if not effects:
        fail(
            "diff-no-fixtures",
            "there is no object to try the policies on, so no effect can be compared",
            help=["name objects with `-f`, or write a suite: `policygen init --from SPEC` makes one"],
        )
    return Comparison(effects, tuple(item for result in results for item in result.objects))


def _pairs(old: Side, new: Side) -> Iterator[tuple[Path, Path]]:
    """The two paths, or what lies below them where the folders hold several bundles."""
    below = sorted({*_bundles(old.path), *_bundles(new.path)})
    if not below:
        for side in (old, new):
            if not side.path.exists():
                where = (
                    f"`{side.label}:{side.path.relative_to(side.root)}`" if side.root else f"`{side.path}`"
                )
                fail(
                    "manifest-not-found",
                    f"cannot read {where}: no such file or directory",
                    help=_from_here(side),
                )
        yield old.path, new.path
    for name in below:
        yield old.path / name, new.path / name


def _from_here(side: Side) -> list[str]:
    """What git suggests where the path is in the current folder of the repository: `REV:./path`."""
    from policygen.verify.revisions import from_here

    if not side.root:
        return []
    named = side.path.relative_to(side.root).as_posix()
    here = Path(side.root) / from_here(f"./{named}")
    return [f"did you mean `{side.label}:./{named}`?"] if here.exists() and here != side.path else []


def _bundles(path: Path) -> list[str]:
    """Folders of bundles inside a folder that is none itself."""
    from policygen.verify import subject

    if not path.is_dir() or subject.holds_policies(path):
        return []
    return [entry.name for entry in path.iterdir() if entry.is_dir() and subject.is_worth(entry)]


def _subjects(
    old: Path, new: Path, version: str | None, found: Diagnostics
) -> tuple[Subject, Subject] | None:
    from policygen.verify.subject import Subject, load

    loaded = [load([path], found, version=version) if path.exists() else None for path in (old, new)]
    if found.has_errors:
        return None
    before, after = loaded
    if before is None and after is not None:
        before = Subject(after.version, ())
    if after is None and before is not None:
        after = Subject(before.version, ())
    assert before is not None and after is not None, "one of the two is there"  # noqa: PT018
    return before, after


def _suites(old: Path, new: Path, found: Diagnostics) -> list[Ground]:
    """Those beside the new bundle; beside the old one where the new has none."""
    from policygen.verify import suite
    from policygen.verify.effects import ground_of
    from policygen.verify.sources import is_suite

    for path in (new, old):
        folder = path if path.is_dir() else path.parent
        files = [entry for entry in sorted(folder.iterdir()) if is_suite(entry)] if folder.is_dir() else []
        loaded = [suite.load(file, found) for file in files]
        if loaded:
            return [ground_of(item) for item in loaded if item is not None]
    return []


def _given(fixtures: Paths, stored: Paths, found: Diagnostics) -> list[Ground]:
    from policygen.kube import reader
    from policygen.verify.effects import Ground
    from policygen.verify.sources import is_usable
    from policygen.verify.world import create

    kept: list[dict[str, Any]] = [document.value for document in reader.read_paths(stored, found)]
    trials = [
        (create(document.value, f"{document.name}:{document.line}", document.span()), ())
        for document in reader.read_paths(fixtures, found)
        if is_usable(document.value, document.span(), found)
    ]
    return [Ground(tuple(trials), tuple(kept))] if trials else []


def _render(found: Comparison, output: str) -> str:
    from policygen.render import effects as render

    match output:
        case "json":
            return render.as_json(found)
        case "markdown":
            return render.as_markdown(found)
        case _:
            return render.text(found, color=sys.stdout.isatty() and "NO_COLOR" not in os.environ)


def _renamed(diagnostics: tuple[Diagnostic, ...], *sides: Side) -> Iterator[Diagnostic]:
    """The diagnostics with files of revisions called `REV:path`."""
    for item in diagnostics:
        message = item.message
        for side in sides:
            message = side.named(message)
        labels = [_relabelled(label, sides) for label in item.related]
        primary = _relabelled(item.primary, sides) if item.primary else None
        yield replace(item, message=message, primary=primary, related=tuple(labels))


def _relabelled(label: Label, sides: tuple[Side, ...]) -> Label:
    name = label.span.source.name
    for side in sides:
        name = side.named(name)
    source = Source(name, label.span.source.text)
    return Label(Span(source, label.span.start, label.span.end), label.text)
