"""What `-p` means: specs, which are compiled here, and manifests, in files and folders.

A folder stands for its specs and the manifests beside them; what `build` wrote is left out where its spec is
read, and so are suites and kustomizations. A folder without policies stands for those in it that have some.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from policygen.admission.policy import POLICY_KINDS
from policygen.compiler.recognise import is_spec_file, peek
from policygen.diagnostics import Diagnostics, PolicygenError
from policygen.kube import reader

_MAX_DEPTH: Final = 2
_POLICY_LINE: Final = re.compile(
    rf"""^(?:kind|\{{?\s{{0,4}}"kind"):\s*["']?(?:{"|".join(POLICY_KINDS)})\b""", re.MULTILINE
)
"""The kind of a policy in YAML, or in JSON that is indented as usual."""
_KUSTOMIZATIONS: Final = ("kustomization.yaml", "kustomization.yml")
_OWN_GROUP: Final = "policygen.dev/"


@dataclass(slots=True)
class Loaded:
    """Objects to store, and the Kubernetes versions that the specs among them are for."""

    objects: list[dict[str, Any]] = field(default_factory=list)
    versions: set[str] = field(default_factory=set)


def load(paths: Sequence[Path], found: Diagnostics, *, version: str | None) -> Loaded:
    """The objects of all paths; specs are compiled for `version`, or for the one they name.

    Finding neither a spec nor a policy is an error: whatever was judged by such an input would pass.
    """
    loaded = Loaded()
    for folder in _folders(paths, found):
        objects = _read(folder.manifests, found)
        if folder.specs:
            loaded.objects += _compile(folder.specs, version, loaded, found)
            objects = (obj for obj in objects if not _is_built(obj))
        loaded.objects += objects
    is_empty = not loaded.versions and not any(obj["kind"] in POLICY_KINDS for obj in loaded.objects)
    if paths and is_empty and not found.has_errors:
        listed = ", ".join(f"`{path}`" for path in paths)
        found.error(
            "no-policies",
            f"there is no policy in {listed}",
            help=("give a spec, or manifests with a MutatingAdmissionPolicy or ValidatingAdmissionPolicy",),
        )
    return loaded


def specs_in(path: Path) -> list[Path]:
    """The specs that a file is, or that a folder itself holds."""
    if path.is_dir():
        return _inside(path).specs
    return [path] if is_spec_file(path) else []


@dataclass(slots=True)
class _Folder:
    specs: list[Path] = field(default_factory=list)
    manifests: list[Path] = field(default_factory=list)


def _folders(paths: Sequence[Path], found: Diagnostics) -> Iterator[_Folder]:
    """Specs that stand in one folder are one spec; files that are named count whatever they are called."""
    named: dict[Path, _Folder] = {}
    for path in paths:
        if path.is_dir():
            yield from _folder(path, found)
        elif is_spec_file(path):
            named.setdefault(path.parent, _Folder()).specs.append(path)
        else:
            yield _Folder(manifests=[path])
    yield from named.values()


def _folder(root: Path, found: Diagnostics) -> Iterator[_Folder]:
    """A folder itself when it has policies, or else those in it that have."""
    own = _inside(root)
    if _has_policies(own):
        yield own
        return
    below = list(_search(root, _MAX_DEPTH))
    yield from below
    if not below:
        yield own
        if not own.manifests:
            found.error("no-policies", f"there is no policy in `{root}` or in the folders in it")


def _inside(folder: Path) -> _Folder:
    """The files of a folder itself. Beside a spec may lie YAML files that are no manifests."""
    inside = _Folder()
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return inside
    for entry in entries:
        if entry.suffix in reader.SUFFIXES and entry.is_file() and not is_no_object(entry):
            (inside.specs if is_spec_file(entry) else inside.manifests).append(entry)
    if inside.specs:
        inside.manifests = [path for path in inside.manifests if "apiVersion" in peek(path)]
    return inside


def _has_policies(folder: _Folder) -> bool:
    return bool(folder.specs) or any(_POLICY_LINE.search(peek(path)) for path in folder.manifests)


def _search(folder: Path, depth: int) -> Iterator[_Folder]:
    try:
        below = [entry for entry in sorted(folder.iterdir()) if entry.is_dir() and not entry.is_symlink()]
    except OSError:
        return
    for entry in below:
        if entry.name.startswith("."):
            continue
        inside = _inside(entry)
        if _has_policies(inside):
            yield inside
        elif depth > 1:
            yield from _search(entry, depth - 1)


def is_no_object(path: Path) -> bool:
    """Whether a file is a suite or a kustomization by its name, or the JSON Schema of something."""
    is_suite = path.stem == "suite" or path.stem.endswith(".suite")
    return path.name in _KUSTOMIZATIONS or is_suite or reader.is_json_schema(path)


def _read(paths: Iterable[Path], found: Diagnostics) -> Iterator[dict[str, Any]]:
    """The objects of manifests, without this program's own kinds, such as suites."""
    for document in reader.read_paths(paths, found):
        if not document.value["apiVersion"].startswith(_OWN_GROUP):
            yield document.value


def _compile(
    specs: Sequence[Path], version: str | None, loaded: Loaded, found: Diagnostics
) -> list[dict[str, Any]]:
    from policygen.compiler import compile_spec

    try:
        bundle = compile_spec(specs, kubernetes=version)
    except PolicygenError as error:
        found.extend(error.diagnostics)
        return []
    found.extend(bundle.diagnostics)
    loaded.versions.add(bundle.kubernetes)
    return bundle.objects()


def _is_built(obj: dict[str, Any]) -> bool:
    """Whether an object was written by `build`."""
    from policygen.compiler.bundle import MANAGED_BY

    metadata = obj.get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return isinstance(labels, dict) and labels.get(MANAGED_BY) == "policygen"
