"""`init` and `schema suite`: a scaffold that verifies, and the JSON Schema of suites."""

import json
from pathlib import Path

import jsonschema
import pytest
import yaml
from verify_cli_files import SPEC

from policygen.cli.main import run
from policygen.verify.suite_shape import schema

ROOT = Path(__file__).parents[2]
CHECK = jsonschema.Draft202012Validator(schema())
SUITES = sorted(ROOT.glob("policies/*/suite.yaml"))


def test_a_fresh_scaffold_verifies(tmp_path):
    assert run(["init", str(tmp_path / "ml")]) == 0
    assert run(["verify", str(tmp_path / "ml")]) == 0
    assert run(["init", str(tmp_path / "ml")]) == 2


def test_a_suite_for_a_spec_runs_green(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(SPEC)

    assert run(["init", "--from", "policy.yaml"]) == 0

    shown = capsys.readouterr().out
    assert "wrote suite.yaml" in shown
    assert run(["verify", "."]) == 0
    text = Path("suite.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=./policygen.suite.schema.json\n")
    CHECK.validate(yaml.safe_load(text))
    assert json.loads(Path("policygen.suite.schema.json").read_text()) == schema()
    assert run(["init", "--from", "policy.yaml"]) == 2


@pytest.mark.parametrize(
    "example", ["aligned-training", "mig-inference", "namespace-node-pools", "low-latency-inference"]
)
def test_suites_for_the_examples_hold(example, tmp_path):
    spec = ROOT / "policies" / example / "policy.yaml"

    assert run(["init", "--from", str(spec), str(tmp_path)]) == 0
    assert run(["verify", str(tmp_path), "--suites-only"]) == 0
    reached = {
        rule
        for case in yaml.safe_load((tmp_path / "suite.yaml").read_text())["cases"]
        for rule in case["expect"]["matched"]
    }
    assert reached


@pytest.mark.parametrize("example", ["secure-ai-pods", "mig-inference", "large-model-memory"])
def test_a_suite_for_a_simple_spec_proves_it(example, tmp_path, capsys):
    spec = ROOT / "policies" / example / "policy.yaml"

    assert run(["init", "--from", str(spec), str(tmp_path)]) == 0
    assert "not reached" not in capsys.readouterr().out
    assert run(["verify", str(tmp_path)]) == 0


def test_parts_that_no_object_reaches_are_listed(tmp_path, capsys):
    spec = ROOT / "policies" / "amd-pool" / "policy.yaml"

    assert run(["init", "--from", str(spec), str(tmp_path)]) == 0
    assert "are not reached yet" in capsys.readouterr().out
    listed = (tmp_path / "suite.yaml").read_text().partition("# Not reached yet")[2]
    assert "#   `amd-gpus`: no object makes " in listed
    assert run(["verify", str(tmp_path)]) == 1


def test_what_is_not_reached_is_said(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    never = "size(object.spec.containers) < 0"
    match = f"match: {{cel: '{never}'}}"
    Path("policy.yaml").write_text(SPEC.replace("match: {labels: {kind: training}}", match))

    assert run(["init", "--from", "policy.yaml"]) == 0

    assert "# No object here reaches rule `gpu`. Add one for which holds:" in Path("suite.yaml").read_text()
    assert run(["verify", "."]) == 1


def test_a_spec_with_errors_gives_no_suite(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(SPEC.replace("inject", "injekt"))

    assert run(["init", "--from", "policy.yaml"]) == 2
    assert not Path("suite.yaml").exists()


def test_the_schema_in_the_docs_is_the_schema(capsys):
    assert run(["schema", "suite"]) == 0

    printed = capsys.readouterr().out
    assert (ROOT / "docs/suite.schema.json").read_text() == printed
    assert json.loads(printed) == schema()
    jsonschema.Draft202012Validator.check_schema(schema())


def test_schema_is_that_of_specs_unless_asked(capsys):
    run(["schema"])
    plain = capsys.readouterr().out
    run(["schema", "spec"])

    assert plain == capsys.readouterr().out
    assert json.loads(plain)["title"] == "PlacementPolicy"


@pytest.mark.parametrize("path", SUITES, ids=[path.parent.name for path in SUITES])
def test_the_examples_fit_the_schema_and_name_it(path):
    text = path.read_text()

    CHECK.validate(yaml.safe_load(text))
    assert text.startswith("# yaml-language-server: $schema=../../docs/suite.schema.json\n")


@pytest.mark.parametrize(
    ("old", "new"),
    [("cases:", "case:"), ("matched: gpu", "match: gpu"), ("object: train", "object: 1"), ("v1alpha1", "v1")],
)
def test_the_schema_refuses_what_the_reader_refuses(project, old, new):
    text = Path("suite.yaml").read_text().replace(old, new)
    Path("suite.yaml").write_text(text)

    assert not CHECK.is_valid(yaml.safe_load(text))
    assert run(["verify", "suite.yaml"]) == 2
