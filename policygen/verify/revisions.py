"""Files of a git revision, read with git itself and without touching the working tree.

Only what policygen reads is taken out: YAML and JSON files. They are written to a temporary folder under the
same relative paths, so that suites find the fixtures they name.
"""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from shutil import which
from typing import Final

from policygen.diagnostics import fail

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_LARGEST: Final = 64 * 1024 * 1024
_REGULAR: Final = (b"100644", b"100755")


@dataclass(frozen=True, slots=True)
class Revision:
    """A path in a revision: `main:policies/ml`."""

    name: str
    path: str
    """Relative to the top of the repository."""

    def __str__(self) -> str:
        return f"{self.name}:{self.path}"


def parse(text: str) -> Revision | None:
    """`REV:path` as git writes it, `REV:./path` from the current folder; None for a plain path."""
    name, colon, path = text.partition(":")
    if not colon or not name or Path(text).exists():
        return None
    if path.startswith(("./", "../")) or path in (".", ".."):
        return Revision(name, from_here(path))
    return Revision(name, str(PurePosixPath(path or ".")))


def from_here(path: str) -> str:
    """A path of the current folder, from the top of the repository."""
    top = _top()
    try:
        return (Path.cwd() / path).resolve().relative_to(top).as_posix()
    except ValueError:
        fail("git-outside", f"`{path}` is outside the repository `{top}`")


@contextmanager
def checked_out(name: str) -> Iterator[Path]:
    """A folder with the revision's files."""
    commit = _commit(name)
    with tempfile.TemporaryDirectory(prefix="policygen-") as folder:
        root = Path(folder).resolve()
        _write(root, _listed(commit))
        yield root


def _top() -> Path:
    return Path(_git(["rev-parse", "--show-toplevel"]).decode().rstrip("\n")).resolve()


def _commit(name: str) -> str:
    if name.startswith("-"):
        fail("unknown-revision", f"`{name}` is not a revision")
    done = _run(["rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"])
    if done.returncode != 0:
        _top()
        fail(
            "unknown-revision",
            f"git knows no revision `{name}`",
            help=["name a branch, a tag or a commit; in a shallow clone fetch it first"],
        )
    return done.stdout.decode().strip()


def _listed(commit: str) -> list[tuple[str, PurePosixPath]]:
    """Blob and path of each file that may be read."""
    found = []
    top = str(_top())
    for line in _git(["-C", top, "ls-tree", "-r", "-z", "-l", "--full-tree", commit]).split(b"\0"):
        head, _, name = line.partition(b"\t")
        parts = head.split()
        if len(parts) != 4 or parts[0] not in _REGULAR or int(parts[3]) > _LARGEST:
            continue
        try:
            path = PurePosixPath(name.decode())
        except UnicodeDecodeError:
            continue
        if path.suffix in _SUFFIXES:
            found.append((parts[2].decode(), path))
    return found


def _write(root: Path, files: Sequence[tuple[str, PurePosixPath]]) -> None:
    wanted = "".join(f"{blob}\n" for blob, _ in files).encode()
    data = _git(["cat-file", "--batch"], wanted)
    at = 0
    for blob, path in files:
        end = data.index(b"\n", at)
        got, _, size = data[at:end].decode().split()
        assert got == blob, "git answers in the order of the questions"
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data[end + 1 : end + 1 + int(size)])
        at = end + 1 + int(size) + 1


def _git(arguments: Sequence[str], given: bytes = b"") -> bytes:
    done = _run(arguments, given)
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().removeprefix("fatal: ")
        fail("git-failed", f"git cannot tell: {said.splitlines()[0] if said else 'no reason is given'}")
    return done.stdout


def _run(arguments: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    git = which("git")
    if git is None:
        fail("git-failed", "git is not installed, so revisions cannot be read")
    return subprocess.run([git, *arguments], input=given, capture_output=True, check=False)
