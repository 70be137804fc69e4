"""The manifests on disk are what their spec compiles to."""

from __future__ import annotations

from pathlib import Path

from policygen.compiler import compile_spec
from policygen.compiler.bundle import Bundle
from policygen.compiler.layout import OUTPUT
from policygen.compiler.output import compare, render_files
from policygen.diagnostics import Diagnostics, Span, make
from policygen.kube import reader
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World

NAME = "manifests are up to date"

_WORDS = {
    "missing": "is missing: the spec compiles to it",
    "differs": "is not what the spec compiles to",
    "stale": "is a left-over: the spec does not compile to it",
}


def check(world: World) -> PropertyResult:
    """One finding per file that differs. A spec whose manifests are not kept beside it is not looked at."""
    subject = world.subject
    checked = 0
    findings = []
    skipped = "no manifests beside the spec"
    for bundle, files in zip(subject.bundles, subject.specs, strict=True):
        directory = files[0].parent / OUTPUT
        if not directory.is_dir():
            continue
        own = compile_spec(files) if subject.overridden else bundle
        if own.kubernetes != subject.version:
            skipped = f"the manifests beside the spec are for {own.kubernetes}"
            continue
        rendered = render_files(bundle)
        checked += len(rendered)
        for difference in compare(directory, rendered):
            diagnostic = make(
                "error",
                "verify-drift",
                f"`{difference.path}` {_WORDS[difference.how]}",
                _place(bundle, files[0], difference.path.name),
                help=[f"run `policygen build {files[0].parent}` and commit the result"],
            )
            findings.append(Finding(diagnostic))
    return PropertyResult(NAME, subject.version, checked, tuple(findings), skipped="" if checked else skipped)


def _place(bundle: Bundle, spec: Path, file_name: str) -> Span | None:
    """Where the spec asks for the object of a file; its name for a file that is no object of it."""
    for manifest in bundle.manifests:
        if manifest.file_name == file_name:
            return manifest.span
    for document in reader.read_path(spec, Diagnostics()):
        return document.span(("metadata", "name"))
    return None
