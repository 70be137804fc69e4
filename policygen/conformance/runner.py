"""Runs files of recorded vectors and counts where we agree with what was recorded.

Contract for an operation: a module `policygen.conformance.ops.<op>` (dashes become underscores) with

    def judge(case: Mapping[str, Any], contexts: Mapping[str, Any]) -> Agreement

`case` is one line of a vector file; `contexts` is the `contexts.json` beside the file, or empty. `judge` runs
the case and compares; it raises for nothing that a case can contain. A line without `op` is a case of the
public CEL suites (`cel_spec`).
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, TypeAlias

from policygen.conformance.known import KNOWN_DIFFERENCES
from policygen.diagnostics import fail

DIRECTORY: Final = "$directory"
"""Among the contexts: the folder of the vectors, for cases that name files."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How one case came out. `message` and `cost` are true only where `outcome` is."""

    outcome: bool
    message: bool
    cost: bool
    expected: str = ""
    got: str = ""
    reason: str = ""
    """Why a difference is right: the recording speaks of something that the API server does not have."""

    @property
    def full(self) -> bool:
        """Whether nothing differs."""
        return self.outcome and self.message and self.cost


Judge: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], Agreement]


@dataclass(slots=True)
class Tally:
    """Counts over some cases."""

    total: int = 0
    outcome: int = 0
    message: int = 0
    cost: int = 0

    def add(self, agreement: Agreement) -> None:
        """Count one case."""
        self.total += 1
        self.outcome += agreement.outcome
        self.message += agreement.message
        self.cost += agreement.cost


@dataclass(frozen=True, slots=True)
class Difference:
    """A case that does not agree fully."""

    id: str
    agreement: Agreement
    text: str
    """The expression, or whatever names the input best."""


@dataclass(slots=True)
class FileReport:
    """What one file came to."""

    name: str
    tally: Tally = field(default_factory=Tally)
    categories: dict[str, Tally] = field(default_factory=dict)
    differences: list[Difference] = field(default_factory=list)
    outdated: list[str] = field(default_factory=list)
    """Cases on the list of known differences that agree after all."""

    @property
    def failures(self) -> list[str]:
        """The cases whose outcome differs."""
        return [difference.id for difference in self.differences if not difference.agreement.outcome]

    @property
    def unexpected(self) -> list[str]:
        """Those of them that are not known, and the known ones that are no more."""
        explained = {item.id for item in self.differences if item.agreement.reason}
        return [
            case for case in self.failures if case not in KNOWN_DIFFERENCES and case not in explained
        ] + self.outdated

    def add(self, case: Mapping[str, Any], agreement: Agreement) -> None:
        """Count one case."""
        name = str(case.get("id", ""))
        self.tally.add(agreement)
        self.categories.setdefault(category(name), Tally()).add(agreement)
        if not agreement.full:
            text = case.get("expr")
            self.differences.append(Difference(name, agreement, text if isinstance(text, str) else ""))
        if agreement.outcome and name in KNOWN_DIFFERENCES:
            self.outdated.append(name)


def category(name: str) -> str:
    """What kind of case an id belongs to: the part before the first number, the suite, or the feature."""
    if "|" in name:
        return name.split("|")[1]
    if "/" in name:
        return name.split("/", maxsplit=1)[0]
    parts = name.split("-")
    number = next((at for at, part in enumerate(parts) if at and part.isdecimal()), 1)
    return "-".join(parts[:number])


def run_file(path: Path) -> FileReport:
    """Judge every line of a vector file."""
    report = FileReport(path.name)
    contexts = _contexts(path)
    judges: dict[str, Judge] = {}
    for case in read_cases(path):
        operation = str(case.get("op", "cel_spec"))
        if operation not in judges:
            judges[operation] = _judge(operation, path)
        try:
            agreement = judges[operation](case, contexts)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            found = f"`{path}`: the case `{case.get('id', '')}` is not one of the operation `{operation}`"
            fail("invalid-vectors", found, notes=(_lack(error),))
        report.add(case, agreement)
    return report


def _lack(error: Exception) -> str:
    if isinstance(error, KeyError) and error.args:
        return f"`{error.args[0]}` is missing"
    return "one of its values is of another kind than the operation needs"


def read_cases(path: Path) -> Iterator[Mapping[str, Any]]:
    """The lines of a file, plain or gzipped."""
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        try:
            case = json.loads(line)
        except (ValueError, RecursionError):
            fail("invalid-vectors", f"`{path}` line {number} is not JSON")
        if not isinstance(case, dict):
            fail("invalid-vectors", f"`{path}` line {number} is not an object")
        yield case


def _lines(path: Path) -> Iterable[str]:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        return data.decode().split("\n")  # texts hold other line ends, which are no ends of lines
    except OSError as error:
        fail("unreadable-file", f"cannot read `{path}`: {error.strerror or error}")
    except (EOFError, zlib.error, UnicodeDecodeError):
        fail("invalid-vectors", f"`{path}` is neither text in UTF-8 nor a gzip file")


def _contexts(path: Path) -> Mapping[str, Any]:
    return {**_named_contexts(path), DIRECTORY: str(path.parent)}


def _named_contexts(path: Path) -> Mapping[str, Any]:
    beside = path.parent / "contexts.json"
    if not beside.is_file():
        return {}
    try:
        found = json.loads(beside.read_text(encoding="utf-8"))
    except ValueError:
        fail("invalid-vectors", f"`{beside}` is not JSON")
    return found if isinstance(found, dict) else {}


def _judge(operation: str, path: Path) -> Judge:
    name = operation.replace("-", "_")
    module = f"policygen.conformance.ops.{name}"
    if not name.isidentifier() or find_spec(module) is None:
        fail("unknown-operation", f"`{path}` asks for the operation `{operation}`, which is not known")
    judge: Judge = import_module(module).judge
    return judge
