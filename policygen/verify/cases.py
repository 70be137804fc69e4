"""Run the cases of a suite: each is one request to a server that stores what the suite says."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.policy import is_policy_object
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.diagnostics import Diagnostic, Diagnostics
from policygen.kube import names
from policygen.verify import default_class, expect, golden
from policygen.verify.expect import Answer, fault
from policygen.verify.golden import Wanted
from policygen.verify.report import CaseResult, Finding
from policygen.verify.sources import Located
from policygen.verify.subject import Subject
from policygen.verify.suite import Case, Suite
from policygen.verify.world import serving


@dataclass(frozen=True, slots=True)
class Setting:
    """A suite and what it verifies, on one Kubernetes version."""

    suite: Suite
    subject: Subject
    cluster: Cluster
    """With the policies."""
    bare: Cluster
    """The same without them."""
    empty: Cluster
    """Without anything of the bundle."""


def setting(suite: Suite, subject: Subject) -> Setting:
    """The clusters of a suite: what the bundle itself stores comes first, so that a suite may replace it."""
    own = [item.value for item in (*suite.cluster, *suite.inventory)]
    stored = [*subject.objects, *own]
    settings: dict[str, Any] = {
        "version": subject.version,
        "authorizer": suite.authorizer,
        "plugins": DEFAULT_PLUGINS | frozenset(suite.plugins),
        "open_namespaces": True,
    }
    bare = Cluster.from_objects([obj for obj in stored if not is_policy_object(obj)], **settings)
    return Setting(
        suite,
        subject,
        serving(bare, subject, stored),
        bare,
        Cluster.from_objects([obj for obj in own if not is_policy_object(obj)], **settings),
    )


def request(case: Case) -> AdmissionRequest:
    """The request that a case sends."""
    sent = case.object if case.object is not None else case.old_object or {}
    kind = names.gvk(str(sent.get("apiVersion", "")), str(sent.get("kind", "")))
    metadata = sent.get("metadata") or {}
    return AdmissionRequest(
        operation=case.operation,
        kind=kind,
        resource=names.gvr(kind.api_version, kind.kind),
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        subresource=case.subresource,
        object=None if case.operation == "DELETE" else case.object,
        old_object=case.old_object or (case.object if case.operation == "DELETE" else None),
        user_info=case.user,
    )


def check_names(suite: Suite, subject: Subject, found: Diagnostics) -> None:
    """Report rules and policies that no one has."""
    for case in suite.cases:
        found.extend(expect.unknown_names(case, subject.names))


@dataclass(frozen=True, slots=True)
class Ran:
    """A case that ran, and the golden that it would write."""

    result: CaseResult
    wanted: Wanted | None = None


def run(where: Setting, *, update: bool = False) -> Iterator[Ran]:
    """The result of each case, in order. With `update` goldens are not compared: they come as `wanted`."""
    return (run_one(where, case, update=update) for case in where.suite.cases)


def run_one(where: Setting, case: Case, *, update: bool = False) -> Ran:
    """The result of one case."""
    started = time.perf_counter()
    faults = (*case.faults, *expect.unknown_names(case, where.subject.names))
    findings, wanted = _run(where, case, update=update)
    findings = [*map(Finding, faults), *findings]
    seconds = time.perf_counter() - started
    result = CaseResult(
        where.suite.name, case.name, where.subject.version, case.span, tuple(findings), seconds
    )
    return Ran(result, None if wanted is None else replace(wanted, held=not findings))


def _run(where: Setting, case: Case, *, update: bool) -> tuple[list[Finding], Wanted | None]:
    cluster = storing(where.cluster, case.cluster)
    sent = request(case)
    outcome = admit(cluster, sent, explain=True)

    @cache
    def plain() -> Outcome:
        return admit(storing(where.bare, case.cluster), sent)

    answer = Answer(
        case,
        outcome,
        plain,
        cluster.schema(sent.kind),
        where.subject,
        why_not=lambda: _why_not(where.subject, cluster, sent, plain()),
        why_refused=lambda: _why_refused(outcome, where.subject),
        without=lambda: admit(storing(where.empty, case.cluster), sent),
    )
    findings = list(expect.failures(answer))
    wanted = None
    if case.expect.golden is not None and outcome.object is not None:
        found = golden.wanted(case, outcome.object, where.subject.version)
        if isinstance(found, Diagnostic):
            findings.append(Finding(found))
        elif update:
            wanted = found
        else:
            findings += _against(answer, found)
    elif case.expect.golden is not None and outcome.allowed:
        findings.append(fault(answer, "golden", "there is no object to compare with a golden"))
    if case.expect.devices is not None:
        findings += _devices(where, answer)
    note = default_class.note(cluster, sent, outcome) if findings else ""
    return [_noted(finding, note, outcome) for finding in findings] if note else findings, wanted


def _noted(finding: Finding, note: str, outcome: Outcome) -> Finding:
    """A failure about the priority class with a note on it."""
    said = finding.diagnostic
    if not default_class.concerns(finding.policy, said.message, finding.changes, outcome):
        return finding
    return replace(finding, diagnostic=replace(said, notes=(*said.notes, note)))


def _against(answer: Answer, found: Wanted) -> Iterator[Finding]:
    """The difference from the golden file as one failure."""
    if found.is_new:
        help = ["`policygen verify --update` writes it"]
        yield fault(answer, "golden", f"there is no golden `{found.path}`", help=help)
    elif found.changes:
        changing = [verdict for verdict in answer.applied if verdict.kind == "mutated"]
        yield fault(
            answer,
            "golden",
            "the result differs from its golden",
            notes=[expect.show_changes(found.changes)],
            help=["if the change is meant, `policygen verify --update` writes it"],
            about=changing,
            changes=found.changes,
        )


def _why_not(
    subject: Subject, cluster: Cluster, sent: AdmissionRequest, plain: Outcome
) -> dict[str, list[str]]:
    """Rule → what keeps it from the object."""
    from policygen.verify import nearly

    found: dict[str, list[str]] = {}
    said: set[tuple[object, ...]] = set()
    for item in nearly.missed(cluster, sent, plain, subject):
        lines = found.setdefault(item.rule, [])
        for miss in item.misses:
            if (item.rule, miss.text, miss.values) in said:
                continue  # the same reason keeps another policy of the rule away
            said.add((item.rule, miss.text, miss.values))
            text = "\n".join([f"policy `{item.policy}`: {miss.text}", *(f"  {each}" for each in miss.values)])
            if text not in lines:
                lines.append(text)
    return found


def _why_refused(outcome: Outcome, subject: Subject) -> list[str]:
    from policygen.verify import refusals

    found = refusals.refusal(outcome, subject)
    if found is None:
        return []
    return [found.text + (f", because of {found.asked}" if found.asked else "")]


def storing(cluster: Cluster, more: Sequence[Located]) -> Cluster:
    """The same server with more objects stored, for one case alone; policies are not compiled again."""
    if not more:
        return cluster
    stored = [obj for found in cluster.objects.values() for obj in found.values()]
    added = [item.value for item in more]
    richer = Cluster.from_objects(
        [*stored, *added],
        version=cluster.version,
        authorizer=cluster.authorizer,
        plugins=cluster.plugins,
        open_namespaces=cluster.open_namespaces,
        validate_objects=cluster.validate_objects,
    )
    if any(is_policy_object(obj) for obj in added):
        return richer
    return richer.running(cluster.mutating_policies, cluster.validating_policies)


def _devices(where: Setting, answer: Answer) -> Iterator[Finding]:
    from policygen.verify import claims

    case, outcome = answer.case, answer.outcome
    assert case.expect.devices is not None, "the case expects devices"
    if outcome.object is None:
        yield fault(answer, "devices", "there is no object, so there are no devices")
        return
    cluster = storing(where.cluster, case.cluster)
    slices = [item.value for item in where.suite.inventory]
    slices += [item.value for item in case.cluster if item.value.get("kind") == "ResourceSlice"]
    chosen = claims.allocate(outcome.object, cluster, slices)
    for name, devices in case.expect.devices.items():
        got = chosen.get(name)
        if isinstance(got, str):
            yield fault(answer, "devices", f"claim `{name}` cannot be allocated: {got}")
        elif got is None:
            known = ", ".join(f"`{each}`" for each in chosen) or "none"
            yield fault(answer, "devices", f"the pod has no claim `{name}`", notes=[f"its claims: {known}"])
        elif tuple(got) != devices:
            text = f"claim `{name}` gets {', '.join(got)}, not {', '.join(devices)}"
            yield fault(answer, "devices", text)
