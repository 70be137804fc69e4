"""Bundles that are broken in one way each: the property that should find it does, and says so well."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from syrupy.assertion import SnapshotAssertion

from policygen.kube import manifest, reader
from policygen.render import full
from policygen.render import report as text
from policygen.verify import paths
from policygen.verify.engine import Options, verify
from policygen.verify.report import Report

FOLDER = Path(__file__).parent / "faults"
BASE = FOLDER / "base"


def _faults() -> list[Any]:
    return [
        pytest.param(file.stem, fault, id=f"{file.stem}: {fault['name']}")
        for file in sorted(FOLDER.glob("*.yaml"))
        for fault in YAML(typ="safe").load(file.read_text(encoding="utf-8"))
    ]


FAULTS = _faults()
SOUND = YAML(typ="safe").load((FOLDER.parent / "cases" / "sound_bundles.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The base bundle with its suite, as the current folder."""
    for source in BASE.iterdir():
        (tmp_path / source.name).write_text(source.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _break(fault: dict[str, Any]) -> None:
    objects = [document.value for document in reader.read_path(Path("bundle.yaml"))]
    for change in (fault, *fault.get("and", ())):
        objects = [_changed(obj, change) for obj in objects if not _is_gone(obj, change)]
    Path("bundle.yaml").write_text(manifest.write_all(objects), encoding="utf-8")


def _title(obj: dict[str, Any]) -> str:
    return f"{obj['kind']}/{obj['metadata']['name']}"


def _is_gone(obj: dict[str, Any], change: dict[str, Any]) -> bool:
    return _title(obj) == change["at"] and change.get("remove", False)


def _changed(obj: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    if _title(obj) == change["at"]:
        for path, value in change.get("set", {}).items():
            obj = paths.put(obj, paths.parse(path), value)
    return obj


def _told(report: Report, module: str) -> str:
    """The findings of one property, as they are shown."""
    name = import_module(f"policygen.verify.properties.{module}").NAME
    return full.render(
        [
            finding.diagnostic
            for result in report.properties
            if result.name == name
            for finding in result.findings
        ]
    )


def test_sound_bundle_passes(folder: Path):
    report = verify([Path("suite.yaml")])

    assert report.passed, text.render(report)


@pytest.mark.parametrize("change", SOUND, ids=[change["name"] for change in SOUND])
def test_what_is_no_fault_passes(change: dict[str, Any], folder: Path):
    _break(change)
    if "fixtures" in change:
        with Path("fixtures.yaml").open("a", encoding="utf-8") as stream:
            stream.write(f"---\n{change['fixtures']}\n")

    report = verify([Path("suite.yaml")])

    assert report.passed, text.render(report)


@pytest.mark.parametrize(("module", "fault"), FAULTS)
def test_fault_is_found(module: str, fault: dict[str, Any], folder: Path, snapshot: SnapshotAssertion):
    _break(fault)
    versions = (fault["kubernetes"],) if "kubernetes" in fault else ()

    report = verify([Path("suite.yaml")], Options(versions=versions, properties=(module,)))

    assert not report.passed
    assert report.findings
    assert _told(report, module) == snapshot


def test_there_are_faults_for_every_property():
    assert len(FAULTS) >= 30
