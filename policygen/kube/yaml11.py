"""YAML as kubectl reads it: the scalars of YAML 1.1 in go-yaml v2's reading, then JSON as Go writes it.

kubectl turns YAML into JSON and reads that again, so `yes` is true, `010` is 8, `1.0` is 1, keys are strings,
and an integer above 64 bits is a float (sigs.k8s.io/yaml `yaml.go`, go-yaml v2 `resolve.go`).
"""

from __future__ import annotations

import base64
import binascii
import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from yaml import MappingNode, Node, ScalarNode, SequenceNode
from yaml._yaml import CParser

from policygen.diagnostics import Diagnostic, make

MAX_DEPTH: Final = 100
"""Levels of nesting that a manifest may have."""

_MERGE: Final = "`<<` merges a map or a list of maps only"
_PREFIX: Final = "tag:yaml.org,2002:"
_PLAIN: Final = "plain"
_TEXT: Final = "text"
_MAX_INT: Final = 2**63 - 1
_MIN_INT: Final = -(2**63)
_MAX_UINT: Final = 2**64 - 1

_WORDS: Final[dict[str, Any]] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys((".nan", ".NaN", ".NAN"), math.nan),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), math.inf),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), -math.inf),
}
_INTEGER: Final = re.compile(
    r"([+-]?)(?:0[xX]([0-9a-fA-F]+)|0[oO]?([0-7]+)|0[bB]([01]+)|(0|[1-9][0-9]*))"
).fullmatch
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?").fullmatch


@dataclass(slots=True)
class FaultError(Exception):
    """What kubectl would refuse, and the node at fault (the reader adds the place)."""

    diagnostic: Diagnostic
    node: Node


class _Parser(CParser):
    """libyaml's parser and composer without Python's resolver: tags are looked at when values are made."""

    def resolve(self, kind: object, value: object, implicit: object) -> str:
        return _PLAIN if isinstance(implicit, tuple) and implicit[0] else _TEXT

    def descend_resolver(self, *_: object) -> None:
        """Paths play no part."""

    def ascend_resolver(self) -> None:
        """Paths play no part."""


def compose(text: str) -> Node | None:
    """The nodes of one document, None when it is empty; raises `yaml.YAMLError`."""
    return _Parser(text).get_single_node()


def value_of(node: Node) -> Any:
    """The JSON value of a document's nodes; raises `FaultError`."""
    return _Constructor().value(node, 1)


