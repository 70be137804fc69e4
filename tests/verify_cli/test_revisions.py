"""`diff` with revisions of a real git repository."""

import subprocess
from pathlib import Path

import pytest

from policygen.cli.main import run

SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: ml}
spec:
  kubernetes: "1.36"
  rules:
    - name: gpu
      match: {labels: {kind: training}}
      inject: {env: {NCCL_DEBUG: WARN}}
"""
SUITE = """\
apiVersion: policygen.dev/v1alpha1
kind: PolicySuite
policies: policy.yaml
fixtures: ../pods.yaml
cases:
  - {name: training, object: train, expect: {matched: gpu}}
"""
POD = """\
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: a, labels: {kind: training}}
spec: {containers: [{name: main, image: "t:1"}]}
"""


def git(*arguments):
    who = ["-c", "user.name=someone", "-c", "user.email=someone@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], check=True, capture_output=True)


@pytest.fixture(autouse=True)
def repository(tmp_path, monkeypatch):
    """Two commits, the first tagged `before`, and then a change that is not committed."""
    monkeypatch.chdir(tmp_path)
    for variable in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(variable, raising=False)
    Path("ml").mkdir()
    Path("ml/policy.yaml").write_text(SPEC)
    Path("ml/suite.yaml").write_text(SUITE)
    Path("pods.yaml").write_text(POD)
    git("init", "-q", ".")
    git("add", "-A")
    git("commit", "-q", "-m", "first")
    git("tag", "before")
    Path("ml/policy.yaml").write_text(SPEC.replace("WARN", "INFO"))
    git("commit", "-q", "-a", "-m", "second")
    Path("ml/policy.yaml").write_text(SPEC.replace("WARN", "TRACE"))


def test_a_revision_and_the_files_as_they_are(capsys):
    assert run(["diff", "--rev", "before", "ml"]) == 0

    assert '"WARN" -> "TRACE"  [ml/policy.yaml:9:34: rule gpu]' in capsys.readouterr().out


def test_two_revisions(capsys):
    assert run(["diff", "--rev", "before..HEAD", "ml", "--exit-code"]) == 1

    assert '"WARN" -> "INFO"  [HEAD:ml/policy.yaml:9:34: rule gpu]' in capsys.readouterr().out


def test_a_revision_without_its_end_is_compared_with_head(capsys):
    assert run(["diff", "--rev", "before..", "ml/policy.yaml"]) == 0

    assert '"WARN" -> "INFO"' in capsys.readouterr().out


def test_paths_of_revisions_as_git_writes_them(capsys, monkeypatch):
    monkeypatch.chdir("ml")

    assert run(["diff", "before:ml", "HEAD:./policy.yaml"]) == 0

    assert '"WARN" -> "INFO"' in capsys.readouterr().out


def test_a_bundle_that_was_not_there_yet(capsys):
    Path("new").mkdir()
    Path("new/policy.yaml").write_text(SPEC)

    assert run(["diff", "before:ml", "before:new"]) == 2

    assert "cannot read `before:new`: no such file or directory" in capsys.readouterr().err


def test_errors_in_a_revision_are_named_by_it(capsys):
    Path("ml/policy.yaml").write_text(SPEC.replace("inject", "injekt"))
    git("commit", "-q", "-a", "-m", "broken")

    assert run(["diff", "HEAD:ml", "before:ml"]) == 2

    assert " --> HEAD:ml/policy.yaml:9:7" in capsys.readouterr().err


@pytest.mark.parametrize("revision", ["mian", "--output=x", "before:ml:x"])
def test_a_revision_that_is_none(capsys, revision):
    assert run(["diff", f"--rev={revision}", "ml"]) == 2

    shown = capsys.readouterr().err
    assert "unknown-revision" in shown or "manifest-not-found" in shown


def test_a_path_outside(capsys):
    assert run(["diff", "--rev", "before", "../elsewhere"]) == 2

    assert "git-outside" in capsys.readouterr().err


def test_links_and_other_files_are_left_out(capsys):
    Path("link.yaml").symlink_to("/etc/hosts")
    Path("data.bin").write_bytes(b"\0" * 100)
    git("add", "-A")
    git("commit", "-q", "-m", "third")

    assert run(["diff", "--rev", "before..HEAD", "ml"]) == 0


def test_the_working_tree_is_not_touched(capsys):
    before = {path: path.read_bytes() for path in Path("ml").iterdir()}

    run(["diff", "before:ml", "HEAD:ml"])

    assert before == {path: path.read_bytes() for path in Path("ml").iterdir()}


def test_a_path_of_the_current_folder_is_suggested(capsys, monkeypatch):
    monkeypatch.chdir("ml")

    assert run(["diff", "before:policy.yaml", "policy.yaml"]) == 2

    assert "did you mean `before:./policy.yaml`?" in capsys.readouterr().err
