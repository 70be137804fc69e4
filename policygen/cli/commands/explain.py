"""`policygen explain`: what will happen to an object, and why, for the person who wants to run it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from policygen.cli import exit as codes
from policygen.cli.main import report
from policygen.cli.operations import OPERATIONS
from policygen.diagnostics import Diagnostics

if TYPE_CHECKING:
    from collections.abc import Sequence

    from policygen.admission.request import Operation
    from policygen.verify.explain import Explainer
    from policygen.verify.subject import Subject

_DECIDING = (
    "MutatingAdmissionPolicy",
    "ValidatingAdmissionPolicy",
    "ResourceQuota",
    "LimitRange",
    "PriorityClass",
)
"""Kinds that decide what happens to other objects."""

Paths = tuple[Path, ...]
_PATH = click.Path(path_type=Path)


@click.command("explain")
@click.argument("objects", nargs=-1, type=_PATH, required=True)
@click.option(
    "-p",
    "--policies",
    multiple=True,
    type=_PATH,
    metavar="PATH",
    help="Specs or manifests, ours or anybody's; the current folder by default.",
)
@click.option(
    "--stored",
    multiple=True,
    type=_PATH,
    metavar="PATH",
    help="Anything else in the cluster: namespaces, params, classes, quotas, old objects.",
)
@click.option(
    "--inventory", multiple=True, type=_PATH, metavar="PATH", help="ResourceSlices: name the devices too."
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
@click.option("--kubernetes", metavar="VERSION", help="Another version than the spec says.")
@click.option("--all", "everything", is_flag=True, help="Also the rules that are not about the object.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def command(
    objects: Paths,
    policies: Paths,
    stored: Paths,
    inventory: Paths,
    operation: str,
    subresource: str,
    namespace: str,
    user: str,
    groups: tuple[str, ...],
    kubernetes: str | None,
    everything: bool,
    output: str,
) -> int:
    """Say in plain words what will happen to OBJECTS under policies, and why.

    Each change with the line that asked for it, the rules that nearly matched, refusals, and what the
    scheduler will look for. Exit codes: 0 all accepted, 1 some refused, 2 faulty input.
    """
    from policygen.kube import reader, versions
    from policygen.render import explanation as render
    from policygen.verify import subject

    found = Diagnostics()
    version = versions.parse(kubernetes) if kubernetes else None
    loaded = subject.load(policies or (Path(),), found, version=version)
    kept = _read((*stored, *inventory), found)
    found.raise_if_errors()
    assert loaded is not None, "what cannot be loaded has been reported"
    if not any(obj.get("kind") in _DECIDING for obj in loaded.objects):
        found.warning(
            "no-policies",
            "there is no policy, quota or limit in what `-p` names, so nothing is decided by it",
            help=["name a spec or a folder with manifests"],
        )
    groups = groups or (("system:masters",) if user == "admin" else ())
    explainer = _explainer(
        loaded,
        kept,
        operation=OPERATIONS[operation],
        subresource=subresource,
        namespace=namespace,
        user=user,
        groups=(*groups, "system:authenticated"),
    )
    told = [
        explainer.explain(document.value, f"{document.name}:{document.line}")
        for document in reader.read_paths(objects, found)
    ]
    report(found.sorted())
    color = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    click.echo(
        render.as_json(told) if output == "json" else render.text(told, color=color, everything=everything),
        nl=False,
        color=color,
    )
    if found.has_errors:
        return codes.INVALID
    refused = any(not item.outcome.allowed for each in told for item in (each, *each.pods))
    return codes.FAILED if refused else codes.OK


def _read(paths: Paths, found: Diagnostics) -> list[dict[str, Any]]:
    from policygen.kube import reader

    return [document.value for document in reader.read_paths(paths, found)]


def _explainer(
    loaded: Subject,
    stored: Sequence[dict[str, Any]],
    *,
    operation: Operation,
    subresource: str,
    namespace: str,
    user: str,
    groups: tuple[str, ...],
) -> Explainer:
    from policygen.admission.cluster import Cluster
    from policygen.admission.intake import Client, standard_namespaces
    from policygen.admission.request import UserInfo
    from policygen.verify.explain import Explainer

    cluster = Cluster.from_objects(
        [*standard_namespaces(), *loaded.objects, *stored], version=loaded.version, open_namespaces=True
    )
    client = Client(operation, UserInfo(user, groups), subresource, namespace)
    slices = [obj for obj in stored if obj.get("kind") == "ResourceSlice"]
    return Explainer(loaded, cluster, client, slices)
