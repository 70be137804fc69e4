"""A verification report as Markdown: a summary for a pull request."""

from __future__ import annotations

from policygen.render import full, markdown
from policygen.verify.report import Report


def render(report: Report) -> str:
    """The verdict, a table of suites and properties, and the failures folded away."""
    failed = sum(case.status == "failed" for case in report.cases)
    failed += sum(result.status == "failed" for result in report.properties)
    tried = f"{len(report.cases)} cases and {len(report.properties)} properties"
    verdict = f"{tried} verified" if report.passed else f"{failed} of {tried} failed"
    if report.interrupted:
        verdict += ", interrupted"
    out = [
        f"### policygen: {verdict}",
        "",
        markdown.table(("", "what", "Kubernetes", "tried"), _rows(report)),
        "",
    ]
    shown = [*report.diagnostics, *(finding.diagnostic for finding in report.findings)]
    for item in (each for each in shown if each.severity != "note"):
        text = full.render([item]).rpartition("\n\n")[0]
        out += [markdown.folded(f"{item.severity}: {item.message}", markdown.fenced(text)), ""]
    return "\n".join(out)


def _rows(report: Report) -> list[list[str]]:
    words = {"failed": "FAIL", "passed": "pass", "skipped": "skip"}
    suites: dict[tuple[str, str], list[bool]] = {}
    for case in report.cases:
        suites.setdefault((case.suite, case.version), []).append(case.status == "failed")
    rows = []
    for (suite, version), failures in suites.items():
        word, tried = words["failed" if any(failures) else "passed"], f"{len(failures)} cases"
        rows.append([word, f"suite {markdown.code(suite)}", version, tried])
    for result in report.properties:
        tried = result.skipped or f"{result.checked} checked"
        rows.append([words[result.status], result.name, result.version, markdown.escaped(tried)])
    return rows
