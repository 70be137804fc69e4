"""A node's picture as SVG: one file without scripts or outside references, readable in light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from itertools import pairwise

from policygen.render.node_picture import Cell, NodePicture, NumaBox, RootBox, State

_CELL_WIDTH, _CELL_HEIGHT = 190, 44
_PAD, _HEAD = 12, 24
_NAME_CHARS, _DETAIL_CHARS = 24, 29
_COLUMNS = 2
_FILL: dict[State, str] = {
    "chosen": "#2f855a",
    "free": "#e2e8f0",
    "used": "#718096",
    "blocked": "#cbd5e0",
    "tainted": "#c53030",
}
_INK: dict[State, str] = {
    "chosen": "#ffffff",
    "free": "#1a202c",
    "used": "#ffffff",
    "blocked": "#718096",
    "tainted": "#ffffff",
}
_STYLE = (
    "text{font:12px ui-monospace,monospace}.title{font-size:15px;font-weight:bold}"
    ".numa{fill:none;stroke:#4a5568;stroke-width:1.5}.root{fill:none;stroke:#a0aec0;stroke-dasharray:4 3}"
    ".small{font-size:10px}.link{stroke:#dd6b20;stroke-width:2;fill:none}"
)


def render(drawn: NodePicture) -> str:
    """The drawing: NUMA nodes beside each other, in each its PCIe roots, in each its devices."""
    width = _root_width() + 2 * _PAD
    columns = [drawn.numa[at::_COLUMNS] for at in range(_COLUMNS)]
    parts: list[str] = []
    places: dict[str, tuple[int, int]] = {}
    bottom = 50
    for index, column in enumerate(columns):
        x, y = _PAD + index * (width + _PAD), 50
        for numa in column:
            parts.extend(_numa(numa, x, y, width, places))
            y += _numa_height(numa) + _PAD
        bottom = max(bottom, y)
    for group in drawn.links:
        parts.append(_text(_PAD, bottom + 8, f"linked (NVLink or alike): {', '.join(group)}", "link-note"))
        parts.extend(_links(group, places))
        bottom += 18
    parts.extend(_legend(bottom + 8))
    total = _PAD + len([column for column in columns if column]) * (width + _PAD)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total}" height="{bottom + 34}" '
        f'viewBox="0 0 {total} {bottom + 34}" role="img" aria-label="{escape(drawn.node)}">'
    )
    title = [
        f"<style>{_STYLE}</style>",
        f'<rect width="{total}" height="{bottom + 34}" fill="#ffffff"/>',
        _text(_PAD, 22, drawn.node, "title"),
        _text(_PAD, 40, drawn.summary, "small"),
    ]
    return "\n".join([head, *title, *parts, "</svg>"]) + "\n"


def _root_width() -> int:
    return 2 * _CELL_WIDTH + 3 * _PAD


def _root_height(root: RootBox) -> int:
    rows = -(-len(root.cells) // 2)
    return _HEAD + rows * (_CELL_HEIGHT + _PAD)


def _numa_height(numa: NumaBox) -> int:
    return _HEAD + sum(_root_height(root) + _PAD for root in numa.roots)


def _numa(numa: NumaBox, x: int, y: int, width: int, places: dict[str, tuple[int, int]]) -> Iterator[str]:
    yield f'<rect class="numa" x="{x}" y="{y}" width="{width}" height="{_numa_height(numa)}" rx="6"/>'
    yield _text(x + _PAD, y + 17, numa.name, "name")
    top = y + _HEAD
    for root in numa.roots:
        yield from _root(root, x + _PAD, top, places)
        top += _root_height(root) + _PAD


def _root(root: RootBox, x: int, y: int, places: dict[str, tuple[int, int]]) -> Iterator[str]:
    width, height = _root_width(), _root_height(root)
    yield f'<rect class="root" x="{x}" y="{y}" width="{width}" height="{height}" rx="4"/>'
    yield _text(x + _PAD, y + 16, root.name, "small")
    for index, cell in enumerate(root.cells):
        left = x + _PAD + (index % 2) * (_CELL_WIDTH + _PAD)
        top = y + _HEAD + (index // 2) * (_CELL_HEIGHT + _PAD)
        places[cell.name] = (left + _CELL_WIDTH // 2, top + _CELL_HEIGHT)
        yield from _cell(cell, left, top)


def _cell(cell: Cell, x: int, y: int) -> Iterator[str]:
    ink = _INK[cell.state]
    yield (
        f'<rect x="{x}" y="{y}" width="{_CELL_WIDTH}" height="{_CELL_HEIGHT}" rx="4" '
        f'fill="{_FILL[cell.state]}"><title>{escape(_whole(cell))}</title></rect>'
    )
    owner = f" ← {cell.owner}" if cell.owner else ""
    yield _text(x + 8, y + 18, _cut(cell.name + owner, _NAME_CHARS), "name", ink)
    yield _text(x + 8, y + 34, _cut(cell.detail, _DETAIL_CHARS), "small", ink)


def _whole(cell: Cell) -> str:
    """What a reader sees who points at the device: everything that was cut, and its state."""
    owner = f", for {cell.owner}" if cell.owner else ""
    return f"{cell.name} {cell.detail}: {cell.state}{owner}"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _links(group: tuple[str, ...], places: dict[str, tuple[int, int]]) -> Iterator[str]:
    """A chain through the group's devices; a mesh of eight would hide them."""
    known = [places[name] for name in group if name in places]
    for (x1, y1), (x2, y2) in pairwise(known):
        yield f'<path class="link" d="M{x1} {y1 + 3} L{x2} {y2 + 3}" opacity="0.5"/>'


def _legend(y: int) -> Iterator[str]:
    for index, (state, fill) in enumerate(_FILL.items()):
        x = _PAD + index * 110
        yield f'<rect x="{x}" y="{y}" width="14" height="14" rx="2" fill="{fill}"/>'
        yield _text(x + 20, y + 12, state, "small")


def _text(x: int, y: int, text: str, kind: str, ink: str = "#1a202c") -> str:
    return f'<text class="{kind}" x="{x}" y="{y}" fill="{ink}">{escape(text)}</text>'
