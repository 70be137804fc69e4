"""Specs with odd inputs -> all objects as YAML. The example policies are goldens too, beside their specs."""

from pathlib import Path

import kubernetes_validate
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from policygen.cel.env import device_env
from policygen.cel.program import compile_program
from policygen.compiler import compile_spec
from policygen.compiler.output import render_stream

SPECS = sorted((Path(__file__).parent / "specs").glob("*.yaml"))


class YamlSnapshot(SingleFileSnapshotExtension):
    """One golden file a case, which kubectl could apply as it is."""

    _write_mode = WriteMode.TEXT
    file_extension = "yaml"


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_objects(path, snapshot):
    assert render_stream(compile_spec([path])) == snapshot(extension_class=YamlSnapshot)


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_objects_validate_strictly(path):
    bundle = compile_spec([path])
    for item in bundle.objects():
        kubernetes_validate.validate(item, bundle.kubernetes, strict=True)


@pytest.mark.parametrize("path", SPECS, ids=[path.stem for path in SPECS])
def test_selectors_compile(path):
    bundle = compile_spec([path])
    env = device_env(bundle.kubernetes)

    for expression in selectors(bundle.objects()):
        assert str(compile_program(expression, env).result_type) in {"bool", "dyn", "any"}, expression


def selectors(value):
    """The CEL expressions of all selectors below a value."""
    if isinstance(value, list):
        return [found for item in value for found in selectors(item)]
    if not isinstance(value, dict):
        return []
    if set(value) == {"cel"}:
        return [value["cel"]["expression"]]
    return [found for item in value.values() for found in selectors(item)]
