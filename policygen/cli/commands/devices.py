"""`policygen devices`: which devices a selector matches, where claims fit, inventories to try them on."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from policygen.cli.exit import FAILED, INVALID, OK
from policygen.cli.main import report
from policygen.diagnostics import Diagnostics, fail, suggestion

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from policygen.dra.advice import NodeResult
    from policygen.dra.inventory import Cluster
    from policygen.dra.model import Claim, DeviceClass, Node
    from policygen.dra.pools import Inventory
    from policygen.kube.reader import Document
    from policygen.render.node_picture import NodePicture

_FILES = click.option(
    "-f",
    "--file",
    "files",
    multiple=True,
    type=click.Path(path_type=Path),
    help="File or directory with ResourceSlices, DeviceClasses, claims, Nodes; `-` is stdin. Repeatable.",
)
_PROFILE = click.option("--profile", default="", help="Use a generated inventory of this profile as well.")
_LISTS = click.option(
    "--list-attributes", "lists", is_flag=True, help="The feature gate DRAListTypeAttributes is on."
)
_NAME = re.compile(r"[a-z0-9]([-a-z0-9./]*[a-z0-9])?")


@click.group(name="devices", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Devices of dynamic resource allocation: match selectors, allocate claims, generate inventories."""


@command.command("match")
@click.argument("what")
@_FILES
@_PROFILE
@_LISTS
@click.option("--node", "only", multiple=True, help="Look at this node's devices only. Repeatable.")
@click.option("--quiet", is_flag=True, help="Print the counts alone.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def match(
    what: str,
    files: tuple[Path, ...],
    profile: str,
    lists: bool,
    only: tuple[str, ...],
    quiet: bool,
    as_json: bool,
) -> int:
    """Show which devices WHAT matches: a CEL expression, the name of a DeviceClass, or that of a claim.

    The exit status is 1 when it matches no device, or fails on one.
    """
    from policygen.dra.allocation import SelectorError
    from policygen.dra.match import match_devices
    from policygen.dra.selectors import SelectorMatcher
    from policygen.render import device_report

    found = Diagnostics()
    cluster = _load(files, profile, found, list_attributes=lists)
    inventory = cluster.inventory()
    nodes = _nodes(cluster, inventory, only)
    matcher = SelectorMatcher(list_attributes=lists)
    code = OK
    for title, selectors in _targets(what, cluster, found):
        devices = list(dict.fromkeys(device for node in nodes for device in inventory.devices(node)))
        try:
            result = match_devices(selectors, devices, matcher)
        except SelectorError as error:
            found.error(
                "invalid-selector",
                f"the API server refuses the selector: {error.text.splitlines()[0]}",
                notes=error.text.splitlines()[1:],
            )
            code = INVALID
            continue
        if result.count("error") or not result.count("yes"):
            code = code or FAILED
        if as_json:
            click.echo(json.dumps(device_report.match_json(title, result), indent=2))
        else:
            click.echo(device_report.match_text(title, result, matcher, quiet=quiet), nl=False)
    report(found.sorted())
    return INVALID if found.has_errors else code


