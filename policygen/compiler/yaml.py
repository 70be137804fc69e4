"""YAML text -> nodes in which every key and value has its exact span. For specs, not for manifests.

Scalars are read by the YAML 1.2 core schema (`y` and `no` are texts), and what two YAML versions read
differently (`010`, `1_000`) is an error instead of a surprise. Nothing is constructed from tags.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError, YAMLStreamError
from ruamel.yaml.nodes import MappingNode, ScalarNode, SequenceNode
from ruamel.yaml.reader import ReaderError

from policygen.compiler.places import scalar_offsets
from policygen.compiler.recognise import MAX_BYTES
from policygen.diagnostics import Diagnostics, Label, PolicygenError, Source, Span, fail

MAX_DEPTH = 100
MAX_NODES = 200_000
"""Nodes after aliases are expanded: a text of ten lines can stand for billions."""
MAX_ITEMS = 10_000
"""Items of one list or keys of one mapping."""

_MANY_BRACKETS = re.compile(rf"(?:[\[{{][ \n]{{0,8}}){{{MAX_DEPTH + 1}}}")
"""Deep nesting that can be seen without reading: the reader needs seconds for it."""
_CONFLICT = re.compile(r"^(<{7}|>{7})( |$)", re.MULTILINE)
_SYNTAX_HELP = {
    "<block end>": "indent this line like those that it belongs to",
    "expected ',' or": "close the bracket or quotes before it, or add the comma",
    "unexpected end of stream": "close the quotes or the bracket",
    "mapping values are not allowed": "quote a text with `: ` in it, or indent the line like its neighbours",
    "cannot start any token": "quote a text that begins with this character",
    "unknown escape": "use single quotes, in which a backslash stands for itself",
}
"""Part of what the reader says -> what to do."""
_PROPERTY = re.compile(r"[&!]\S*\s+")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_OCTAL_OR_HEX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_AMBIGUOUS = re.compile(r"[-+]?0[0-9_]+|[-+]?[1-9][0-9]*_[0-9_]*|[-+]?[0-9]+(:[0-5]?[0-9])+|0b[01_]+")


@dataclass(frozen=True)
class Scalar:
    """A text, number, truth value or null, with its source text."""

    value: str | int | float | bool | None
    text: str
    """The scalar's content before it was read as a number, truth value or null."""
    style: str | None
    span: Span

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """The source offset of every code point of `text`, and one more for its end."""
        return scalar_offsets(self.span, self.text, self.style)


