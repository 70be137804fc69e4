"""`policygen run`: any policies on any objects, as the API server would."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from policygen.cli import exit as codes
from policygen.cli.main import report
from policygen.cli.operations import OPERATIONS
from policygen.diagnostics import Diagnostic, Diagnostics, PolicygenError, make

if TYPE_CHECKING:
    from policygen.admission.cluster import Cluster
    from policygen.admission.intake import Client
    from policygen.admission.outcome import Outcome
    from policygen.kube.reader import Document, RawDocument

STDIN = "-"
_CHUNK_DOCUMENTS = 64
_CHUNK_BYTES = 256 * 1024
_KEPT_REFUSALS = 100
_NO_ACCOUNT = "must not be specified when serviceAccountName is not set"
_ACCOUNT_HELP = "most clusters name the account before that: `--plugin ServiceAccount` does so here"

Paths = tuple[Path, ...]
_PATH = click.Path(path_type=Path)


@dataclass(frozen=True, slots=True)
class Settings:
    """What to do with every object, and how to write what came of it."""

    client: Client
    output: str
    explain: bool


@dataclass(slots=True)
class Tally:
    """What came of some objects."""

    total: int = 0
    changed: int = 0
    refused: int = 0
    text: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    faulty: bool = False

    def fault(self, error: PolicygenError) -> None:
        """Keep what is wrong with an input."""
        self.faulty = True
        self.diagnostics += error.diagnostics

    def add(self, other: Tally) -> None:
        """Count on; the text is not kept, of refusals only the first."""
        self.total += other.total
        self.changed += other.changed
        self.refused += other.refused
        self.faulty = self.faulty or other.faulty
        room = _KEPT_REFUSALS - len(self.diagnostics)
        self.diagnostics += other.diagnostics[: max(room, 0)]


@click.command("run")
@click.option(
    "-p",
    "--policies",
    multiple=True,
    type=_PATH,
    metavar="PATH",
    help="Specs, or policies and bindings.",
)
@click.option(
    "-f", "--filename", "files", multiple=True, type=_PATH, metavar="PATH", help="Objects; `-` for stdin."
)
@click.option("--params", multiple=True, type=_PATH, metavar="PATH", help="Parameter objects.")
@click.option("--namespaces", multiple=True, type=_PATH, metavar="PATH", help="Namespaces with their labels.")
@click.option(
    "--stored",
    multiple=True,
    type=_PATH,
    metavar="PATH",
    help="Anything else in the cluster: CRDs, classes, quotas, old objects.",
)
@click.option(
    "--operation",
    type=click.Choice(list(OPERATIONS), case_sensitive=False),
    default="create",
    show_default=True,
)
@click.option("--subresource", default="", metavar="NAME", help="Such as `ephemeralcontainers`.")
@click.option("-n", "--namespace", default="default", metavar="NAME", help="For objects that name none.")
@click.option("--user", default="admin", show_default=True, metavar="NAME", help="Who asks.")
@click.option("--group", "groups", multiple=True, metavar="NAME", help="Groups of the user.")
@click.option(
    "--allow",
    multiple=True,
    metavar="CHECK",
    help="What `authorizer` allows, as `user|verb|group|resource|subresource|namespace|name`; else all.",
)
@click.option("--kubernetes", metavar="VERSION", help="As the specs say by default, else 1.36.")
@click.option(
    "--plugin", "plugins", multiple=True, metavar="NAME", help="An in-tree plugin that is off by default."
)
@click.option("--policies-only", is_flag=True, help="No in-tree plugins, no validation of the object.")
@click.option(
    "-o", "--output", type=click.Choice(["yaml", "diff", "json"]), default="yaml", show_default=True
)
@click.option("--explain", is_flag=True, help="Each policy's verdict, with the values of its variables.")
@click.option("--jobs", type=click.IntRange(1, 64), default=1, show_default=True, help="Processes.")
def command(
    policies: Paths,
    files: Paths,
    params: Paths,
    namespaces: Paths,
    stored: Paths,
    operation: str,
    subresource: str,
    namespace: str,
    user: str,
    groups: tuple[str, ...],
    allow: tuple[str, ...],
    kubernetes: str | None,
    plugins: tuple[str, ...],
    policies_only: bool,
    output: str,
    explain: bool,
    jobs: int,
) -> int:
    """Show what the API server would do with objects under these policies.

    Objects are read one by one and written as they would be stored. A policy needs a binding, as on a
    cluster. Exit codes: 0 all allowed, 1 some refused, 2 faulty input.
    """
    if not files:
        raise click.UsageError("give objects with -f; `-f -` reads standard input")
    from policygen.admission.intake import Client, check_policies
    from policygen.admission.request import UserInfo

    found = Diagnostics()
    cluster = _cluster(
        policies,
        (*params, *namespaces, *stored),
        found,
        version=kubernetes,
        allow=allow,
        plugins=plugins,
        policies_only=policies_only,
        has_namespaces=bool(namespaces),
    )
    found.raise_if_errors()
    check_policies(cluster, found)
    if not (cluster.mutating_policies or cluster.validating_policies):
        found.warning("no-policies", "there are no policies: only the server itself judges the objects")
    report(found.sorted())
    given_groups = groups or (("system:masters",) if user == "admin" else ())
    who = UserInfo(user, (*given_groups, "system:authenticated"))
    client = Client(OPERATIONS[operation], who, subresource, namespace)
    return _run(files, cluster, Settings(client, output, explain), jobs)


def _cluster(
    policies: Paths,
    others: Paths,
    found: Diagnostics,
    *,
    version: str | None,
    allow: tuple[str, ...],
    plugins: tuple[str, ...],
    policies_only: bool,
    has_namespaces: bool,
) -> Cluster:
    """The cluster that the inputs describe."""
    from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
    from policygen.admission.intake import check_accepted, check_stored, standard_namespaces
    from policygen.admission.policy import is_policy_object
    from policygen.admission.server import PLUGINS
    from policygen.cli.policies import load
    from policygen.kube import reader, versions

    for name in plugins:
        if name not in PLUGINS:
            raise click.UsageError(f"--plugin {name}: choose from {', '.join(sorted(PLUGINS))}")
    version = versions.parse(version) if version else None
    loaded = load(policies, found, version=version)
    version = version or _version_of(loaded.versions, found)
    given = loaded.objects + [document.value for document in reader.read_paths(others, found)]
    check_stored(given, version, found)
    found.raise_if_errors()
    cluster = Cluster.from_objects(
        [*standard_namespaces(), *given],
        version=version,
        authorizer=dict.fromkeys(allow, True) if allow else None,
        plugins=frozenset() if policies_only else DEFAULT_PLUGINS | set(plugins),
        open_namespaces=not has_namespaces,
        validate_objects=not policies_only,
    )
    check_accepted(filter(is_policy_object, given), cluster, found)
    return cluster


def _version_of(named: set[str], found: Diagnostics) -> str:
    """The version that the specs are for."""
    from policygen.kube.catalog import RECORDED

    if len(named) > 1:
        listed = ", ".join(sorted(named))
        found.error(
            "spec-versions",
            f"the specs are for different Kubernetes versions: {listed}",
            help=("run them one by one, or choose one version with `--kubernetes`",),
        )
    return min(named, default=RECORDED)


def _run(files: Paths, cluster: Cluster, settings: Settings, jobs: int) -> int:
    from policygen.cli.workers import map_ordered

    worker = Worker(cluster, settings)
    total = Tally()
    unreadable = Diagnostics()
    with map_ordered(worker, _chunks(files, unreadable), jobs) as results:
        for result in results:
            click.echo("".join(result.text), nl=False)
            total.add(result)
    if not (total.total or total.faulty or unreadable.has_errors):
        unreadable.error("no-objects", "there is no object in what `-f` names")
    report((*unreadable.sorted(), *total.diagnostics))
    _summary(total)
    if total.faulty or unreadable.has_errors:
        return codes.INVALID
    return codes.FAILED if total.refused else codes.OK


def _summary(total: Tally) -> None:
    if total.total > 1 or total.refused:
        objects = "1 object" if total.total == 1 else f"{total.total} objects"
        kept = total.total - total.changed - total.refused
        counts = f"{total.changed} changed, {kept} unchanged, {total.refused} refused"
        click.echo(f"{objects}: {counts}", err=True)


def _chunks(files: Paths, found: Diagnostics) -> Iterator[list[RawDocument]]:
    """The documents of all files, some at a time; the files are read as they are needed."""
    chunk: list[RawDocument] = []
    size = 0
    for path in files:
        for name, opened in _streams(path, found):
            with opened as stream:
                for raw in _documents(stream, name, found):
                    chunk.append(raw)
                    size += len(raw.data)
                    if len(chunk) >= _CHUNK_DOCUMENTS or size >= _CHUNK_BYTES:
                        yield chunk
                        chunk, size = [], 0
    if chunk:
        yield chunk


def _documents(stream: BinaryIO, name: str, found: Diagnostics) -> Iterator[RawDocument]:
    from policygen.kube import reader

    try:
        yield from reader.split_stream(stream, name, found)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        found.error("manifest-not-found", f"cannot read `{name}`: {reason}")


def _streams(path: Path, found: Diagnostics) -> Iterator[tuple[str, Any]]:
    from policygen.cli.policies import is_no_object
    from policygen.compiler.recognise import is_spec_file
    from policygen.kube import reader

    if str(path) == STDIN:
        yield "<stdin>", _stdin()
        return
    entries: Iterable[Path] = (path,)
    if path.is_dir():
        inside = reader.files_in(path)
        entries = [each for each in inside if not (is_no_object(each) or is_spec_file(each))]
        if not entries:
            what = "manifest beside its specs and suites" if inside else ".yaml, .yml or .json file"
            found.error("manifest-not-found", f"directory `{path}` has no {what}")
    for entry in entries:
        try:
            yield str(entry), entry.open("rb")
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            found.error("manifest-not-found", f"cannot read `{entry}`: {reason}")


@contextmanager
def _stdin() -> Iterator[BinaryIO]:
    yield sys.stdin.buffer


class Worker:
    """Does with a chunk of documents what the command is to do; runs in this process or in others."""

    def __init__(self, cluster: Cluster, settings: Settings) -> None:
        from policygen.admission.intake import without_policies

        self._cluster = cluster
        self._settings = settings
        self._bare: Cluster | None = without_policies(cluster) if settings.output == "diff" else None

    def __call__(self, chunk: list[RawDocument]) -> Tally:
        """The outcome of every object, as text and numbers."""
        tally = Tally()
        for raw in chunk:
            try:
                documents = raw.parse()
            except PolicygenError as error:
                tally.fault(error)
                continue
            for document in documents:
                try:
                    self._one(document, tally)
                except PolicygenError as error:
                    tally.fault(error)
        return tally

    def _one(self, document: Document, tally: Tally) -> None:
        from policygen.admission.intake import request_for
        from policygen.admission.server import admit
        from policygen.render import outcome as render

        settings = self._settings
        where = f"{document.name}:{document.line}"
        request = request_for(document.value, self._cluster, settings.client)
        outcome = admit(self._cluster, request, explain=settings.explain)
        tally.total += 1
        given = request.object or request.old_object or document.value
        if not outcome.allowed:
            tally.refused += 1
            if settings.output == "yaml":
                tally.diagnostics.append(_refusal(given, where, outcome))
        elif render.is_changed(outcome):
            tally.changed += 1
        match settings.output:
            case "json":
                text = render.as_json(given, where, outcome, explain=settings.explain)
            case "diff":
                assert self._bare is not None, "a diff has something to compare with"
                bare = admit(self._bare, request)
                base = bare.object if bare.object is not None else bare.seen
                text = render.as_diff(given, where, outcome, base, explain=settings.explain)
            case _:
                text = render.as_yaml(given, outcome, explain=settings.explain)
        tally.text.append(text)


def _refusal(given: dict[str, Any], where: str, outcome: Outcome) -> Diagnostic:
    from policygen.kube import objects

    named = f"`{objects.describe(given)}` ({where})"
    if outcome.reason == "ServerPanic":
        return make(
            "error",
            "server-panic",
            f"{named} makes the API server panic",
            notes=(outcome.message,),
            help=("give one `Object…{}` a patch, with a path that ends in `/-`",),
        )
    return make(
        "error",
        "request-refused",
        f"{named} is refused with {outcome.code}",
        notes=(f"the API server says: {outcome.message}",),
        help=(_ACCOUNT_HELP,) if _NO_ACCOUNT in outcome.message else (),
    )