@command.command("allocate")
@_FILES
@_PROFILE
@_LISTS
@click.option("--nodes", "only", multiple=True, help="Try these nodes only: names, or several with commas.")
@click.option("--claim", "names", multiple=True, help="Allocate these claims only. Repeatable.")
@click.option("--picture/--no-picture", default=True, help="Draw the first node on which the claims fit.")
@click.option("--svg", type=click.Path(path_type=Path), help="Write that picture as SVG.")
@click.option(
    "--advice", is_flag=True, help="Say how much of the inventory can serve the claims, and why not all."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def allocate(
    files: tuple[Path, ...],
    profile: str,
    lists: bool,
    only: tuple[str, ...],
    names: tuple[str, ...],
    picture: bool,
    svg: Path | None,
    advice: bool,
    as_json: bool,
) -> int:
    """Allocate all claims together on every node, as the scheduler would, and say why where it cannot.

    The exit status is 1 when no node can serve the claims, or a quota can never grant one of them.
    """
    from policygen.dra.advice import advise, try_node
    from policygen.dra.allocator import Allocator
    from policygen.dra.lint import lint_claim
    from policygen.dra.quota import check_quota
    from policygen.dra.selectors import SelectorMatcher
    from policygen.render import device_report

    found = Diagnostics()
    cluster = _load(files, profile, found, list_attributes=lists)
    if found.has_errors:
        report(found.sorted())
        return INVALID
    inventory = cluster.inventory()
    claims = _claims(cluster, names)
    nodes = _nodes(cluster, inventory, only)
    for claim in claims:
        lint_claim(claim, _classes(cluster), found, cluster.document_of(claim))
    for quota in cluster.quotas:
        check_quota(claims, cluster.classes, quota, found)
    allocator = Allocator(
        inventory, _classes(cluster), SelectorMatcher(list_attributes=lists), cluster.state()
    )
    results = [try_node(allocator, node, claims) for node in nodes]
    fitting = [result for result in results if result.outcome == "fits"]
    if as_json:
        click.echo(json.dumps(device_report.allocate_json(results, inventory), indent=2))
    else:
        click.echo(device_report.allocate_text(results, claims), nl=False)
    if fitting:
        drawn = _picture(fitting[0], cluster, inventory)
        if picture and not as_json:
            from policygen.render import node_picture

            click.echo("\n" + node_picture.render(drawn), nl=False)
        if svg is not None:
            from policygen.render import node_picture_svg

            svg.write_text(node_picture_svg.render(drawn), encoding="utf-8")
    if advice and not as_json:
        click.echo("\n" + device_report.advice_text(advise(allocator, nodes, claims)), nl=False)
    report(found.sorted())
    return OK if fitting and not found.has_errors else FAILED


@command.command("inventory")
@click.option("--profile", default="", help="The machine; without it the profiles are listed.")
@click.option("--nodes", "count", type=click.IntRange(1, 5000), default=1, help="How many such machines.")
@click.option("--prefix", default="", help="What node names begin with; the profile's name by default.")
@click.option("--driver-release", default="", help="Publish what this release of the driver does.")
@_FILES
def inventory(profile: str, count: int, prefix: str, driver_release: str, files: tuple[Path, ...]) -> int:
    """Write a realistic ResourceSlice set for a known machine, or check and draw the one in FILES."""
    from policygen.dra.profiles import describe_profiles, generate

    if files:
        return _show_inventory(files)
    if not profile:
        for name, title in describe_profiles():
            click.echo(f"{name:<14} {title}")
        return OK
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    objects = generate(profile, count, prefix, driver_release)
    yaml.dump_all(objects, sys.stdout, Dumper=dumper, sort_keys=False, width=110, allow_unicode=True)
    return OK


def _show_inventory(files: tuple[Path, ...]) -> int:
    from policygen.render import device_report

    found = Diagnostics()
    cluster = _load(files, "", found)
    listed = cluster.inventory()
    click.echo(device_report.inventory_text(listed, cluster.all_nodes(listed), cluster), nl=False)
    report(found.sorted())
    return INVALID if found.has_errors else OK


def _load(
    files: tuple[Path, ...], profile: str, found: Diagnostics, *, list_attributes: bool = False
) -> Cluster:
    """All objects of the files and of the generated profile."""
    from policygen.dra.inventory import read_cluster
    from policygen.kube import reader

    documents = list(_compiled(files, found))
    for path in files:
        if str(path) == "-":
            documents.extend(reader.read_stream(sys.stdin.buffer, "<stdin>", found))
        else:
            documents.extend(reader.read_paths([path], found))
    if profile:
        from policygen.dra.profiles import generate

        documents.extend(reader.Document(obj, f"<profile {profile}>", 1, "") for obj in generate(profile))
    if not documents and not found.has_errors:
        fail("no-inventory", "there is nothing to look at", help=["name files with `-f`, or a `--profile`"])
    cluster = read_cluster(documents, found, list_attributes=list_attributes)
    if not cluster.slices and not found.has_errors:
        fail(
            "no-inventory",
            "the files hold no ResourceSlice",
            help=["add the inventory: `kubectl get resourceslices -o yaml`, or `--profile`"],
        )
    return cluster


def _compiled(files: tuple[Path, ...], found: Diagnostics) -> Iterator[Document]:
    """What the specs among the files compile to: classes, claims, quotas."""
    from policygen.cli.policies import specs_in
    from policygen.kube.reader import Document

    for path in files:
        specs = specs_in(path)
        if specs:
            from policygen.compiler import compile_spec

            bundle = compile_spec(specs)
            found.extend(bundle.diagnostics)
            for manifest in bundle.manifests:
                yield Document(manifest.object, str(specs[0]), 1, "")


def _nodes(cluster: Cluster, inventory: Inventory, only: Sequence[str]) -> list[Node]:
    nodes = list(cluster.all_nodes(inventory))
    wanted = [name for entry in only for name in entry.split(",") if name]
    if not wanted:
        return nodes
    by_name = {node.name: node for node in nodes}
    for name in wanted:
        if name not in by_name:
            close = suggestion(name, by_name)
            fail(
                "unknown-node",
                f"there is no node `{name}`",
                help=[f"did you mean `{close}`?"] if close else [],
            )
    return [by_name[name] for name in wanted]


def _claims(cluster: Cluster, names: Sequence[str]) -> list[Claim]:
    if not cluster.claims:
        fail("no-claims", "the files hold no ResourceClaim or ResourceClaimTemplate that is to be allocated")
    if not names:
        return cluster.claims
    by_name = {claim.name: claim for claim in cluster.claims}
    for name in names:
        if name not in by_name:
            close = suggestion(name, by_name)
            fail(
                "unknown-claim",
                f"there is no claim `{name}`",
                help=[f"did you mean `{close}`?"] if close else [],
            )
    return [by_name[name] for name in names]


def _classes(cluster: Cluster) -> dict[str, DeviceClass]:
    """The classes of the files, and the drivers' own where the files do not have them."""
    from policygen.dra import catalogue
    from policygen.dra.model import DeviceClass as Model

    known = {
        entry.name: Model(entry.name, (entry.expression,), (), entry.extended_resource)
        for driver in catalogue.driver_names()
        for entry in catalogue.device_classes(driver)
    }
    return known | cluster.classes


def _targets(what: str, cluster: Cluster, found: Diagnostics) -> list[tuple[str, list[str]]]:
    """What the word names: a class, a claim (one target a request), or else an expression."""
    from policygen.dra.lint import lint_claim, lint_selector
    from policygen.dra.selectors import COST_LIMIT, compile_selector

    classes = _classes(cluster)
    if what in classes:
        return [(f"class {what}", [each or "" for each in classes[what].selectors])]
    claims = [claim for claim in cluster.claims if claim.name == what or str(claim) == what]
    targets = []
    for claim in claims:
        lint_claim(claim, classes, found, cluster.document_of(claim))
        for slot in claim.slots:
            for request in slot.alternatives:
                base = classes.get(request.class_name)
                if base is None:
                    found.error(
                        "unknown-class",
                        f"claim `{claim}` asks for class `{request.class_name}`, which is not there",
                    )
                    continue
                selectors = [each or "" for each in (*base.selectors, *request.selectors)]
                targets.append((f"claim {claim}, request {request.full_name}", selectors))
    if claims:
        return targets
    if _NAME.fullmatch(what) and what not in ("true", "false") and not what.isdigit():
        names = [*classes, *(claim.name for claim in cluster.claims)]
        close = suggestion(what, names)
        fail(
            "unknown-class",
            f"there is no DeviceClass or claim `{what}`",
            help=[f"did you mean `{close}`?"] if close else [],
        )
    lint_selector(what, found)
    if compile_selector(what).max_cost > COST_LIMIT:
        found.error(
            "invalid-selector",
            "the API server refuses the selector: too complex, exceeds cost limit",
            help=["write it without loops in loops"],
        )
    return [("", [what])]


def _picture(result: NodeResult, cluster: Cluster, inventory: Inventory) -> NodePicture:
    from policygen.dra.allocation import AllocatedState
    from policygen.dra.ledger import blocked_partitions
    from policygen.render.node_picture import picture

    chosen = {
        each.placed.device.id: each.request.full_name
        for allocation in result.allocations
        for each in allocation.chosen
    }
    state = cluster.state()
    after = AllocatedState(state.devices | set(chosen), state.capacity)
    pools = inventory.pools(result.node)
    links = [group for pool in pools for group in cluster.links.get((pool.driver, pool.name), ())]
    return picture(
        result.node.name,
        inventory.devices(result.node),
        chosen=chosen,
        state=state,
        blocked=blocked_partitions(pools, after),
        links=links,
    )
