"""A verification report for people: failures first, then one line per suite and property."""

from __future__ import annotations

from policygen.diagnostics import Diagnostic
from policygen.render import full
from policygen.verify.report import CaseResult, PropertyResult, Report


def render(report: Report, *, color: bool = False) -> str:
    """The whole report."""
    shown: list[Diagnostic] = [*report.diagnostics, *(finding.diagnostic for finding in report.findings)]
    parts = [full.render(shown, color=color)] if shown else []
    parts.append("".join(_suite_lines(report.cases)) + "".join(_property_lines(report.properties)))
    parts.append(_closing(report))
    return "\n".join(part for part in parts if part)


def _suite_lines(cases: tuple[CaseResult, ...]) -> list[str]:
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for case in cases:
        groups.setdefault((case.suite, case.version), []).append(case)
    lines = []
    for (suite, version), results in groups.items():
        failed = sum(result.status == "failed" for result in results)
        word = "FAIL" if failed else "pass"
        count = f"{len(results)} case" + ("" if len(results) == 1 else "s")
        tail = f", {failed} failed" if failed else ""
        lines.append(f"{word}  suite {suite} on {version}: {count}{tail}\n")
    return lines


def _property_lines(properties: tuple[PropertyResult, ...]) -> list[str]:
    width = max((len(result.name) for result in properties), default=0)
    lines = []
    for result in properties:
        word = {"failed": "FAIL", "passed": "pass", "skipped": "skip"}[result.status]
        tail = result.skipped or f"{result.checked} checked"
        lines.append(f"{word}  {result.name:<{width}}  {result.version}  {tail}\n")
    return lines


def _closing(report: Report) -> str:
    cases, properties = len(report.cases), len(report.properties)
    failed = sum(case.status == "failed" for case in report.cases)
    failed += sum(result.status == "failed" for result in report.properties)
    if report.interrupted:
        return f"interrupted after {cases} cases and {properties} properties; {failed} failed so far\n"
    if not cases and not properties:
        return "nothing was verified\n"
    verdict = "verified" if report.passed else f"{failed} failed"
    return f"{cases} cases and {properties} properties: {verdict}\n"
