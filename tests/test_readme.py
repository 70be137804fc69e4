"""The README's tour does what it shows: every command is run, every printed line compared."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def tour():
    """(command, lines shown) in order; the set-up commands, without a prompt, are not part of it."""
    steps = []
    for block in blocks("console"):
        for line in block.splitlines():
            if line.startswith("$ "):
                steps.append((line[2:], []))
            elif steps and "$ " in block:
                steps[-1][1].append(line)
    return steps


@pytest.fixture(scope="module")
def workplace(tmp_path_factory):
    """A copy of what ships, with the files that the tour speaks of."""
    folder = tmp_path_factory.mktemp("tour")
    for name in ("policies", "fixtures"):
        shutil.copytree(ROOT / name, folder / name)
    [pod] = [block for block in blocks("yaml") if block.startswith("# pod.yaml\n")]
    (folder / "pod.yaml").write_text(pod.removeprefix("# pod.yaml\n"))
    [typo] = [block for block in blocks("yaml") if "kind: PlacementPolicy" in block]
    (folder / "typo.yaml").write_text(typo)
    return folder


def test_the_tour_shows_what_the_commands_print(workplace):
    scripts = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, shown in tour():
        done = subprocess.run(
            command,
            shell=True,
            cwd=workplace,
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": scripts},
            timeout=120,
            check=False,
        )
        lines = [line.rstrip() for line in (done.stdout + done.stderr).splitlines()]
        if "..." in shown:
            tail = shown[shown.index("...") + 1 :]
            assert tail == lines[len(lines) - len(tail) :], command
            assert done.returncode == 0, (command, lines[-20:])
        elif shown:
            assert shown == lines, command


def test_every_command_is_in_the_readme():
    from policygen.cli.main import COMMANDS

    named = set(re.findall(r"`([a-z-]+)`", README))

    assert set(COMMANDS) - named == set()
