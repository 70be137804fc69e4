"""What every block of the spec language shares: strictness, and the node that it was read from.

Pydantic checks shapes only: types, unknown keys, closed sets of words, ranges. What texts mean (quantities,
names, selectors, CEL) is checked by `resolve`, which has the spans at hand through `Block.span_at`
and its like.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Discriminator, PrivateAttr, ValidationInfo, model_validator
from pydantic.alias_generators import to_camel

from policygen.compiler.places import Text
from policygen.compiler.yaml import Mapping, Node, Scalar, Sequence
from policygen.diagnostics import Span


class NodeDict(dict[str, Any]):
    """The plain data of a mapping, with the mapping itself."""

    __slots__ = ("node",)

    def __init__(self, node: Mapping) -> None:
        super().__init__((entry.key.text, plain(entry.value)) for entry in node.entries)
        self.node = node


def plain(node: Node) -> Any:
    """A node as plain data, mappings as `NodeDict`."""
    match node:
        case Scalar(value=value):
            return value
        case Sequence(items=items):
            return [plain(item) for item in items]
        case Mapping():
            return NodeDict(node)


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """A key that a block does not have, with those that it has."""

    key: Scalar
    value: Node
    known: tuple[str, ...]
    replaced: tuple[str, ...]


@dataclass(slots=True)
class Reading:
    """What one validation collects beside pydantic's own errors."""

    unknown: list[UnknownKey] = field(default_factory=list)
    empty: list[Scalar] = field(default_factory=list)


class Block(BaseModel):
    """A mapping of the spec with fixed keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, alias_generator=to_camel)

    later: ClassVar[dict[str, tuple[str, ...]]] = {}
    """Keys that Kubernetes has in this place -> what to write instead, one of these."""

    _node: Mapping = PrivateAttr()

    @model_validator(mode="wrap")
    @classmethod
    def _locate(cls, data: Any, handler: Callable[[Any], Self], info: ValidationInfo) -> Self:
        if not isinstance(data, NodeDict):
            return handler(data)
        known = known_keys(cls)
        if isinstance(info.context, Reading) and any(k not in known or v is None for k, v in data.items()):
            data = NodeDict(cls._without_faults(data.node, known, info.context))
        result = handler(data)
        result._node = data.node
        return result

    @classmethod
    def _without_faults(cls, node: Mapping, known: tuple[str, ...], reading: Reading) -> Mapping:
        """The mapping without keys that are unknown or have no value; those are kept in `reading`."""
        kept = []
        for entry in node.entries:
            if entry.key.text not in known:
                reading.unknown.append(
                    UnknownKey(entry.key, entry.value, known, cls.later.get(entry.key.text, ()))
                )
            elif isinstance(entry.value, Scalar) and entry.value.value is None:
                reading.empty.append(entry.key)
            else:
                kept.append(entry)
        return Mapping(tuple(kept), node.span)

    @property
    def block_span(self) -> Span:
        """The block."""
        return self._node.span

    def node_at(self, *path: str | int) -> Node | None:
        """The node of a value below this block, by its keys as the user writes them."""
        return descend(self._node, path)

    def span_at(self, *path: str | int) -> Span:
        """The span of a value below this block, or of the nearest block that encloses it."""
        for length in range(len(path), 0, -1):
            node = descend(self._node, path[:length])
            if node is not None:
                return node.span
        return self._node.span

    def key_span_at(self, *path: str | int) -> Span:
        """The span of a key below this block, or of the block that should have it."""
        parent = descend(self._node, path[:-1])
        if isinstance(parent, Mapping) and path[-1] in parent.by_key:
            return parent.by_key[str(path[-1])].key.span
        return self.span_at(*path)

    def text_at(self, *path: str | int) -> Text:
        """The source text of a scalar below this block, with the place of each code point."""
        node = descend(self._node, path)
        assert isinstance(node, Scalar)
        return Text(node.text, node.span, node.offsets)


def known_keys(block: type[Block]) -> tuple[str, ...]:
    """The keys of a block as users write them."""
    return tuple(info.alias or name for name, info in block.model_fields.items())


def descend(node: Node, path: tuple[str | int, ...]) -> Node | None:
    """The node at a path, if there is one."""
    for step in path:
        if isinstance(node, Mapping) and isinstance(step, str) and step in node.by_key:
            node = node.by_key[step].value
        elif isinstance(node, Sequence) and isinstance(step, int) and step < len(node.items):
            node = node.items[step]
        else:
            return None
    return node


def _shape(value: Any) -> str:
    """Which form of a value was written; anything unexpected counts as the full form."""
    if isinstance(value, dict | Block):
        return "[mapping]"
    if isinstance(value, list):
        return "[list]"
    return "[scalar]"


def by_shape(default: str = "[mapping]", *tags: str) -> Discriminator:
    """Chooses among the forms of a value by whether a scalar, list or mapping was written."""
    allowed = (default, *tags)
    return Discriminator(lambda value: shape if (shape := _shape(value)) in allowed else default)
