"""Where a suite's objects come from: files, folders, globs, or written in place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from policygen.diagnostics import Diagnostics, Span, suggestion
from policygen.kube import reader
from policygen.kube.reader import Document

_GLOB = frozenset("*?[")


def is_suite(path: Path) -> bool:
    """Whether a file is named as a suite: `suite.yaml` or `*.suite.yaml`."""
    return path.name == "suite.yaml" or path.name.endswith(".suite.yaml")


@dataclass(frozen=True, slots=True)
class Located:
    """A Kubernetes object and the place where it is written."""

    value: dict[str, Any]
    span: Span
    document: Document | None = field(default=None, compare=False, repr=False)
    """Where its parts stand, when it was read from a file of its own."""

    def at(self, path: Iterable[str | int]) -> Span:
        """The place of a part."""
        return self.span if self.document is None else self.document.span(path)

    @property
    def name(self) -> str:
        """Its `metadata.name`."""
        return str((self.value.get("metadata") or {}).get("name") or "")

    @property
    def title(self) -> str:
        """`Pod/trainer`."""
        return f"{self.value.get('kind')}/{self.name}"


def expand(text: str, base: Path, span: Span, found: Diagnostics) -> list[Path]:
    """The files and folders that a path or glob names, sorted; an error when there are none."""
    if "\0" in text:
        found.error("suite-missing-file", "a path cannot hold a NUL character", span)
        return []
    if _GLOB & set(text):
        paths = sorted(base.glob(text)) if not Path(text).is_absolute() else []
        if not paths:
            found.error("suite-missing-file", f"no file matches `{text}`", span, f"relative to `{base}`")
        return paths
    path = base / text
    if path.exists():
        return [path]
    siblings = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    near = suggestion(path.name, siblings)
    meant = str(Path(text).parent / near) if near else None
    found.error(
        "suite-missing-file",
        f"there is no file `{text}`",
        span,
        f"relative to `{base}`",
        help=[f"did you mean `{meant}`?"] if meant else [],
    )
    return []


def is_usable(value: dict[str, Any], span: Span, found: Diagnostics) -> bool:
    """Whether an object can be sent at all; one whose metadata is no map has no name to send it by."""
    metadata = value.get("metadata")
    if metadata is None or isinstance(metadata, dict):
        return True
    found.error(
        "metadata-not-a-map",
        f"the `metadata` of a {value.get('kind')} is not a map",
        span,
        help=["write `metadata: {name: …}`"],
    )
    return False


def objects(
    document: Document, path: tuple[str | int, ...], base: Path, found: Diagnostics
) -> Iterator[Located]:
    """The objects of one list of sources in a suite."""
    for entry, span in entries(document, path):
        if isinstance(entry, dict):
            if isinstance(entry.get("apiVersion"), str) and isinstance(entry.get("kind"), str):
                if is_usable(entry, span, found):
                    yield Located(entry, span)
            else:
                found.error("suite-value", "an object written in place needs `apiVersion` and `kind`", span)
            continue
        for file in expand(entry, base, span, found):
            for read in reader.read_paths([file], found):
                if is_usable(read.value, read.span(), found):
                    yield Located(read.value, read.span(), read)


def entries(document: Document, path: tuple[str | int, ...]) -> Iterator[tuple[str | dict[str, Any], Span]]:
    """The items of a list of sources, which may stand alone without the list."""
    value: Any = document.value
    for step in path:
        value = value.get(step) if isinstance(value, dict) else value[step]
    if value is None:
        return
    if not isinstance(value, list):
        yield value, document.span(path)
        return
    for index, item in enumerate(value):
        yield item, document.span((*path, index))


class Fixtures:
    """Objects by the names that cases use for them."""

    def __init__(self, located: Sequence[Located]) -> None:
        self.all = tuple(located)
        self._by_name: dict[str, list[Located]] = {}
        for item in located:
            namespace = (item.value.get("metadata") or {}).get("namespace")
            names = {item.name, item.title, f"{item.value.get('kind')}/{namespace}/{item.name}"}
            if namespace:
                names.add(f"{namespace}/{item.name}")
            for name in names:
                self._by_name.setdefault(name, []).append(item)

    def find(self, name: str, span: Span, found: Diagnostics) -> Located | None:
        """The one fixture of a name; an error when there is none or more than one."""
        candidates = self._by_name.get(name, [])
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            titles = sorted({item.title for item in candidates})
            found.error(
                "suite-ambiguous-fixture",
                f"{len(candidates)} fixtures are called `{name}`",
                span,
                help=[
                    "write `Kind/name` or `namespace/name`: " + ", ".join(f"`{title}`" for title in titles)
                ],
            )
            return None
        near = suggestion(name, self._by_name)
        known = sorted(item.name for item in self.all)
        found.error(
            "suite-missing-fixture",
            f"no fixture is called `{name}`",
            span,
            help=[f"did you mean `{near}`?"] if near else [f"fixtures: {', '.join(known[:12]) or 'none'}"],
        )
        return None
