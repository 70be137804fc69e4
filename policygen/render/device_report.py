"""What `policygen devices` prints: verdicts of devices, outcomes of nodes, advice; as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from policygen.dra.result import render_result
from policygen.dra.why import why_not

if TYPE_CHECKING:
    from policygen.dra.advice import Advice, NodeResult
    from policygen.dra.inventory import Cluster
    from policygen.dra.match import DeviceVerdict, MatchReport
    from policygen.dra.model import Claim, Node
    from policygen.dra.pools import Inventory
    from policygen.dra.selectors import SelectorMatcher

_SHOWN = 8
"""Refused nodes with the same reason beyond this many are counted, not listed."""


def match_text(title: str, result: MatchReport, matcher: SelectorMatcher, *, quiet: bool) -> str:
    """A line a device with the values that decided, then the counts."""
    lines = [title] if title else []
    if not quiet and result.verdicts:
        width = max(len(_device(each)) for each in result.verdicts)
        lines.extend(
            f"{_device(each):<{width}}  {_verdict(each, matcher)}".rstrip() for each in result.verdicts
        )
    lines.append(result.summary())
    return "\n".join(lines) + "\n"


def _device(each: DeviceVerdict) -> str:
    device = each.device
    return f"{device.pool}/{device.name}"


def _verdict(each: DeviceVerdict, matcher: SelectorMatcher) -> str:
    if each.verdict == "yes":
        return "yes"
    if each.verdict == "error":
        return f"error  {each.error}"
    return f"no     {'; '.join(why_not(each.selector, each.device, matcher))}"


def match_json(title: str, result: MatchReport) -> dict[str, Any]:
    """The same as data."""
    devices = [
        {
            "driver": each.device.driver,
            "pool": each.device.pool,
            "device": each.device.name,
            "verdict": each.verdict,
            **({"error": each.error} if each.error else {}),
            **({"selector": each.selector} if each.verdict == "no" else {}),
        }
        for each in result.verdicts
    ]
    counts = {verdict: result.count(verdict) for verdict in ("yes", "no", "error")}
    return {"title": title, "counts": counts, "missing": dict(result.missing), "devices": devices}


def allocate_text(results: Sequence[NodeResult], claims: Sequence[Claim]) -> str:
    """Every node: the devices of each request, or why not."""
    lines: list[str] = []
    refused: dict[tuple[str, ...], list[str]] = {}
    for result in results:
        if result.outcome == "fits":
            lines.append(f"{result.node.name}: fits")
            lines.extend(_chosen(result, single=len(claims) == 1))
        else:
            why = result.reasons if result.outcome == "no" else (result.error,)
            refused.setdefault((result.outcome, *why), []).append(result.node.name)
    for (outcome, *causes), names in refused.items():
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        lines.append(f"{', '.join(names[:_SHOWN])}{more}: {'does not fit' if outcome == 'no' else 'fails'}")
        lines.extend(f"  {cause}" for cause in causes)
    fitting = sum(result.outcome == "fits" for result in results)
    what = "the claim fits" if len(claims) == 1 else f"the {len(claims)} claims fit together"
    lines.append(f"{what} on {fitting} of {len(results)} {'node' if len(results) == 1 else 'nodes'}")
    return "\n".join(lines) + "\n"


def _chosen(result: NodeResult, *, single: bool) -> list[str]:
    lines = []
    for allocation in result.allocations:
        if not single:
            lines.append(f"  claim {allocation.claim}")
        by_request: dict[str, list[str]] = {}
        for each in allocation.chosen:
            device = each.placed.device
            consumed = ", ".join(f"{name} {amount}" for name, amount in sorted(each.consumed.items()))
            text = f"{device.pool}/{device.name}" + (f" ({consumed})" if consumed else "")
            by_request.setdefault(each.request.full_name, []).append(text)
        indent = "  " if single else "    "
        lines.extend(f"{indent}{name}: {', '.join(devices)}" for name, devices in by_request.items())
    return lines


def allocate_json(results: Sequence[NodeResult], inventory: Inventory) -> dict[str, Any]:
    """The same as data; results as the server writes them."""
    nodes = []
    for result in results:
        entry: dict[str, Any] = {"node": result.node.name, "allocated": result.outcome == "fits"}
        if result.outcome == "fits":
            entry["results"] = [
                render_result(each, result.node.name, inventory.gates) for each in result.allocations
            ]
        elif result.outcome == "error":
            entry["error"] = result.error
        else:
            entry["reasons"] = list(result.reasons)
        nodes.append(entry)
    return {"nodes": nodes}


def advice_text(advice: Advice) -> str:
    """The shares, the constraints that bind, and what can never hold."""
    lines = [
        f"now {_share(advice.now, advice.nodes)} can serve the claims, "
        f"were all empty {_share(advice.empty, advice.nodes)}"
    ]
    for constraint, freed in advice.binding:
        lines.append(
            f"without {constraint.kind}Attribute `{constraint.attribute}` {freed} more could serve them"
        )
    lines.extend(f"never: {text}" for text in advice.impossible)
    return "\n".join(lines) + "\n"


def _share(number: int, total: int) -> str:
    percent = round(100 * number / total) if total else 0
    return f"{number} of {total} nodes ({percent}%)"


def inventory_text(inventory: Inventory, nodes: Sequence[Node], cluster: Cluster) -> str:
    """The pools of every node, and its picture."""
    from policygen.dra.ledger import blocked_partitions
    from policygen.render import node_picture

    state = cluster.state()
    parts = []
    for node in nodes:
        pools = inventory.pools(node)
        links = [group for pool in pools for group in cluster.links.get((pool.driver, pool.name), ())]
        drawn = node_picture.picture(
            node.name,
            inventory.devices(node),
            chosen={},
            state=state,
            blocked=blocked_partitions(pools, state),
            links=links,
        )
        parts.append(node_picture.render(drawn))
    return "\n".join(parts)
