"""A verification report for people: failures first, then one line per suite and property."""

from __future__ import annotations

from dataclasses import replace

from policygen.diagnostics import Diagnostic
from policygen.render import full
from policygen.verify.expect import show_changes
from policygen.verify.report import CaseResult, PropertyResult, Report, Update, rank


def render(report: Report, *, color: bool = False) -> str:
    """The whole report."""
    found = [*report.diagnostics, *_failures(report)]
    shown = [item for item in found if item.severity != "note"]
    parts = [full.render(shown, color=color)] if shown else []
    if len(found) > len(shown):
        parts.append(f"notes: {len(found) - len(shown)} (`-o concise` shows them)\n")
    parts += [_update(update, color) for update in report.updates]
    parts.append("".join(_suite_lines(report.cases)) + "".join(_property_lines(report.properties)))
    parts.append(_closing(report))
    return "\n".join(part for part in parts if part)


def _failures(report: Report) -> list[Diagnostic]:
    """Each failure once; where several versions were tried, with those on which it shows."""
    versions: dict[Diagnostic, list[str]] = {}
    results = [(result.version, result.findings) for result in report.cases]
    results += [(result.version, result.findings) for result in report.properties]
    for version, findings in results:
        for finding in findings:
            if finding.diagnostic in report.diagnostics:
                continue
            shown_on = versions.setdefault(finding.diagnostic, [])
            if version not in shown_on:
                shown_on.append(version)
    tried = {version for version, _ in results}
    ordered = sorted(versions, key=rank)
    if len(tried) < 2:
        return ordered
    return [
        replace(item, notes=(*item.notes, f"on Kubernetes {', '.join(versions[item])}")) for item in ordered
    ]


def _update(update: Update, color: bool) -> str:
    """What was written: each change by path, or the whole text of a new golden."""
    if update.is_new:
        head, lines = f"wrote {update.path} (new)", [f"+ {line}" for line in update.text.splitlines()]
    else:
        head, lines = f"wrote {update.path}", show_changes(update.changes, limit=200).splitlines()
    shown = [f"  {_painted(line, color)}\n" for line in lines]
    return f"{head}\n{''.join(shown)}"


def _painted(line: str, color: bool) -> str:
    code = {"+": "32", "-": "31"}.get(line[:1])
    return f"\x1b[{code}m{line}\x1b[0m" if color and code else line


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
    tried = f"{_count(cases, 'case', 'cases')} and {_count(properties, 'property', 'properties')}"
    if report.interrupted:
        return f"interrupted after {tried}; {failed} failed so far\n"
    if not cases and not properties:
        return "nothing was verified\n"
    if failed == 0 and not report.passed:
        return f"{tried}: the input has errors\n"
    return f"{tried}: {'verified' if report.passed else f'{failed} failed'}\n"


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"
