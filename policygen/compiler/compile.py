"""Paths -> spec -> model -> manifests: the whole compiler, each step once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from policygen.compiler.bundle import Bundle, Manifest
from policygen.compiler.checks import check
from policygen.compiler.documents import join, read_files
from policygen.compiler.emit import emit_object, finish
from policygen.compiler.emit.admission import emit_rules
from policygen.compiler.lower import lower
from policygen.compiler.model import Model
from policygen.compiler.resolve import resolve
from policygen.compiler.spec_errors import read_spec
from policygen.compiler.yaml import Mapping, Scalar, read_documents
from policygen.diagnostics import Diagnostics, Source, Span


def load_model(paths: Sequence[Path], found: Diagnostics, kubernetes: str | None = None) -> Model:
    """The model of the spec in some files, fully checked. Raises `PolicygenError` when it has errors."""
    return _model(read_files(paths, found), found, kubernetes)


def load_text(text: str, name: str, found: Diagnostics) -> Model:
    """The model of a spec that stands in a text."""
    documents = read_documents(Source(name, text), found)
    found.raise_if_errors()
    if not documents:
        found.error("empty-spec", f"`{name}` holds no spec", Span(Source(name, text), 0, min(1, len(text))))
        found.raise_if_errors()
    return _model(join(documents, found), found, None)


def _model(document: Mapping, found: Diagnostics, kubernetes: str | None) -> Model:
    if kubernetes is not None:
        document = _for_version(document, kubernetes)
    spec = read_spec(document, found)
    found.raise_if_errors()
    assert spec is not None
    model = resolve(spec, found)
    found.raise_if_errors()
    check(model, found)
    found.raise_if_errors()
    return model


def _for_version(document: Mapping, kubernetes: str) -> Mapping:
    """The document with another version of Kubernetes, for builds that ask for one."""
    entry = document.by_key.get("spec")
    if entry is None or not isinstance(entry.value, Mapping) or "kubernetes" not in entry.value.by_key:
        return document
    old = entry.value.by_key["kubernetes"].value
    return document.with_value(
        "spec", entry.value.with_value("kubernetes", Scalar(kubernetes, kubernetes, "'", old.span))
    )


def compile_model(model: Model, found: Diagnostics) -> Bundle:
    """The manifests of a model, in their order, each valid by its version's schema."""
    manifests: list[Manifest] = [emit_object(node) for node in lower(model)]
    manifests += emit_rules(model, found)
    found.raise_if_errors()
    finished = finish(model, manifests)
    return Bundle(model.name, model.kubernetes, finished, found.sorted())
