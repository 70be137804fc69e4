"""Paths on the command line -> specs, and where each one's bundle goes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from policygen.compiler.recognise import spec_files
from policygen.diagnostics import fail

OUTPUT = "manifests"
"""Where a bundle goes without `-o`: beside its spec."""


@dataclass(frozen=True, slots=True)
class Spec:
    """The files of one spec and the directory of its bundle."""

    files: tuple[Path, ...]
    output: Path


def find_specs(paths: Sequence[Path], output: Path | None) -> list[Spec]:
    """What there is to build. Files together are one spec; so is a directory that holds spec files.

    A directory without any holds directories with one spec each; their bundles go to `OUTPUT/<name>`.
    """
    files = [path for path in paths if not path.is_dir()]
    specs = []
    if files:
        specs.append(Spec(tuple(files), output or files[0].parent / OUTPUT))
    for path in paths:
        if path.is_dir():
            specs += _in_directory(path, output)
    _check_outputs(specs)
    return specs


def _in_directory(directory: Path, output: Path | None) -> list[Spec]:
    try:
        own = spec_files(directory)
        if own:
            return [Spec(tuple(own), output or directory / OUTPUT)]
        below = [(path, spec_files(path)) for path in sorted(directory.iterdir()) if path.is_dir()]
    except OSError as error:
        fail("unreadable-file", f"cannot read `{directory}`: {(error.strerror or str(error)).lower()}")
    found = [
        Spec(tuple(files), output / path.name if output else path / OUTPUT) for path, files in below if files
    ]
    if not found:
        fail(
            "no-spec",
            f"no spec in `{directory}` or in the directories in it",
            help=[
                "a spec is a YAML file with `apiVersion: policygen.dev/v1alpha1`; `policygen init` writes one"
            ],
        )
    return found


def _check_outputs(specs: Sequence[Spec]) -> None:
    seen: set[str] = set()
    for spec in specs:
        target = os.path.realpath(spec.output)  # which, unlike `resolve`, does not mind loops of links
        if target in seen:
            fail(
                "same-output",
                f"two specs would be built into `{spec.output}`",
                help=["build them one by one, or give each a directory of its own"],
            )
        seen.add(target)
