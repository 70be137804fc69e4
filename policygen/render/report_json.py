"""A verification report as JSON: a stable form for programs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from policygen.merge.diff import Change
from policygen.render.json import to_json
from policygen.verify.report import Finding, Report


def render(report: Report) -> str:
    """`{passed, interrupted, diagnostics, updates, cases, properties}`."""
    data = {
        "passed": report.passed,
        "interrupted": report.interrupted,
        "diagnostics": [to_json(item) for item in report.diagnostics],
        "updates": [
            {"path": str(update.path), "new": update.is_new, "changes": _changes(update.changes)}
            for update in report.updates
        ],
        "cases": [
            {
                "suite": case.suite,
                "case": case.case,
                "kubernetes": case.version,
                "status": case.status,
                "seconds": round(case.seconds, 6),
                "findings": _findings(case.findings),
            }
            for case in report.cases
        ],
        "properties": [
            {
                "property": result.name,
                "kubernetes": result.version,
                "status": result.status,
                "checked": result.checked,
                "skipped": result.skipped,
                "seconds": round(result.seconds, 6),
                "findings": _findings(result.findings),
            }
            for result in report.properties
        ],
    }
    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"


def _changes(changes: Iterable[Change]) -> list[dict[str, Any]]:
    return [
        {
            "op": change.op,
            "path": change.path,
            **({} if change.op == "add" else {"before": change.before}),
            **({} if change.op == "remove" else {"after": change.after}),
        }
        for change in changes
    ]


def _findings(findings: Iterable[Finding]) -> list[dict[str, Any]]:
    return [
        {
            **to_json(finding.diagnostic),
            "policy": finding.policy,
            "example": finding.example,
            "changes": _changes(finding.changes),
        }
        for finding in findings
    ]
