"""Files and documents -> one document. Sections join; saying one thing twice is an error."""

from __future__ import annotations

from collections.abc import Sequence as Items
from pathlib import Path

from policygen.compiler.recognise import MAX_BYTES
from policygen.compiler.yaml import Entry, Mapping, Scalar, Sequence, decode, read_documents
from policygen.diagnostics import Diagnostics, Label, Span, fail

_SECTIONS = ("priorities", "devices", "claims", "tenants")
_SINGULAR = {"priorities": "priority", "devices": "device", "claims": "claim", "tenants": "tenant"}


def _read(path: Path) -> bytes:
    """At most one byte more than a spec may have: a device never ends."""
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def read_files(paths: Items[Path], found: Diagnostics) -> Mapping:
    """All documents of all files, joined."""
    documents = [document for path in paths for document in read_file(path, found)]
    found.raise_if_errors()
    return join(documents, found)


def read_file(path: Path, found: Diagnostics) -> list[Mapping]:
    """The documents of one file."""
    name = str(path)
    try:
        data = _read(path)
    except OSError as error:
        fail("unreadable-file", f"cannot read `{name}`: {(error.strerror or str(error)).lower()}")
    source = decode(name, data)
    documents = read_documents(source, found)
    if not documents and not found.has_errors:
        fail(
            "empty-spec",
            f"`{name}` holds no spec",
            Span(source, 0, min(1, len(source.text))),
            help=["`policygen init` writes a first one"],
        )
    return documents


def join(documents: Items[Mapping], found: Diagnostics) -> Mapping:
    """One document out of several: sections by name, rules one after the other."""
    first = documents[0]
    for other in documents[1:]:
        first = _join_mappings(first, other, (), found)
    return first


def _join_mappings(one: Mapping, other: Mapping, path: tuple[str, ...], found: Diagnostics) -> Mapping:
    entries = dict(one.by_key)
    for entry in other.entries:
        present = entries.get(entry.key.text)
        if present is None:
            entries[entry.key.text] = entry
        else:
            entries[entry.key.text] = _join_entries(present, entry, (*path, entry.key.text), found)
    return Mapping(tuple(entries.values()), one.span)


def _join_entries(one: Entry, other: Entry, path: tuple[str, ...], found: Diagnostics) -> Entry:
    if len(path) == 3 and path[0] == "spec" and path[1] in _SECTIONS:
        found.error(
            "duplicate-name",
            f"{_SINGULAR[path[1]]} `{path[2]}` is declared twice",
            other.key.span,
            "again here",
            related=[Label(one.key.span, "first declared here")],
        )
        return one
    match one.value, other.value:
        case Mapping() as left, Mapping() as right:
            return Entry(one.key, _join_mappings(left, right, path, found))
        case Sequence() as left, Sequence() as right if path == ("spec", "rules"):
            return Entry(one.key, Sequence((*left.items, *right.items), left.span))
        case Scalar(value=left_value), Scalar(value=right_value) if left_value == right_value:
            return one
    found.error(
        "conflicting-value",
        f"`{'.'.join(path)}` is said twice, and differs",
        other.value.span,
        "and here",
        related=[Label(one.value.span, "here")],
        help=["documents and files of one spec join: say it in one of them"],
    )
    return one
