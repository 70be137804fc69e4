"""Agreement with recorded vectors as a table, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from policygen.conformance.known import KNOWN_DIFFERENCES
from policygen.conformance.runner import Difference, FileReport, Tally

_LONGEST = 2000


def render(reports: Sequence[FileReport], show: int) -> str:
    """One table per file, then its first differences."""
    return "\n".join("\n".join(_file(report, show)) + "\n" for report in reports)


def render_json(reports: Iterable[FileReport]) -> str:
    """Counts per file, and the cases whose outcome differs."""
    files = {
        report.name: {
            "total": report.tally.total,
            "outcome": report.tally.outcome,
            "message": report.tally.message,
            "cost": report.tally.cost,
            "failures": report.failures,
        }
        for report in reports
    }
    return json.dumps({"files": files}, indent=1) + "\n"


def _file(report: FileReport, show: int) -> Iterator[str]:
    width = max((len(name) for name in (*report.categories, report.name)), default=0)
    yield f"{report.name:{width}}  {'total':>7} {'outcome':>8} {'message':>8} {'cost':>8}"
    yield _row("all", report.tally, width)
    for name in sorted(report.categories):
        yield _row(name, report.categories[name], width)
    explained = Counter(item.agreement.reason for item in report.differences if item.agreement.reason)
    for reason, count in explained.most_common():
        yield f"{count} differ because {reason}"
    differences = [item for item in report.differences if not item.agreement.reason]
    for difference in differences[:show]:
        yield from _difference(difference)
    hidden = len(differences) - show
    if show and hidden > 0:
        yield f"… and {hidden} more"
    for case in report.outdated:
        yield f"{case}: agrees, and must be taken off the list of known differences"


def _row(name: str, tally: Tally, width: int) -> str:
    parts = (_share(count, tally.total) for count in (tally.outcome, tally.message, tally.cost))
    return f"{name:{width}}  {tally.total:>7} {' '.join(parts)}"


def _share(count: int, total: int) -> str:
    """Percent, never rounded up to 100."""
    if not total:
        return f"{'-':>8}"
    return f"{int(count * 1000 / total) / 10:>7.1f}%"


def _difference(difference: Difference) -> Iterator[str]:
    agreement = difference.agreement
    what = "cost" if agreement.message else "message" if agreement.outcome else "outcome"
    known = agreement.reason or KNOWN_DIFFERENCES.get(difference.id)
    yield f"{what} of {difference.id}{f' (known: {known})' if known else ''}"
    if difference.text:
        yield f"  {_short(difference.text)}"
    yield f"  expected {_short(agreement.expected)}"
    yield f"  got      {_short(agreement.got)}"


def _short(text: str) -> str:
    text = text.replace("\n", "\n           ")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
