"""What verification found: results of cases and properties, as data. Rendering is in `policygen.render`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from policygen.diagnostics import Diagnostic, Span
from policygen.merge.diff import Change

Status: TypeAlias = Literal["passed", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One failure. The diagnostic says all that a person needs; the rest is for programs."""

    diagnostic: Diagnostic
    policy: str = ""
    example: Mapping[str, Any] | None = None
    """The smallest object that shows it."""
    changes: tuple[Change, ...] = ()
    """The difference by path, where two results are compared."""


_ROOTS: Final = ("verify-not-accepted", "verify-undefined-field", "verify-policy-fails")
"""What other failures follow from."""


def rank(diagnostic: Diagnostic) -> int:
    """The place of a failure in a report: causes before what follows from them."""
    if diagnostic.code in _ROOTS:
        return _ROOTS.index(diagnostic.code)
    return len(_ROOTS) + diagnostic.code.startswith("verify-")


@dataclass(frozen=True, slots=True)
class CaseResult:
    """How one case ended on one Kubernetes version."""

    suite: str
    case: str
    version: str
    span: Span = field(compare=False, repr=False)
    findings: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def status(self) -> Status:
        """A case with a finding has failed."""
        return "failed" if self.findings else "passed"


@dataclass(frozen=True, slots=True)
class PropertyResult:
    """How one property ended on one Kubernetes version. `checked` counts what was tried."""

    name: str
    version: str
    checked: int
    findings: tuple[Finding, ...] = ()
    seconds: float = field(default=0.0, compare=False)
    skipped: str = ""
    """Why it could not be checked, such as a bundle without a claim; empty when it was."""

    @property
    def status(self) -> Status | Literal["skipped"]:
        """Warnings alone do not fail a property."""
        if any(finding.diagnostic.severity == "error" for finding in self.findings):
            return "failed"
        return "skipped" if self.skipped else "passed"


@dataclass(frozen=True, slots=True)
class Update:
    """A golden that was written."""

    path: Path
    is_new: bool
    changes: tuple[Change, ...]
    """From what it held before; empty for a new one."""
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that a run found."""

    cases: tuple[CaseResult, ...] = ()
    properties: tuple[PropertyResult, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    """Faults of the input itself: specs, manifests, suites."""
    interrupted: bool = False
    updates: tuple[Update, ...] = ()
    """Goldens that were written."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Root causes first: `rank` says which those are; then the cases, then the other properties."""
        of_cases = [finding for case in self.cases for finding in case.findings]
        found = (*of_cases, *(finding for found in self.properties for finding in found.findings))
        return tuple(sorted(found, key=lambda finding: rank(finding.diagnostic)))

    @property
    def passed(self) -> bool:
        """Whether nothing failed, the input was sound, and something was tried at all."""
        faults = any(item.severity == "error" for item in self.diagnostics)
        failed = any(case.status == "failed" for case in self.cases)
        failed = failed or any(found.status == "failed" for found in self.properties)
        return bool(self.cases or self.properties) and not (faults or failed or self.interrupted)
