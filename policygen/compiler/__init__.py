"""The user's spec -> manifests. Pydantic and the YAML reader are loaded when something is compiled.

- `load(paths)` gives the checked model of one spec, which may stand in several files;
- `compile_spec(paths)` gives its bundle: manifests in order, warnings, and the trace from each part of a
  manifest to the value of the spec that asked for it;
- `compile_text(text, name)` does the same for a text.

All raise `PolicygenError` with everything that is wrong.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from policygen.diagnostics import Diagnostics

if TYPE_CHECKING:
    from policygen.compiler.bundle import Bundle
    from policygen.compiler.model import Model


def load(paths: Sequence[Path], *, kubernetes: str | None = None) -> Model:
    """The model of the spec in some files."""
    from policygen.compiler.compile import load_model

    return load_model(paths, Diagnostics(), kubernetes)


def compile_spec(paths: Sequence[Path], *, kubernetes: str | None = None) -> Bundle:
    """The bundle of the spec in some files; `kubernetes` overrides the version that it is for."""
    from policygen.compiler.compile import compile_model, load_model

    found = Diagnostics()
    return compile_model(load_model(paths, found, kubernetes), found)


def compile_text(text: str, name: str = "spec.yaml") -> Bundle:
    """The bundle of a spec that stands in a text."""
    from policygen.compiler.compile import compile_model, load_text

    found = Diagnostics()
    return compile_model(load_text(text, name, found), found)
