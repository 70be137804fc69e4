"""Manifests on disk that are not what their spec compiles to."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from policygen.diagnostics import Diagnostic
from policygen.verify.engine import Options, verify

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "policies" / "secure-ai-pods"


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A copy of an example, freshly built."""
    shutil.copytree(ROOT / "fixtures", tmp_path / "fixtures")
    folder = tmp_path / "policies" / EXAMPLE.name
    shutil.copytree(EXAMPLE, folder)
    from policygen.compiler import compile_spec
    from policygen.compiler.output import render_files

    shutil.rmtree(folder / "manifests")
    (folder / "manifests").mkdir()
    for name, text in render_files(compile_spec([folder / "policy.yaml"])).items():
        (folder / "manifests" / name).write_text(text, encoding="utf-8")
    return folder


def _line(diagnostic: Diagnostic) -> str:
    """The line of the spec that the finding points at."""
    assert diagnostic.primary is not None
    span = diagnostic.primary.span
    return f" [{span.source.line(span.position[0]).strip()}]"


def _drift(folder: Path) -> list[str]:
    suite = folder / "suite.yaml"
    text = suite.read_text(encoding="utf-8")
    suite.write_text("\n".join(line for line in text.splitlines() if not line.startswith("kubernetes:")))
    report = verify([folder], Options(properties=("drift",)))
    return [finding.diagnostic.message + _line(finding.diagnostic) for finding in report.findings]


def test_what_was_just_built_is_up_to_date(example: Path):
    assert _drift(example) == []


def test_edited_missing_and_left_over_files_are_told(example: Path):
    manifests = sorted((example / "manifests").glob("*policy-*.yaml"))
    edited, missing = manifests[0], manifests[1]
    edited.write_text(edited.read_text(encoding="utf-8").replace("Fail", "Ignore"), encoding="utf-8")
    missing.unlink()
    (example / "manifests" / "mutatingadmissionpolicy-old.yaml").write_text(
        "# Built by policygen from the spec `secure-ai-pods`: change that instead.\nkind: Old\n",
        encoding="utf-8",
    )

    told = " ".join(_drift(example))

    assert f"{edited.name}` is not what the spec compiles to" in told
    assert f"{missing.name}` is missing" in told
    assert "mutatingadmissionpolicy-old.yaml` is a left-over" in told
    assert "does not compile to it [metadata: {name: secure-ai-pods}]" in told
    assert len({line.rpartition(" [")[2] for line in _drift(example)}) > 1
