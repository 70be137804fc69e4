"""Manifests as kubectl reads them: streams of YAML or JSON documents, one at a time.

A stream is split at `---` lines and only one document is held (apimachinery `util/yaml/decoder.go`), so
memory stays constant however long it is. `kind: List` is expanded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeAlias

import yaml

from policygen.diagnostics import Diagnostic, Diagnostics, Label, PolicygenError, Source, Span, fail, make
from policygen.kube import yaml11

MAX_DOCUMENT: Final = 10 * 1024 * 1024
"""Bytes of one document."""

SUFFIXES: Final = (".yaml", ".yml", ".json")
"""Files that are read when a directory is named."""

_SCHEMA_SUFFIX: Final = ".schema.json"
_CHUNK: Final = 1024 * 1024
_SEPARATOR: Final = re.compile(rb"^---([^\n]*)\n?", re.MULTILINE)
_PathKey: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True)
class Document:
    """One object of a stream. `text` is its own document; `line` is where that starts in the file."""

    value: dict[str, Any]
    name: str
    line: int
    text: str
    item: _PathKey = ()
    """The path inside the document, of an object that stood in a List."""

    @cached_property
    def source(self) -> Source:
        """The document as a source whose lines count as in the file."""
        return Source(self.name, "\n" * (self.line - 1) + self.text)

    @property
    def spans(self) -> dict[_PathKey, Span]:
        """The place of every value by its path; the text is read again when this is first asked."""
        return self._places[0]

    @cached_property
    def _places(self) -> tuple[dict[_PathKey, Span], dict[_PathKey, Span]]:
        """The places of values and of their keys."""
        try:
            root = yaml11.compose(self.text)
        except yaml.YAMLError:
            root = None
        values: dict[_PathKey, Span] = {}
        keys: dict[_PathKey, Span] = {}
        if root is not None:
            _collect(root, self.source, self.line, (), values, keys)
        return self._below(values), self._below(keys)

    def _below(self, found: dict[_PathKey, Span]) -> dict[_PathKey, Span]:
        start = len(self.item)
        return {path[start:]: span for path, span in found.items() if path[:start] == self.item}

    def span(self, path: Iterable[str | int] = ()) -> Span:
        """The place of a path, or of the nearest thing above it that is written down."""
        key = tuple(path)
        while key and key not in self.spans:
            key = key[:-1]
        return self.spans.get(key) or Span(self.source, self.line - 1, self.line - 1)

    def key_span(self, path: Iterable[str | int]) -> Span:
        """The place of the key that a path ends in; that of the value where it is an item of a list."""
        key = tuple(path)
        return self._places[1].get(key) or self.span(key)


def read_paths(
    paths: Iterable[Path], found: Diagnostics | None = None, *, recursive: bool = False
) -> Iterator[Document]:
    """The objects of files and directories (their `.yaml`, `.yml` and `.json` files, by name)."""
    for path in paths:
        if path.is_dir():
            inside = files_in(path, recursive=recursive)
            if not inside:
                _report(
                    make(
                        "error", "manifest-not-found", f"directory `{path}` has no .yaml, .yml or .json file"
                    ),
                    found,
                )
            for entry in inside:
                yield from read_path(entry, found)
        else:
            yield from read_path(path, found)


def files_in(folder: Path, *, recursive: bool = False) -> list[Path]:
    """The files that a directory stands for, by name, without the JSON Schemas that editors use."""
    return sorted(
        entry
        for entry in folder.glob("**/*" if recursive else "*")
        if entry.suffix in SUFFIXES and entry.is_file() and not is_json_schema(entry)
    )


def is_json_schema(path: Path) -> bool:
    """Whether a file is a `*.schema.json` that holds a JSON Schema, such as `init` writes."""
    if not path.name.endswith(_SCHEMA_SUFFIX):
        return False
    try:
        if path.stat().st_size > MAX_DOCUMENT:
            return False
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "$schema" in value and "apiVersion" not in value


def read_path(path: Path, found: Diagnostics | None = None) -> Iterator[Document]:
    """The objects of one file."""
    try:
        stream = path.open("rb")
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        _report(make("error", "manifest-not-found", f"cannot read `{path}`: {reason}"), found)
        return
    with stream:
        try:
            yield from read_stream(stream, str(path), found)
        except OSError as error:
            reason = (error.strerror or "unreadable").lower()
            _report(make("error", "manifest-not-found", f"cannot read `{path}`: {reason}"), found)


def read_text(text: str, name: str = "<input>", found: Diagnostics | None = None) -> Iterator[Document]:
    """The objects of a text."""
    return read_stream(BytesIO(text.encode("utf-8", "surrogatepass")), name, found)


def read_stream(stream: BinaryIO, name: str, found: Diagnostics | None = None) -> Iterator[Document]:
    """The objects of a stream, in order.

    Faults are added to `found`, and reading goes on with the next document; without `found` the first raises.
    """
    for data, line in _documents(stream, name, found):
        try:
            yield from _objects(data, name, line)
        except PolicygenError as error:
            for diagnostic in error.diagnostics:
                _report(diagnostic, found)


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document of a stream before it is parsed: what can be handed to another process."""

    data: bytes
    name: str
    line: int

    def parse(self) -> list[Document]:
        """Its objects; `PolicygenError` when it is faulty."""
        return list(_objects(self.data, self.name, self.line))


