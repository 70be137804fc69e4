"""A verification report as JUnit XML: a suite per suite file and version, and one for the properties."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape, quoteattr

from policygen.diagnostics import Diagnostic
from policygen.render import concise, full
from policygen.verify.report import CaseResult, Finding, PropertyResult, Report

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def render(report: Report) -> str:
    """The report as XML that JUnit readers accept."""
    suites = [_cases(name, results) for name, results in _grouped(report.cases).items()]
    by_version: dict[str, list[PropertyResult]] = {}
    for result in report.properties:
        by_version.setdefault(result.version, []).append(result)
    suites += [_properties(version, results) for version, results in by_version.items()]
    faults = [item for item in report.diagnostics if item.severity == "error"]
    if faults:
        suites.append(_input(faults))
    body = "".join(suites)
    tried = len(report.cases) + len(report.properties) + len(faults)
    failed = len(faults) + sum(item.status == "failed" for item in report.cases)
    failed += sum(item.status == "failed" for item in report.properties)
    seconds = sum(item.seconds for item in report.cases) + sum(item.seconds for item in report.properties)
    counts = f'tests="{tried}" failures="{failed}" errors="0" time="{seconds:.3f}"'
    head = f'<testsuites name="policygen verify" {counts}>'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{head}\n{body}</testsuites>\n'


def _grouped(cases: Sequence[CaseResult]) -> dict[str, list[CaseResult]]:
    found: dict[str, list[CaseResult]] = {}
    for case in cases:
        found.setdefault(f"{case.suite} (Kubernetes {case.version})", []).append(case)
    return found


def _cases(name: str, results: Sequence[CaseResult]) -> str:
    items = [
        _case(result.suite, result.case, result.seconds, _failures(result.findings), result.span.source.name)
        for result in results
    ]
    failed = sum(result.status == "failed" for result in results)
    return _suite(name, items, failed, 0, sum(result.seconds for result in results))


def _properties(version: str, results: Sequence[PropertyResult]) -> str:
    items = []
    for result in results:
        errors = [item for item in result.findings if item.diagnostic.severity == "error"]
        inner = (
            f"      <skipped message={_attribute(result.skipped)}/>\n" if result.status == "skipped" else ""
        )
        items.append(_case("properties", result.name, result.seconds, inner + _failures(errors)))
    failed = sum(result.status == "failed" for result in results)
    skipped = sum(result.status == "skipped" for result in results)
    seconds = sum(result.seconds for result in results)
    return _suite(f"properties (Kubernetes {version})", items, failed, skipped, seconds)


def _input(faults: Sequence[Diagnostic]) -> str:
    items = [_case("input", item.code, 0, _failures([Finding(item)])) for item in faults]
    return _suite("input", items, len(faults), 0, 0)


def _suite(name: str, items: Sequence[str], failed: int, skipped: int, seconds: float) -> str:
    counts = f'tests="{len(items)}" failures="{failed}" errors="0" skipped="{skipped}" time="{seconds:.3f}"'
    return f"  <testsuite name={_attribute(name)} {counts}>\n{''.join(items)}  </testsuite>\n"


def _case(group: str, name: str, seconds: float, inner: str, file: str = "") -> str:
    head = f'    <testcase classname={_attribute(group)} name={_attribute(name)} time="{seconds:.3f}"'
    if file:
        head += f" file={_attribute(file)}"
    return f"{head}>\n{inner}    </testcase>\n" if inner else f"{head}/>\n"


def _failures(findings: Iterable[Finding]) -> str:
    """One element a case, as the format has it: the first finding names it, the text holds them all."""
    items = [finding.diagnostic for finding in findings]
    if not items:
        return ""
    message = concise.render(items[:1]).strip()
    text = escape(_clean(full.render(items)))
    return f"      <failure type={_attribute(items[0].code)} message={_attribute(message)}>{text}</failure>\n"


def _attribute(text: str) -> str:
    return quoteattr(_clean(text), {"\n": "&#10;", "\t": "&#9;", "\r": "&#13;"})


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)
