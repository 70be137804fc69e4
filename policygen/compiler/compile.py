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
from policygen.diagnostics import Diagnostics, Source, Span, make
from policygen.kube import validate, versions


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
    _check_schema(model, finished, found)
    found.raise_if_errors()
    _note_version(model, finished, found)
    return Bundle(model.name, model.kubernetes, finished, found.sorted())


def _check_schema(model: Model, manifests: Sequence[Manifest], found: Diagnostics) -> None:
    """No object leaves that the version would not even decode."""
    for item in manifests:
        for problem in validate.check(item.object, model.kubernetes):
            found.error(
                "not-in-version",
                f"{item.kind} `{item.name}`: {problem.message}",
                item.span,
                help=[problem.help] if problem.help else [],
            )


def _note_version(model: Model, manifests: Sequence[Manifest], found: Diagnostics) -> None:
    """What the version needs before it takes the bundle, and what is not known about it."""
    if not versions.is_recorded(model.kubernetes):
        note = f"what a {model.kubernetes} server does was not recorded: this bundle is schema-checked only"
        found.add(make("note", "schema-checked-only", note, model.span))
    off = {
        str(item.object["apiVersion"])
        for item in manifests
        if not versions.served_by_default(str(item.object["apiVersion"]), model.kubernetes)
    }
    for api_version in sorted(off):
        found.add(
            make(
                "note",
                "api-off-by-default",
                f"Kubernetes {model.kubernetes} serves `{api_version}` only when it is turned on",
                model.span,
                help=[
                    f"start the API server with `--runtime-config={api_version}=true`",
                    *_gates(api_version),
                ],
            )
        )


def _gates(api_version: str) -> list[str]:
    if api_version.startswith("admissionregistration.k8s.io/"):
        return ["and with `--feature-gates=MutatingAdmissionPolicy=true`"]
    return []