def split_stream(stream: BinaryIO, name: str, found: Diagnostics | None = None) -> Iterator[RawDocument]:
    """The documents of a stream, in order, without parsing them."""
    for data, line in _documents(stream, name, found):
        yield RawDocument(data, name, line)


def load(text: str, name: str = "<input>") -> Any:
    """The value of one document, whatever it is; None when it is empty."""
    return _value(text, name, 1)


def _report(diagnostic: Diagnostic, found: Diagnostics | None) -> None:
    if found is None:
        raise PolicygenError([diagnostic])
    found.add(diagnostic)


def _documents(stream: BinaryIO, name: str, found: Diagnostics | None) -> Iterator[tuple[bytes, int]]:
    """Split a stream into documents with the line on which each starts."""
    buffer = stream.read(_CHUNK).removeprefix(b"\xef\xbb\xbf")
    line = 1
    if buffer.lstrip()[:1] == b"{":
        buffer, line = yield from _json_documents(stream, buffer)
    start = 0
    ended = not buffer
    while start < len(buffer) or not ended:
        match = _SEPARATOR.search(buffer, start)
        # A separator at the very end of the buffer may go on in the next chunk.
        if match is None or (match.end() == len(buffer) and not ended):
            if match is None and len(buffer) - start > MAX_DOCUMENT:
                _report(_too_large(name, line), found)
                return
            if ended:
                yield buffer[start:], line
                return
            more = stream.read(_CHUNK)
            ended = not more
            buffer = buffer[start:] + more
            start = 0
            continue
        if match.start() > start:
            yield buffer[start : match.start()], line
        line += buffer.count(b"\n", start, match.end())
        start = match.end()
        extra = match[1].strip()
        if extra and not extra.startswith(b"#"):
            shown = extra.decode("utf-8", "replace")
            message = f"invalid document separator: `{shown}` stands behind `---`"
            _report(make("error", "manifest-syntax", message, _at_line(name, line - 1)), found)


def _json_documents(stream: BinaryIO, buffer: bytes) -> Generator[tuple[bytes, int], None, tuple[bytes, int]]:
    """JSON objects one after the other. What is not JSON is given back, with its line, to be read as YAML."""
    line = 1
    text = ""
    decoder = json.JSONDecoder()
    ended = False
    pending = buffer
    while True:
        try:
            text += pending.decode()
            pending = b""
        except UnicodeDecodeError as error:
            if error.reason != "unexpected end of data" or ended:
                return text.encode() + pending, line
            text += pending[: error.start].decode()
            pending = pending[error.start :]
        at = 0
        while True:
            start = at
            while start < len(text) and text[start] in " \t\r\n":
                start += 1
            if start == len(text) or text[start] != "{":
                break
            try:
                _, end = decoder.raw_decode(text, start)
            except (json.JSONDecodeError, RecursionError):
                break
            line += text.count("\n", at, start)
            yield text[start:end].encode(), line
            line += text.count("\n", start, end)
            at = end
        text = text[at:]
        if text.strip() and (ended or not text.lstrip().startswith("{") or len(text) > MAX_DOCUMENT):
            return text.encode() + pending, line
        more = stream.read(max(_CHUNK, len(text)))
        ended = not more
        if ended and not text.strip() and not pending:
            return b"", line
        pending += more


def _objects(data: bytes, name: str, line: int) -> Iterator[Document]:
    """The objects of one document."""
    if len(data) > MAX_DOCUMENT:
        raise PolicygenError([_too_large(name, line)])
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        at = line + data.count(b"\n", 0, error.start)
        fail("manifest-encoding", "the manifest is not UTF-8", _at_line(name, at))
    value = _value(text, name, line)
    if value is None:
        return
    if not isinstance(value, dict):
        fail(
            "manifest-not-object",
            "a manifest must be a map with `apiVersion` and `kind`",
            _at_line(name, line),
        )
    yield from _expand(Document(value, name, line, text))


