"""A node's devices as a picture: NUMA nodes, PCIe roots, links between devices, and who has what.

The picture is data (`NodePicture`); here it becomes text, in `node_picture_svg` a drawing.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from policygen.dra.allocation import AllocatedState
from policygen.dra.model import Device, DeviceId

State: TypeAlias = Literal["chosen", "free", "used", "blocked", "tainted"]

MARKS: Mapping[State, str] = {"chosen": "■", "free": "□", "used": "▒", "blocked": "·", "tainted": "✗"}
_NUMA = ("resource.kubernetes.io/numaNode", "dra.net/numaNode", "dra.cpu/numaNodeID")
_ROOT = "resource.kubernetes.io/pcieRoot"
_UNKNOWN = "?"


@dataclass(frozen=True, slots=True)
class Cell:
    """One device, or several of one kind that are drawn as one."""

    name: str
    detail: str
    state: State
    owner: str = ""


@dataclass(frozen=True, slots=True)
class RootBox:
    """A PCIe root and what hangs on it."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class NumaBox:
    """A NUMA node and its PCIe roots."""

    name: str
    roots: tuple[RootBox, ...]


@dataclass(frozen=True, slots=True)
class NodePicture:
    """What there is to draw."""

    node: str
    summary: str
    numa: tuple[NumaBox, ...]
    links: tuple[tuple[str, ...], ...] = ()


def picture(
    node: str,
    devices: Iterable[Device],
    *,
    chosen: Mapping[DeviceId, str],
    state: AllocatedState,
    blocked: Container[DeviceId] = (),
    links: Iterable[tuple[str, ...]] = (),
) -> NodePicture:
    """Sort devices by NUMA node and PCIe root. `chosen` says for which request each was chosen.

    `blocked` are partitions whose counters others have taken.
    """
    placed: dict[str, dict[str, list[tuple[Device, Cell]]]] = {}
    counts = dict.fromkeys(MARKS, 0)
    for device in devices:
        cell = _cell(device, chosen, state, blocked)
        counts[cell.state] += 1
        roots = placed.setdefault(_numa(device), {})
        roots.setdefault(_text(device, _ROOT), []).append((device, cell))
    boxes = tuple(
        NumaBox(
            "NUMA node not published" if numa == _UNKNOWN else f"NUMA {numa}",
            tuple(
                RootBox("no PCIe root published" if root == _UNKNOWN else root, _collapse(entries))
                for root, entries in sorted(roots.items())
            ),
        )
        for numa, roots in sorted(placed.items(), key=lambda item: (len(item[0]), item[0]))
    )
    shown = [f"{count} {name}" for name, count in counts.items() if count]
    return NodePicture(node, f"{sum(counts.values())} devices: {', '.join(shown)}", boxes, tuple(links))


def _cell(
    device: Device, chosen: Mapping[DeviceId, str], state: AllocatedState, blocked: Container[DeviceId]
) -> Cell:
    owner = chosen.get(device.id, "")
    kind: State = "free"
    if owner:
        kind = "chosen"
    elif state.holds(device.id):
        kind = "used"
    elif device.id in blocked:
        kind = "blocked"
    elif any(taint.effect in ("NoSchedule", "NoExecute") for taint in device.taints):
        kind = "tainted"
    return Cell(device.name, _detail(device), kind, owner)


def _detail(device: Device) -> str:
    """The profile of a partition or the product, and the memory."""
    words = []
    for name in ("profile", "productName", "model", "accelerator", "dra.net/pciDevice"):
        value = device.attributes.get(name)
        if value is not None and value[0] == "string":
            words.append(_short(str(value[1])))
            break
    memory = device.capacity.get("memory")
    if memory is not None:
        words.append(str(memory.value))
    return " ".join(words)


def _short(product: str) -> str:
    for prefix in ("NVIDIA ", "AMD_Instinct_", "MT2910 Family "):
        product = product.removeprefix(prefix)
    return product if len(product) <= 18 else product[:17] + "…"


def _numa(device: Device) -> str:
    for name in (*_NUMA, f"{device.driver}/numaNode", f"{device.driver}/numa"):
        value = device.attribute(name)
        if value is not None:
            return str(value[1])
    return _UNKNOWN


def _text(device: Device, name: str) -> str:
    value = device.attribute(name)
    return str(value[1]) if value is not None else _UNKNOWN


_MANY = 8


def _collapse(entries: list[tuple[Device, Cell]]) -> tuple[Cell, ...]:
    """Partitions of one GPU in one state become one line when there are many; all else has its own."""
    cells = [cell for _, cell in entries]
    if len(cells) <= _MANY:
        return tuple(cells)
    kept: list[Cell] = []
    groups: dict[tuple[str, State], dict[str, int]] = {}
    for device, cell in entries:
        parent = device.attribute(f"{device.driver}/parentUUID")
        if cell.state == "chosen" or (parent is None and not _is_partition(device)):
            kept.append(cell)
        else:
            details = groups.setdefault((cell.name.split("-mig-")[0], cell.state), {})
            detail = cell.detail.split(" ")[0]
            details[detail] = details.get(detail, 0) + 1
    for (owner, kind), details in groups.items():
        number = sum(details.values())
        text = ", ".join(f"{count} × {detail}" for detail, count in details.items())
        kept.append(Cell(f"{owner} in {number} parts" if number > 1 else f"{owner} in part", text, kind))
    return tuple(kept)


def _is_partition(device: Device) -> bool:
    value = device.attributes.get("type")
    return value is not None and str(value[1]).endswith("partition")


def render(drawn: NodePicture, width: int = 100) -> str:
    """The picture as text: a box for each NUMA node, side by side as far as the width allows."""
    boxes = [_box(numa) for numa in drawn.numa]
    lines = [f"{drawn.node}   {drawn.summary}", ""]
    row: list[list[str]] = []
    used = 0
    for box in boxes:
        size = len(box[0]) + 2
        if row and used + size > width:
            lines.extend(_beside(row))
            row, used = [], 0
        row.append(box)
        used += size
    lines.extend(_beside(row))
    lines.extend(f"linked (NVLink or alike): {', '.join(group)}" for group in drawn.links)
    lines.append("   ".join(f"{mark} {name}" for name, mark in MARKS.items()))
    return "\n".join(lines) + "\n"


def _box(numa: NumaBox) -> list[str]:
    body: list[str] = []
    for root in numa.roots:
        body.append(root.name)
        names = max(len(cell.name) for cell in root.cells)
        for cell in root.cells:
            owner = f"  ← {cell.owner}" if cell.owner else ""
            body.append(f"  {MARKS[cell.state]} {cell.name:<{names}}  {cell.detail}{owner}".rstrip())
    width = max(len(numa.name) + 2, *(len(line) for line in body))
    top = f"┌ {numa.name} " + "─" * (width - len(numa.name) - 1) + "─┐"
    return [top, *(f"│ {line:<{width}} │" for line in body), "└" + "─" * (width + 2) + "┘"]


def _beside(boxes: list[list[str]]) -> list[str]:
    if not boxes:
        return []
    height = max(len(box) for box in boxes)
    widths = [len(box[0]) for box in boxes]
    lines = []
    for index in range(height):
        parts = [
            box[index] if index < len(box) else " " * width for box, width in zip(boxes, widths, strict=True)
        ]
        lines.append("  ".join(parts).rstrip())
    return lines
