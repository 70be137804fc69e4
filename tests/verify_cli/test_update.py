"""`verify --update`: goldens are written whole, shown, and never over something that is not one."""

from pathlib import Path

import pytest
import yaml

from policygen.cli.main import run

GOLDEN = Path("goldens/train.yaml")


@pytest.fixture(autouse=True)
def with_golden(project):
    suite = Path("suite.yaml").read_text()
    Path("suite.yaml").write_text(
        suite.replace("{matched: gpu}", "{matched: gpu, golden: goldens/train.yaml}")
    )


def verify(*options):
    return run(["verify", "suite.yaml", "--suites-only", *options])


def replace(name, old, new):
    path = Path(name)
    path.write_text(path.read_text().replace(old, new))


def test_a_new_golden_is_written_and_shown(capsys):
    assert verify() == 1
    assert verify("--update") == 0

    shown = capsys.readouterr().out
    assert "wrote goldens/train.yaml (new)" in shown
    assert "  +     - name: NCCL_DEBUG" in shown
    assert yaml.safe_load(GOLDEN.read_text())["spec"]["containers"][0]["env"][0]["value"] == "WARN"
    assert verify() == 0


def test_what_changes_is_shown_by_path(capsys):
    verify("--update")
    replace("policy.yaml", "WARN", "INFO")
    capsys.readouterr()

    assert verify() == 1
    assert verify("--update") == 0

    shown = capsys.readouterr().out
    assert '- spec.containers[name="main"].env[name="NCCL_DEBUG"].value: "WARN"' in shown
    assert "wrote goldens/train.yaml\n" in shown
    assert verify() == 0


def test_what_is_right_already_is_not_written(capsys):
    verify("--update")
    before = GOLDEN.stat().st_mtime_ns
    capsys.readouterr()

    assert verify("--update") == 0

    assert "wrote" not in capsys.readouterr().out
    assert before == GOLDEN.stat().st_mtime_ns


def test_nothing_is_written_when_the_case_fails_otherwise():
    verify("--update")
    before = GOLDEN.read_text()
    replace("policy.yaml", "WARN", "INFO")
    replace("suite.yaml", "matched: gpu", "matched: []")

    assert verify("--update") == 1

    assert before == GOLDEN.read_text()


def test_nothing_is_written_when_the_input_has_errors():
    verify("--update")
    before = GOLDEN.read_text()
    replace("policy.yaml", "WARN", "INFO")
    replace("suite.yaml", "object: web", "object: nowhere")

    assert verify("--update") == 2

    assert before == GOLDEN.read_text()


def test_a_file_that_is_no_golden_is_left_alone(capsys):
    replace("suite.yaml", "goldens/train.yaml", "policy.yaml")

    assert verify("--update") == 1

    assert "golden-foreign" in capsys.readouterr().out
    assert "PlacementPolicy" in Path("policy.yaml").read_text()


@pytest.mark.parametrize("content", ["kind: [", "a: 1\n---\nb: 2\n", "- 1\n"])
def test_a_file_that_cannot_be_read_is_left_alone(capsys, content):
    GOLDEN.parent.mkdir()
    GOLDEN.write_text(content)

    assert verify("--update") == 1

    assert "golden-unreadable" in capsys.readouterr().out
    assert content == GOLDEN.read_text()


def test_a_folder_is_no_golden(capsys):
    GOLDEN.mkdir(parents=True)

    assert verify("--update") == 1

    assert "golden-unreadable" in capsys.readouterr().out


def test_two_cases_that_want_different_goldens(capsys):
    replace("suite.yaml", "unchanged: true", "unchanged: true, golden: goldens/train.yaml")

    assert verify("--update") == 2

    assert "golden-conflict" in capsys.readouterr().out
    assert not GOLDEN.exists()


def test_versions_that_want_different_goldens(capsys):
    replace("suite.yaml", "policies:", 'kubernetes: ["1.34", "1.36"]\npolicies:')

    assert verify("--update") == 0

    assert yaml.safe_load(GOLDEN.read_text())["metadata"]["name"] == "train"


def test_a_folder_that_cannot_be_written(capsys):
    Path("goldens").write_text("a file")

    assert verify("--update") in (1, 2)

    assert "cannot" in capsys.readouterr().out


def test_no_temporary_file_is_left():
    verify("--update")

    assert [GOLDEN.name] == [entry.name for entry in GOLDEN.parent.iterdir()]