def _expand(document: Document) -> Iterator[Document]:
    """A List as its items; anything else as it is."""
    value = document.value
    kind = value.get("kind")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(value.get("items"), list):
        item_kind = kind.removesuffix("List")
        for index, item in enumerate(value["items"]):
            path = (*document.item, "items", index)
            if not isinstance(item, dict):
                fail(
                    "manifest-not-object",
                    "an item of a List must be an object",
                    document.span(("items", index)),
                )
            implied = {"apiVersion": value.get("apiVersion"), "kind": item_kind} if item_kind else {}
            yield from _expand(replace(document, value=implied | item, item=path))
        return
    for key in ("apiVersion", "kind"):
        if not isinstance(value.get(key), str) or not value[key]:
            fail("manifest-not-object", f"the object has no `{key}`", document.span())
    yield document


def _value(text: str, name: str, line: int) -> Any:
    """The value of one document; JSON is read by the quicker parser."""
    if text.lstrip()[:1] == "{":
        try:
            value = _JSON.decode(text)
        except (json.JSONDecodeError, RecursionError):
            value = None  # flow style, or a fault that the YAML reader places
        if value is not None and not _is_deep(value):
            return _mended(value) if "\\u" in text else value
    try:
        root = yaml11.compose(text)
        return None if root is None else yaml11.value_of(root)
    except yaml.MarkedYAMLError as error:
        source = _source(text, name, line)
        mark = error.problem_mark or error.context_mark
        offset = source.offset(line + mark.line, mark.column + 1) if mark else line - 1
        message = f"the manifest is not YAML: {error.problem or error.context}"
        fail("manifest-syntax", message, Span(source, offset, offset + 1))
    except yaml.reader.ReaderError as error:
        source = _source(text, name, line)
        message = f"the manifest holds a character that YAML forbids: #x{error.character:04x}"
        offset = line - 1 + error.position
        fail("manifest-syntax", message, Span(source, offset, offset + 1))
    except yaml11.FaultError as error:
        span = _node_span(error.node, _source(text, name, line), line)
        raise PolicygenError([replace(error.diagnostic, primary=Label(span))]) from None


def _is_deep(value: Any) -> bool:
    """Whether a value is nested deeper than manifests may be; the YAML reader then says where."""
    level = [value]
    for _ in range(yaml11.MAX_DEPTH):
        below = [item.values() if type(item) is dict else item for item in level]
        level = [item for items in below for item in items if type(item) is dict or type(item) is list]
        if not level:
            return False
    return True


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise json.JSONDecodeError("duplicate key", "", 0)  # the YAML reader says where
    return found


def _integer(text: str) -> int | float:
    return yaml11.json_number(float(text)) if len(text) > 18 and abs(int(text)) >= 2**63 else int(text)


def _floating(text: str) -> int | float:
    return yaml11.json_number(float(text))


def _constant(text: str) -> Any:
    raise json.JSONDecodeError(text, "", 0)


_JSON: Final = json.JSONDecoder(
    object_pairs_hook=_pairs, parse_int=_integer, parse_float=_floating, parse_constant=_constant
)


def _mended(value: Any) -> Any:
    """The value with lone surrogates replaced, as Go replaces them."""
    match value:
        case str():
            return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        case dict():
            return {_mended(key): _mended(item) for key, item in value.items()}
        case list():
            return [_mended(item) for item in value]
        case _:
            return value


def _collect(
    node: yaml.Node,
    source: Source,
    line: int,
    path: _PathKey,
    found: dict[_PathKey, Span],
    keys: dict[_PathKey, Span],
) -> None:
    found[path] = _node_span(node, source, line)
    if len(path) > yaml11.MAX_DEPTH:
        return
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                below = (*path, yaml11.key_text(key))
                keys[below] = _node_span(key, source, line)
                _collect(value, source, line, below, found, keys)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            _collect(value, source, line, (*path, index), found, keys)


def _node_span(node: yaml.Node, source: Source, line: int) -> Span:
    start, end = node.start_mark, node.end_mark
    return Span(
        source,
        source.offset(line + start.line, start.column + 1),
        source.offset(line + end.line, end.column + 1),
    )


def _source(text: str, name: str, line: int) -> Source:
    return Source(name, "\n" * (line - 1) + text)


def _at_line(name: str, line: int) -> Span:
    return Span(Source(name, "\n" * (line - 1)), line - 1, line - 1)


def _too_large(name: str, line: int) -> Diagnostic:
    message = f"a document is larger than {MAX_DOCUMENT // 1024 // 1024} MiB"
    return make("error", "manifest-too-large", message, _at_line(name, line))
