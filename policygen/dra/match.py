"""Which devices a selector, a class or a claim's request matches, and what decided about the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from policygen.dra.access import accesses, parse_selector
from policygen.dra.allocation import SelectorError
from policygen.dra.model import Device
from policygen.dra.selectors import SelectorMatcher

Verdict = Literal["yes", "no", "error"]


@dataclass(frozen=True, slots=True)
class DeviceVerdict:
    """A device and what the selectors say: the first one that is false or fails, and the failure's text."""

    device: Device
    verdict: Verdict
    selector: str = ""
    error: str = ""


@dataclass(slots=True)
class MatchReport:
    """Every device's verdict, and the names that devices lacked."""

    verdicts: list[DeviceVerdict] = field(default_factory=list)
    missing: Counter[str] = field(default_factory=Counter)

    def count(self, verdict: Verdict) -> int:
        """How many devices have a verdict."""
        return sum(each.verdict == verdict for each in self.verdicts)

    def summary(self) -> str:
        """`matches 3 of 8; fails on 2; attribute `numaNode` missing on 2`."""
        parts = [f"matches {self.count('yes')} of {len(self.verdicts)}"]
        failed = self.count("error")
        if failed:
            parts.append(f"fails on {failed}")
        parts.extend(f"{name} missing on {number}" for name, number in self.missing.most_common())
        return "; ".join(parts)


def match_devices(
    selectors: Sequence[str], devices: Iterable[Device], matcher: SelectorMatcher
) -> MatchReport:
    """Try the selectors, in order, on every device; one that does not compile raises `SelectorError`."""
    report = MatchReport()
    for device in devices:
        verdict = _verdict(selectors, device, matcher)
        report.verdicts.append(verdict)
    names = [
        access.name
        for selector in selectors
        if (parsed := parse_selector(selector)) is not None
        for access in accesses(parsed)
    ]
    for name in dict.fromkeys(names):
        noun = "attribute" if name.kind == "attributes" else "capacity"
        lacking = sum(
            each.verdict != "yes" and not has_name(each.device, name.kind, name.domain, name.name)
            for each in report.verdicts
            if name.domain == each.device.driver or "." not in name.domain or _is_shared(name.domain)
        )
        if lacking:
            report.missing[f"{noun} `{name.name}`"] += lacking
    return report


def _is_shared(domain: str) -> bool:
    return domain in ("resource.kubernetes.io", "dra.net")


def has_name(device: Device, kind: str, domain: str, name: str) -> bool:
    """Whether a device has an attribute or capacity under a domain."""
    held = device.attributes if kind == "attributes" else device.capacity
    return f"{domain}/{name}" in held or (domain == device.driver and name in held)


def _verdict(selectors: Sequence[str], device: Device, matcher: SelectorMatcher) -> DeviceVerdict:
    for selector in selectors:
        try:
            if not matcher.matches(selector, device):
                return DeviceVerdict(device, "no", selector)
        except SelectorError as error:
            if error.stage == "compile":
                raise
            return DeviceVerdict(device, "error", selector, error.text)
    return DeviceVerdict(device, "yes")
