"""Long runs: progress on a terminal, an interrupt at any point, several processes."""

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from policygen.cli.main import run

COMMAND = [sys.executable, "-m", "policygen", "verify", "suite.yaml"]


@pytest.fixture
def long(project):
    """Cases enough to be interrupted in."""
    suite = Path("suite.yaml").read_text()
    cases = "".join(
        f"  - {{name: case {number}, object: train, expect: {{matched: gpu}}}}\n" for number in range(4_000)
    )
    Path("suite.yaml").write_text(suite + cases)


def environment():
    return {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONPATH": str(Path(__file__).parents[2])}


def read_until(descriptor, text, seconds=30):
    """What a terminal showed until a text came."""
    shown = b""
    deadline = time.monotonic() + seconds
    while text not in shown and time.monotonic() < deadline:
        try:
            shown += os.read(descriptor, 65536)
        except OSError:
            break
    return shown


def test_progress_on_a_terminal_and_an_interrupt_in_the_middle(long):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(COMMAND, stderr=theirs, stdout=subprocess.PIPE, env=environment(), text=True)
    os.close(theirs)
    shown = read_until(ours, b"case 10")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    os.close(ours)

    assert b"ml on 1.36: case 1" in shown
    assert process.returncode == 130
    assert "pass  suite ml on 1.36: " in out
    assert "interrupted after" in out
    assert "0 failed so far" in out


@pytest.mark.parametrize("after", [0.0, 0.15, 0.6])
def test_an_interrupt_at_any_point_ends_without_a_traceback(long, after):
    process = subprocess.Popen(
        COMMAND, stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), text=True
    )
    time.sleep(0.15 + after)  # Python itself is up; from here on it is ours
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)

    assert process.returncode in (130, -signal.SIGINT), err
    assert "bug in policygen" not in err
    assert "interrupted" in out + err or "KeyboardInterrupt" in err


def test_an_interrupt_with_several_processes(project):
    cases = "".join(
        f"  - {{name: case {number}, object: train, expect: {{matched: gpu}}}}\n" for number in range(800)
    )
    for number in range(4):
        part = Path(f"part{number}")
        part.mkdir()
        for name in ("policy.yaml", "pods.yaml", "suite.yaml"):
            (part / name).write_text(Path(name).read_text() + (cases if name == "suite.yaml" else ""))
    command = [*COMMAND[:-1], *(f"part{number}" for number in range(4)), "--jobs", "2"]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command, stderr=theirs, stdout=subprocess.PIPE, env=environment(), text=True, start_new_session=True
    )
    os.close(theirs)
    read_until(ours, b"0 of 4 done")
    os.killpg(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    os.close(ours)

    assert process.returncode == 130
    assert "interrupted after" in out


def test_nothing_is_shown_where_there_is_no_terminal(project):
    done = subprocess.run(COMMAND, capture_output=True, env=environment(), text=True, check=False)

    assert done.returncode == 0
    assert done.stderr == ""
    assert "\x1b" not in done.stdout


def test_colour_on_a_terminal_only(project):
    Path("suite.yaml").write_text(Path("suite.yaml").read_text().replace("matched: gpu", "matched: []"))
    ours, theirs = pty.openpty()
    process = subprocess.Popen([*COMMAND, "--suites-only"], stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    shown = read_until(ours, b"1 failed")
    process.wait(timeout=60)
    os.close(ours)

    assert b"\x1b[31;1merror[case-failed]" in shown


def test_several_processes_say_the_same_in_the_same_order(project, capsys):
    suite = (
        Path("suite.yaml").read_text().replace("policies:", 'kubernetes: ["1.34", "1.35", "1.36"]\npolicies:')
    )
    Path("suite.yaml").write_text(suite.replace("matched: gpu", "matched: []"))
    answers = []
    for jobs in ("1", "3"):
        assert run(["verify", ".", "--jobs", jobs, "-o", "text"]) == 1
        answers.append(capsys.readouterr().out)

    assert answers[0] == answers[1]
    assert answers[0].count("has matched, which is not expected") == 1
    assert "= note: on Kubernetes 1.34, 1.35, 1.36" in answers[0]