@dataclass(frozen=True, slots=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Entry:
    """A key and its value."""

    key: Scalar
    value: Node


@dataclass(frozen=True)
class Mapping:
    """A mapping whose keys are texts, each once."""

    entries: tuple[Entry, ...]
    span: Span

    @cached_property
    def by_key(self) -> dict[str, Entry]:
        """The entries by their key's text."""
        return {entry.key.text: entry for entry in self.entries}

    def with_value(self, key: str, value: Node) -> Mapping:
        """The mapping with another value for a key that it has."""
        return Mapping(
            tuple(Entry(e.key, value) if e.key.text == key else e for e in self.entries), self.span
        )


Node: TypeAlias = Scalar | Sequence | Mapping


@dataclass(slots=True)
class _Reader:
    """Turns ruamel's nodes into ours, within limits."""

    source: Source
    found: Diagnostics
    open: set[int] = field(default_factory=set)

    def span(self, node: Any) -> Span:
        start, end = node.start_mark.index, node.end_mark.index
        text = self.source.text
        while end > start + 1 and text[end - 1] in " \t\r\n":
            end -= 1
        while start < end and text[start] in "&!" and (properties := _PROPERTY.match(text, start, end)):
            start = properties.end()
        return Span(self.source, start, end)

    def read(self, node: Any, depth: int) -> Node:
        span = self.span(node)
        if depth > MAX_DEPTH:
            fail("document-too-deep", f"values are nested more than {MAX_DEPTH} deep", span)
        if id(node) in self.open:
            fail("recursive-alias", "an alias stands inside the value that it repeats", span)
        if node.tag is not None and not _is_core_tag(str(node.tag)):
            fail("unknown-tag", f"tag `{node.tag}` is not read in a spec", span, help=["remove the tag"])
        if isinstance(node, ScalarNode):
            return self.scalar(node, span)
        self.open.add(id(node))
        result = (
            self.mapping(node, span, depth)
            if isinstance(node, MappingNode)
            else self.sequence(node, span, depth)
        )
        self.open.discard(id(node))
        return result

    def scalar(self, node: Any, span: Span) -> Scalar:
        text = node.value
        if node.style is not None:
            return Scalar(text, text, node.style, span)
        if _AMBIGUOUS.fullmatch(text):
            self.found.error(
                "ambiguous-number",
                f"`{text}` is one number in YAML 1.1 and another, or a text, in YAML 1.2",
                span,
                help=[f'write a plain decimal number, or `"{text}"` when it is a text'],
            )
        return Scalar(_resolve(text), text, None, span)

    def sequence(self, node: Any, span: Span, depth: int) -> Sequence:
        assert isinstance(node, SequenceNode)
        self._limit(len(node.value), "items", span)
        return Sequence(tuple(self.read(item, depth + 1) for item in node.value), span)

    def mapping(self, node: Any, span: Span, depth: int) -> Mapping:
        self._limit(len(node.value), "keys", span)
        entries: dict[str, Entry] = {}
        merged: list[Mapping] = []
        for key_node, value_node in node.value:
            key_span = self.span(key_node)
            if not isinstance(key_node, ScalarNode):
                fail(
                    "key-not-a-text",
                    "a key must be a text, not a list or mapping",
                    key_span,
                    help=["render templates first: `{{ … }}` is a mapping in YAML"]
                    if self.source.text.startswith("{{", key_span.start - 1)
                    else [],
                )
            if "\n" in key_node.value:
                fail("key-not-a-text", "a key must stand on one line", key_span)
            key = Scalar(key_node.value, key_node.value, key_node.style, key_span)
            value = self.read(value_node, depth + 1)
            if key.text == "<<" and key_node.style is None:
                merged += self._merge_sources(value)
                continue
            if key.text in entries:
                self.found.error(
                    "duplicate-key",
                    f"key `{key.text}` is given twice",
                    key_span,
                    "again here",
                    related=[Label(entries[key.text].key.span, "first given here")],
                    help=["keep one of them: YAML readers disagree about which one counts"],
                )
                continue
            entries[key.text] = Entry(key, value)
        for source in merged:
            for entry in source.entries:
                entries.setdefault(entry.key.text, entry)
        return Mapping(tuple(entries.values()), span)

    def _merge_sources(self, value: Node) -> list[Mapping]:
        match value:
            case Mapping():
                return [value]
            case Sequence(items):
                return [mapping for item in items for mapping in self._merge_sources(item)]
            case Scalar():
                self.found.error(
                    "merge-not-a-mapping",
                    "`<<` takes a mapping or a list of mappings",
                    value.span,
                    help=["write `<<: *anchor`, where the anchor stands on a mapping"],
                )
                return []

    def _limit(self, size: int, noun: str, span: Span) -> None:
        if size > MAX_ITEMS:
            fail("document-too-large", f"more than {MAX_ITEMS} {noun} in one place", span)


def read_documents(source: Source, found: Diagnostics) -> list[Mapping]:
    """All documents of a text that are mappings; faults that leave the rest readable go to `found`.

    Raises `PolicygenError` when the text is no YAML at all, or passes a limit.
    """
    documents = []
    for node in _compose(source):
        if node is None:
            continue
        if _size(node, {}) > MAX_NODES:
            fail(
                "document-too-large",
                f"the document stands for more than {MAX_NODES} values once its aliases are expanded",
                Span(source, 0, 1),
                help=["write the repeated part once, in a section that rules can name"],
            )
        value = _Reader(source, found).read(node, 1)
        match value:
            case Mapping():
                documents.append(value)
            case Scalar(value=None):
                continue
            case Scalar() | Sequence():
                found.error(
                    "not-a-mapping",
                    "a spec is a mapping with `apiVersion`, `kind`, `metadata` and `spec`",
                    value.span,
                )
    return documents


def _size(node: Any, known: dict[int, int]) -> int:
    """How many values a node stands for; an alias counts each time, what repeats itself once."""
    size = known.get(id(node))
    if size is None:
        known[id(node)] = size = 1
        if isinstance(node, MappingNode):
            size += sum(_size(value, known) + 1 for _, value in node.value)
        elif isinstance(node, SequenceNode):
            size += sum(_size(item, known) for item in node.value)
        known[id(node)] = size
    return size


def decode(name: str, data: bytes) -> Source:
    """The text of a file, which must be UTF-8 and within the limit of size."""
    if len(data) > MAX_BYTES:
        fail("file-too-large", f"`{name}` has more than {MAX_BYTES} bytes, which is the limit")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        source = Source(name, data[: error.start].decode("utf-8") + "\N{REPLACEMENT CHARACTER}")
        span = Span(source, len(source.text) - 1, len(source.text))
        fail(
            "not-utf8",
            f"`{name}` is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            span,
            help=["save the file as UTF-8"],
        )
    return Source(name, text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))


