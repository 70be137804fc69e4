"""The hooks that we ship, run by the real pre-commit where it is installed."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from policygen.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}

needs_pre_commit = pytest.mark.skipif(
    find_spec("pre_commit") is None, reason="pre-commit is not installed (it is in the extra `dev`)"
)


def run(*command):
    environment = {
        **os.environ,
        "PRE_COMMIT_HOME": str(Path.cwd() / "home"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
    }
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        environment.pop(name, None)
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


@pytest.fixture
def repository(project):
    """The project as a repository that uses our hooks from the installed package."""
    local = [
        {
            **hook,
            "language": "system",
            "entry": hook["entry"].replace("policygen", f"{sys.executable} -m policygen", 1),
        }
        for hook in HOOKS.values()
    ]
    config = {"repos": [{"repo": "local", "hooks": local}]}
    Path(".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    Path(".gitignore").write_text("home/\n")
    run(sys.executable, "-m", "policygen", "build")
    run("git", "init", "-q", ".")
    run("git", "add", "-A")


@pytest.mark.parametrize("hook", HOOKS.values(), ids=HOOKS)
def test_hooks_call_commands_that_exist(hook):
    program, command, *_ = hook["entry"].split()

    assert program == "policygen"
    assert command in COMMANDS


@needs_pre_commit
def test_pre_commit_accepts_the_list_of_hooks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(sys.executable, "-m", "pre_commit", "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml"))

    assert done.returncode == 0, done.stdout


@needs_pre_commit
def test_hooks_pass_and_fail_as_the_commands_do(repository):
    good = run(sys.executable, "-m", "pre_commit", "run", "--all-files")
    Path("policy.yaml").write_text(Path("policy.yaml").read_text().replace("kind: training", "kind: tuning"))
    run("git", "add", "-A")
    bad = run(sys.executable, "-m", "pre_commit", "run", "--all-files")

    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.returncode == 1
    assert "`gpu` has not matched" in bad.stdout
    assert "differs: manifests" in bad.stdout
