"""Policies from Python: compile, admit, explain, verify. What `import policygen` offers.

Policies are named as on the command line (specs, manifests, folders, suites), or given as a `Bundle` or
as plain objects. Faults of the input of `verify` are in its report; the others raise `PolicygenError`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from policygen import compiler
from policygen.admission.cluster import Cluster
from policygen.admission.intake import Client, request_for, standard_namespaces
from policygen.admission.outcome import Outcome
from policygen.admission.request import Operation, UserInfo
from policygen.admission.server import admit as _admit
from policygen.compiler.bundle import Bundle
from policygen.diagnostics import Diagnostics, Source, Span
from policygen.kube import manifest, reader, versions
from policygen.verify.engine import PROPERTIES, Options, Unit, units, verify_units
from policygen.verify.explain import Explainer, Explanation
from policygen.verify.report import Report
from policygen.verify.sources import Located, is_usable
from policygen.verify.subject import Subject
from policygen.verify.subject import load as _load

if TYPE_CHECKING:
    from policygen.compiler.model import Model

Object: TypeAlias = Mapping[str, Any]
"""A Kubernetes object as JSON."""
PathName: TypeAlias = str | PathLike[str]
Policies: TypeAlias = Bundle | PathName | Object | Sequence[PathName | Object]
"""A spec's bundle, one or more paths, or one or more objects."""


def load(paths: PathName | Sequence[PathName], *, kubernetes: str | None = None) -> Model:
    """The checked model of the spec in one or more files."""
    return compiler.load(_paths(paths), kubernetes=kubernetes)


def compile_spec(paths: PathName | Sequence[PathName], *, kubernetes: str | None = None) -> Bundle:
    """The bundle of the spec in one or more files; `kubernetes` overrides the version that it is for."""
    return compiler.compile_spec(_paths(paths), kubernetes=kubernetes)


def _paths(paths: PathName | Sequence[PathName]) -> list[Path]:
    return [Path(paths)] if isinstance(paths, str | PathLike) else [Path(path) for path in paths]


def verify(
    policies: Policies,
    fixtures: Iterable[PathName | Object] = (),
    *,
    kubernetes: str | Sequence[str] = (),
    properties: Sequence[str] = PROPERTIES,
    update: bool = False,
) -> Report:
    """Prove that policies do what was meant: the suites among them, then the properties on all objects.

    `properties=()` runs suites alone. `report.passed` says whether everything held and anything was tried.
    """
    chosen = (kubernetes,) if isinstance(kubernetes, str) else tuple(kubernetes)
    found = Diagnostics()
    objects = tuple(_objects(fixtures, "fixture", found))
    options = Options(tuple(map(versions.parse, chosen)), objects, tuple(properties), update)

    def find(into: Diagnostics) -> Iterable[Unit]:
        into.extend(found)
        return _units(policies, into)

    return verify_units(find, options)


def admit(
    policies: Policies,
    obj: Object,
    *,
    stored: Iterable[PathName | Object] = (),
    operation: Operation = "CREATE",
    user: UserInfo | None = None,
    namespace: str = "default",
    kubernetes: str | None = None,
) -> Outcome:
    """What the API server answers to a request under policies, with every policy's verdict."""
    subject, cluster = _server(policies, stored, kubernetes)
    del subject
    client = Client(operation, user or UserInfo(), "", namespace)
    return _admit(cluster, request_for(dict(obj), cluster, client), explain=True)


def explain(
    policies: Policies,
    obj: Object,
    *,
    stored: Iterable[PathName | Object] = (),
    operation: Operation = "CREATE",
    user: UserInfo | None = None,
    namespace: str = "default",
    kubernetes: str | None = None,
) -> Explanation:
    """What will happen to an object and why."""
    subject, cluster = _server(policies, stored, kubernetes)
    client = Client(operation, user or UserInfo(), "", namespace)
    slices = list(cluster.list("ResourceSlice", group="resource.k8s.io"))
    return Explainer(subject, cluster, client, slices).explain(dict(obj), "object")


def _server(
    policies: Policies, stored: Iterable[PathName | Object], kubernetes: str | None
) -> tuple[Subject, Cluster]:
    found = Diagnostics()
    version = versions.parse(kubernetes) if kubernetes else None
    subject = _subject(policies, version, found)
    more = [item.value for item in _objects(stored, "stored", found)]
    found.raise_if_errors()
    assert subject is not None, "what cannot be loaded is an error"
    cluster = Cluster.from_objects(
        [*standard_namespaces(), *subject.objects, *more], version=subject.version, open_namespaces=True
    )
    return subject, cluster


def _subject(policies: Policies, version: str | None, found: Diagnostics) -> Subject | None:
    if isinstance(policies, Bundle):
        return _of_bundle(policies)
    paths, inline = _split(policies, found)
    return _load(paths, found, inline=inline, version=version)


def _of_bundle(bundle: Bundle) -> Subject:
    manifests = tuple(Located(item.object, item.span) for item in bundle.manifests)
    specs = ((Path(f"{bundle.name}.yaml"),),)
    return Subject(bundle.kubernetes, manifests, (bundle,), specs, overridden=True)


def _units(policies: Policies, found: Diagnostics) -> list[Unit]:
    if isinstance(policies, Bundle):
        return [Unit((), (), (), _of_bundle(policies))]
    paths, inline = _split(policies, found)
    return [*units(paths, found), *([Unit((), tuple(inline), ())] if inline else [])]


def _split(
    policies: PathName | Object | Sequence[PathName | Object], found: Diagnostics
) -> tuple[list[Path], list[Located]]:
    """Paths as they are, objects with a place of their own."""
    many = [policies] if isinstance(policies, str | PathLike | Mapping) else list(policies)
    paths = [Path(item) for item in many if isinstance(item, str | PathLike)]
    plain = [item for item in many if isinstance(item, Mapping)]
    return paths, list(_objects(plain, "policy", found))


def _objects(items: Iterable[PathName | Object], noun: str, found: Diagnostics) -> Iterator[Located]:
    """Objects of files, and those that are given as such under a name like `fixture 1`."""
    for number, item in enumerate(items, 1):
        if isinstance(item, Mapping):
            source = Source(f"{noun} {number}", manifest.write(dict(item)))
            located = Located(dict(item), Span(source, 0, len(source.line(1))))
            if is_usable(located.value, located.span, found):
                yield located
        else:
            for document in reader.read_paths([Path(item)], found):
                if is_usable(document.value, document.span(), found):
                    yield Located(document.value, document.span(), document)