def _compose(source: Source) -> Iterator[Any]:
    deep = _MANY_BRACKETS.search(source.text)
    if deep is not None:
        span = Span(source, deep.start(), deep.end())
        fail("document-too-deep", f"values are nested more than {MAX_DEPTH} deep", span)
    loader = YAML(typ="safe", pure=True)
    loader.composer.warn_double_anchors = False  # an anchor may be given anew: the last one counts
    try:
        yield from loader.compose_all(source.text)
    except ReaderError as error:
        span = Span(source, error.position, error.position + 1)
        code = ord(source.text[error.position])
        fail("unprintable-character", f"character U+{code:04X} is not allowed in YAML", span)
    except MarkedYAMLError as error:
        raise _syntax_error(source, error) from None
    except RecursionError:
        fail("document-too-deep", f"values are nested more than {MAX_DEPTH} deep", Span(source, 0, 1))
    except (YAMLStreamError, YAMLError) as error:
        fail("yaml-syntax", f"not readable as YAML: {error}", Span(source, 0, 1))


def _syntax_error(source: Source, error: MarkedYAMLError) -> PolicygenError:
    mark = error.problem_mark or error.context_mark
    at = min(mark.index, len(source.text)) if mark else 0
    found = Diagnostics()
    line_start = source.text.rfind("\n", 0, at) + 1
    indent = source.text[line_start:at]
    if source.text[at : at + 1] == "\t" or ("\t" in indent and not indent.strip()):
        where = line_start + indent.find("\t") if "\t" in indent else at
        found.error(
            "tab-indentation",
            "a tab cannot indent YAML",
            Span(source, where, where + 1),
            help=["indent with spaces"],
        )
        return PolicygenError(found.sorted())
    problem = (error.problem or "not readable as YAML").strip().rstrip(".")
    notes = [f"{error.context}"] if error.context else []
    related = []
    context = error.context_mark
    if context is not None and mark is not None and context.line != mark.line:
        related = [Label(Span(source, context.index, context.index + 1), "which began here")]
    if source.text[at : at + 1] == "*" and "alias" in problem:
        alias = _word(source, at)
        name = source.text[alias.start + 1 : alias.end]
        found.error("undefined-alias", f"alias `{name}` has no anchor before it", alias)
    else:
        help = [text for part, text in _SYNTAX_HELP.items() if part in problem][:1]
        if _CONFLICT.search(source.text):
            help = ["finish the merge: the file holds both sides of a conflict"]
        found.error("yaml-syntax", problem, Span(source, at, at + 1), notes=notes, related=related, help=help)
    return PolicygenError(found.sorted())


def _word(source: Source, at: int) -> Span:
    found = re.compile(r"[^\s,\]}]*").match(source.text, at)
    return Span(source, at, max(at + 1, found.end() if found else at + 1))


def _is_core_tag(tag: str) -> bool:
    return tag in {"!", ""} or tag.removeprefix("tag:yaml.org,2002:") in _CORE_TAGS


_CORE_TAGS = frozenset({"str", "int", "float", "bool", "null", "map", "seq", "merge", "timestamp", "value"})


def _resolve(text: str) -> str | int | float | bool | None:
    """A plain scalar by the core schema of YAML 1.2; dates stay texts."""
    if text in {"", "~", "null", "Null", "NULL"}:
        return None
    if text in {"true", "True", "TRUE"}:
        return True
    if text in {"false", "False", "FALSE"}:
        return False
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.fullmatch(text) and len(text) <= 4000:
        return int(text)
    if _OCTAL_OR_HEX.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