class _Constructor:
    """Makes values and counts what aliases expand to, as go-yaml does."""

    __slots__ = ("_aliased", "_inside", "_made", "_seen")

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._inside: set[int] = set()
        self._made = 0
        self._aliased = 0

    def value(self, node: Node, depth: int) -> Any:
        """The value of a node. A node met again is an alias: it is made anew, within limits."""
        if type(node) is ScalarNode:
            tag = node.tag
            if tag is _PLAIN:
                found = resolve(node.value)
                if type(found) is float:
                    return json_number(_finite(found, node))
                return found
            return node.value if tag is _TEXT else _tagged_value(node)
        if depth > MAX_DEPTH:
            raise FaultError(
                make("error", "manifest-too-deep", f"the document is nested deeper than {MAX_DEPTH} levels"),
                node,
            )
        identity = id(node)
        if identity in self._seen:
            self._count_alias(node, identity)
        self._seen.add(identity)
        self._inside.add(identity)
        self._made += len(node.value)
        if type(node) is SequenceNode:
            value: Any = [self.value(item, depth + 1) for item in node.value]
        else:
            value = self._mapping(cast("MappingNode", node), depth)
        self._inside.discard(identity)
        return value

    def _mapping(self, node: MappingNode, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        merged: set[str] = set()
        for key_node, value_node in node.value:
            tag = key_node.tag
            text = key_node.value
            if tag is _PLAIN and type(key_node) is ScalarNode:
                if text == "<<":
                    self._merge(value_node, out, depth)
                    merged.update(out)
                    continue
                key = key_text(key_node)
            elif tag is _TEXT and type(key_node) is ScalarNode:
                key = text
            else:
                key = key_text(key_node)
            if key in out and key not in merged:
                raise FaultError(
                    make("error", "manifest-duplicate-key", f"key `{key}` is already set in this map"),
                    key_node,
                )
            merged.discard(key)
            out[key] = self.value(value_node, depth + 1)
        return out

    def _merge(self, node: Node, out: dict[str, Any], depth: int) -> None:
        """`<<`: a map, or a list of maps of which the first has the last word."""
        if type(node) is MappingNode:
            out.update(self.value(node, depth + 1))
            return
        if type(node) is SequenceNode:
            for item in reversed(node.value):
                if type(item) is not MappingNode:
                    raise FaultError(make("error", "manifest-syntax", _MERGE), item)
                out.update(self.value(item, depth + 1))
            return
        raise FaultError(make("error", "manifest-syntax", _MERGE), node)

    def _count_alias(self, node: Node, identity: int) -> None:
        if identity in self._inside:
            raise FaultError(make("error", "manifest-aliases", "an anchor's value contains itself"), node)
        self._aliased += sum(1 for _ in _below(node, 10_000))
        if self._aliased > 10_000 and self._aliased > self._made / 2:
            raise FaultError(
                make("error", "manifest-aliases", "the document contains excessive aliasing"), node
            )


def _below(node: Node, limit: int) -> Iterator[Node]:
    """The nodes below one, at most `limit` of them."""
    waiting = [node]
    while waiting and limit > 0:
        at = waiting.pop()
        limit -= 1
        yield at
        if type(at) is SequenceNode:
            waiting.extend(at.value)
        elif type(at) is MappingNode:
            waiting.extend(value for _, value in at.value)


@lru_cache(4096)
def resolve(text: str) -> Any:
    """The value of a plain scalar: null, boolean, integer, float (perhaps not finite) or the text itself."""
    first = text[:1]
    if first in "~nNyYtTfFoO.+-":
        found = _WORDS.get(text, _WORDS)
        if found is not _WORDS:
            return found
    if first == ".":
        return float(text) if _FLOAT(text) else text
    if first not in "+-0123456789":
        return text
    plain = text.replace("_", "")
    integer = _INTEGER(plain)
    if integer is not None:
        sign, sixteen, eight, two, ten = integer.groups()
        number = int(sixteen or eight or two or ten, 16 if sixteen else 8 if eight else 2 if two else 10)
        number = -number if sign == "-" else number
        if _MIN_INT <= number <= _MAX_INT:
            return number
        if sign == "" and number <= _MAX_UINT:
            return float(number)
    if _FLOAT(plain):
        floating = float(plain)
        return text if math.isinf(floating) else floating
    return text


def json_number(number: float) -> int | float:
    """A float after Go has written it as JSON and read it again: whole numbers that fit are integers."""
    if not number.is_integer() or abs(number) >= 1e19:
        return number
    whole = int(number)
    if abs(whole) >= 10**16:  # Go writes the shortest digits and fills up with zeros
        digits, _, exponent = repr(number).partition("e")
        before, _, after = digits.partition(".")
        whole = int(before + after) * 10 ** (int(exponent) - len(after))
    return whole if _MIN_INT <= whole <= _MAX_INT else number


def _finite(number: float, node: Node) -> float:
    if math.isfinite(number):
        return number
    raise FaultError(make("error", "manifest-value", f"`{node.value}` has no form in JSON"), node)


def key_text(node: Node) -> str:
    """A map key as a string."""
    if type(node) is not ScalarNode:
        raise FaultError(make("error", "manifest-key", "a list or map cannot be the key of a map"), node)
    if node.tag is _TEXT:
        return str(node.value)
    found = resolve(node.value) if node.tag is _PLAIN else _tagged(node)
    match found:
        case bool():
            return "true" if found else "false"
        case None:
            raise FaultError(make("error", "manifest-key", "null cannot be the key of a map"), node)
        case float():
            return _float_key(_finite(found, node))
        case _:
            return str(found)


def _float_key(number: float) -> str:
    """Go's `strconv.FormatFloat(number, 'g', -1, 32)`."""
    try:
        (single,) = struct.unpack("f", struct.pack("f", number))
    except OverflowError:
        return ".inf" if number > 0 else "-.inf"
    for precision in range(9):
        text = f"{single:.{precision}e}"
        if struct.unpack("f", struct.pack("f", float(text)))[0] == single:
            break
    mantissa, _, exponent = text.partition("e")
    power = int(exponent)
    if -4 <= power < 6 or single == 0:
        return f"{float(text):.{max(len(mantissa.lstrip('-')) - 2 - power, 0)}f}"
    return f"{mantissa}e{power:+03d}"


def _tagged_value(node: ScalarNode) -> Any:
    found = _tagged(node)
    return json_number(_finite(found, node)) if type(found) is float else found


def _tagged(node: ScalarNode) -> Any:
    """The value of a scalar with an explicit tag."""
    text = node.value
    tag = node.tag
    if not tag.startswith(_PREFIX):
        return text
    kind = tag.removeprefix(_PREFIX)
    found = resolve(text)
    match kind:
        case "str" | "timestamp":
            return text
        case "binary":
            try:
                return base64.b64decode(text, validate=False).decode()
            except (binascii.Error, UnicodeDecodeError):
                raise FaultError(
                    make("error", "manifest-value", "`!!binary` value contains invalid base64 data"), node
                ) from None
        case "null" if found is None:
            return None
        case "bool" if isinstance(found, bool):
            return found
        case "int" if type(found) is int:
            return found
        case "float" if type(found) in (int, float):
            return found
        case _:
            raise FaultError(make("error", "manifest-value", f"cannot read `{text}` as `!!{kind}`"), node)
