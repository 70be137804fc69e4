"""A bundle on disk: one file an object and a `kustomization.yaml`, written all together or not at all.

Everything is first written into a temporary directory beside the target, then renamed file by file. Only
files that begin with the header are ever replaced or removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from policygen.compiler.bundle import Bundle
from policygen.diagnostics import fail
from policygen.kube.manifest import write, write_all

HEADER = "# Built by policygen"
KUSTOMIZATION = "kustomization.yaml"


@dataclass(frozen=True, slots=True)
class Difference:
    """A file on disk that is not as the spec says."""

    path: Path
    how: str
    """`missing`, `differs` or `stale`."""


def render_files(bundle: Bundle) -> dict[str, str]:
    """File name -> content, in the order of the bundle, the kustomization last."""
    header = f"{HEADER} from the spec `{bundle.name}`: change that instead.\n"
    files = {item.file_name: header + write(item.object) for item in bundle.manifests}
    assert len(files) == len(bundle.manifests), "kind, namespace and name make a file name unique"
    resources = "".join(f"- {name}\n" for name in files) or "[]\n"
    files[KUSTOMIZATION] = (
        f"{header}apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
        f"resources:{chr(10) if bundle.manifests else ' '}{resources}"
    )
    return files


def render_stream(bundle: Bundle) -> str:
    """All objects as one YAML stream."""
    return write_all(bundle.objects())


def compare(directory: Path, files: Mapping[str, str]) -> list[Difference]:
    """How a directory differs from what it should hold."""
    found = []
    for name, content in files.items():
        path = directory / name
        present = _read(path)
        if present is None:
            found.append(Difference(path, "missing"))
        elif present != content:
            found.append(Difference(path, "differs"))
    found += [Difference(path, "stale") for path in _stale(directory, files)]
    return found


def write_files(directory: Path, files: Mapping[str, str]) -> bool:
    """Make a directory hold these files; whether anything changed."""
    if directory.exists() and not directory.is_dir():
        fail(
            "unwritable-output",
            f"`{directory}` is no directory, and is left alone",
            help=["name a directory with `-o`, or `-` for a stream"],
        )
    changed = {item.path.name for item in compare(directory, files) if item.how != "stale"}
    stale = _stale(directory, files)
    if not changed and not stale:
        return False
    _refuse_other_spec(directory, files)
    for name in changed:
        _refuse_foreign(directory / name)
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".policygen-", dir=directory) as staging:
            for name in changed:
                (Path(staging) / name).write_text(files[name], encoding="utf-8", newline="\n")
            for name in sorted(changed, key=lambda name: name == KUSTOMIZATION):
                (Path(staging) / name).replace(directory / name)
        for path in stale:
            path.unlink(missing_ok=True)
    except OSError as error:
        where = error.filename or directory
        fail(
            "unwritable-output",
            f"cannot write `{directory}`: {(error.strerror or str(error)).lower()}",
            notes=[f"at `{where}`"] if str(where) != str(directory) else [],
        )
    return True


def _refuse_other_spec(directory: Path, files: Mapping[str, str]) -> None:
    """The files of another spec would all be stale."""
    present = (_read(directory / KUSTOMIZATION) or "").partition("\n")[0]
    if present.startswith(HEADER) and present != files[KUSTOMIZATION].partition("\n")[0]:
        other = present.split("`")[1:2]
        fail(
            "foreign-file",
            f"`{directory}` holds the bundle of the spec `{''.join(other)}`, and is left alone",
            help=["build into another directory with `-o`, or remove this one if the spec has a new name"],
        )


def _refuse_foreign(path: Path) -> None:
    present = _read(path)
    if present is not None and not present.startswith(HEADER):
        fail(
            "foreign-file",
            f"`{path}` was not written by policygen, and is left alone",
            help=["move it, or build into another directory with `-o`"],
        )


def _stale(directory: Path, files: Mapping[str, str]) -> list[Path]:
    """Files of an earlier build that the bundle no longer has."""
    if not directory.is_dir():
        return []
    return [
        path
        for path in sorted(directory.glob("*.yaml"))
        if path.name not in files and path.is_file() and (_read(path) or "").startswith(HEADER)
    ]


def _read(path: Path) -> str | None:
    """The text of a file; None when there is none. What cannot be read as text is somebody else's."""
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        fail("unreadable-file", f"cannot read `{path}`: {(error.strerror or str(error)).lower()}")
