"""`import policygen`: what it offers, and what importing it costs."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from verify_cli_files import PODS, SPEC

import policygen

POD, WEB = yaml.safe_load_all(PODS)


def test_importing_the_package_loads_nothing():
    code = (
        "import time; started = time.perf_counter(); import policygen; took = time.perf_counter() - started;"
        "import sys; print(took); print([name for name in sys.modules if name.startswith('policygen.')])"
    )
    done = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(3)
    ]

    assert min(float(text.splitlines()[0]) for text in done) < 0.01
    assert done[0].splitlines()[1] == "[]"


def test_every_name_can_be_had():
    for name in policygen.__all__:
        assert getattr(policygen, name) is not None
    assert set(policygen.__all__) == set(dir(policygen))
    assert not hasattr(policygen, "nothing")


def test_verify_a_bundle_with_objects():
    report = policygen.verify(policygen.compile_text(SPEC), [POD, WEB])

    assert report.passed
    assert {result.name for result in report.properties} >= {"idempotent", "null-safe"}


def test_verify_folders_with_their_suites(project):
    report = policygen.verify(project)

    assert report.passed
    assert [case.case for case in report.cases] == ["training", "web"]


def test_verify_files_on_files(project):
    report = policygen.verify("policy.yaml", ["pods.yaml"], kubernetes=["1.35", "1.36"])

    assert report.passed
    assert {result.version for result in report.properties} == {"1.35", "1.36"}


def test_verify_objects(project):
    bundle = policygen.compile_spec([Path("policy.yaml")])

    assert policygen.verify(bundle.objects(), [POD, WEB]).passed


def test_nothing_to_try_is_no_pass():
    report = policygen.verify(policygen.compile_text(SPEC))

    assert not report.passed
    assert [item.code for item in report.diagnostics if item.severity == "error"] == ["verify-no-fixtures"]


@pytest.mark.parametrize("policies", ["nowhere.yaml", [], {"apiVersion": "v1", "kind": "Pod"}])
def test_faults_of_the_input_are_in_the_report(project, policies):
    assert not policygen.verify(policies).passed


def test_an_unsupported_version_is_an_error():
    with pytest.raises(policygen.PolicygenError, match=r"1\.2"):
        policygen.verify(policygen.compile_text(SPEC), [POD], kubernetes="1.2")


def test_a_failure_carries_its_diagnostic(project):
    path = Path("suite.yaml")
    path.write_text(path.read_text().replace("matched: gpu", "matched: []"))

    report = policygen.verify(project, properties=())

    (finding,) = report.findings
    assert finding.policy == "ml.gpu"
    assert finding.diagnostic.code == "case-failed"


def test_goldens_can_be_updated(project):
    path = Path("suite.yaml")
    path.write_text(path.read_text().replace("matched: gpu", "golden: train.yaml"))

    report = policygen.verify(project, properties=(), update=True)

    assert [update.path.name for update in report.updates] == ["train.yaml"]


def test_admit():
    outcome = policygen.admit(policygen.compile_text(SPEC), POD)

    assert outcome.object["spec"]["containers"][0]["env"] == [{"name": "NCCL_DEBUG", "value": "WARN"}]


def test_explain(project):
    told = policygen.explain("policy.yaml", POD)

    assert [done.said.text for step in told.steps for done in step.done] == [
        "adds environment variable `NCCL_DEBUG=WARN` to container `main`"
    ]


def test_load_gives_the_model(project):
    assert policygen.load([Path("policy.yaml")]).name == "ml"


def test_errors_of_a_spec_are_raised_where_there_is_no_report():
    with pytest.raises(policygen.PolicygenError):
        policygen.admit("nowhere.yaml", POD)
