"""Standard streams that are closed, full or left early end a command in order."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = f"{sys.executable} -m policygen"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("PROGRAM eval 1 >/dev/full", 2, "cannot write the output: no space left on device\n"),
        ("PROGRAM eval 1 >&-", 0, ""),
        ("PROGRAM eval 1/ 2>&-", 2, ""),
        ("PROGRAM run -f - <&-", 2, "error[no-objects]"),
        ("PROGRAM devices inventory --profile dgx-h100 --nodes 40 | head -1 >/dev/null", 0, ""),
    ],
)
def test_streams(line: str, code: int, said: str) -> None:
    done = subprocess.run(
        ["/bin/bash", "-o", "pipefail", "-c", line.replace("PROGRAM", PROGRAM)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == code
    assert said in done.stderr if said else done.stderr == ""
    assert "Traceback" not in done.stderr
