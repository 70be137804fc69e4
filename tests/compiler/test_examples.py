"""The product's own policies: manifests are up to date, valid for every version, and good for kustomize."""

import re
import shutil
import subprocess
from pathlib import Path

import kubernetes_validate
import pytest

from policygen.compiler import compile_spec
from policygen.compiler.output import compare, render_files
from policygen.kube.reader import read_path

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = sorted(path.parent for path in (ROOT / "policies").glob("*/policy.yaml"))
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
STATED = re.compile(r"^# For Kubernetes (1\.\d+) to (1\.\d+)\.$", re.MULTILINE)


def versions_of(example: Path) -> tuple[str, ...]:
    """The versions that the header of an example states."""
    stated = STATED.search((example / "policy.yaml").read_text(encoding="utf-8"))
    assert stated is not None, f"{example.name} does not say which versions it is for"
    first, last = (VERSIONS.index(version) for version in stated.groups())
    return VERSIONS[first : last + 1]


CASES = [
    pytest.param(example, version, id=f"{example.name}-{version}")
    for example in EXAMPLES
    for version in versions_of(example)
]


def test_there_are_ten_examples():
    assert len(EXAMPLES) >= 10


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_manifests_are_up_to_date_and_nothing_is_said(example):
    bundle = compile_spec([example / "policy.yaml"])

    assert compare(example / "manifests", render_files(bundle)) == []
    assert bundle.diagnostics == ()


@pytest.mark.parametrize(("example", "version"), CASES)
def test_objects_validate_strictly(example, version):
    for item in compile_spec([example / "policy.yaml"], kubernetes=version).objects():
        kubernetes_validate.validate(item, version, strict=True)


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_written_manifests_read_back_as_the_objects(example):
    bundle = compile_spec([example / "policy.yaml"])

    for item in bundle.manifests:
        (document,) = read_path(example / "manifests" / item.file_name)
        assert document.value == item.object


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_kustomize_accepts_the_bundle(example):
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not installed")
    done = subprocess.run(
        [kubectl, "kustomize", str(example / "manifests")], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_every_mutation_and_selector_leads_back_to_the_spec(example):
    bundle = compile_spec([example / "policy.yaml"])
    lists = {"MutatingAdmissionPolicy": "mutations", "ValidatingAdmissionPolicy": "validations"}

    for item in bundle.manifests:
        assert item.span.source.name.endswith("policy.yaml")
        key = lists.get(item.kind, "selectors")
        for index in range(len(item.object.get("spec", {}).get(key, []))):
            trace = bundle.trace(item.kind, item.name, ("spec", key, index))
            assert trace is not None
            assert trace.path == ("spec", key, index)
            assert trace.span.end > trace.span.start
