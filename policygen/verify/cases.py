"""Run the cases of a suite: each is one request to a server that stores what the suite says."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.policy import is_policy_object
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.diagnostics import Diagnostic, Diagnostics, make
from policygen.kube import names
from policygen.verify import expect, golden
from policygen.verify.expect import Answer
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


def setting(suite: Suite, subject: Subject) -> Setting:
    """The clusters of a suite: what the bundle itself stores comes first, so that a suite may replace it."""
    stored = [*subject.objects, *(item.value for item in (*suite.cluster, *suite.inventory))]
    settings: dict[str, Any] = {
        "version": subject.version,
        "authorizer": suite.authorizer,
        "plugins": DEFAULT_PLUGINS | frozenset(suite.plugins),
        "open_namespaces": True,
    }
    bare = Cluster.from_objects([obj for obj in stored if not is_policy_object(obj)], **settings)
    return Setting(suite, subject, serving(bare, subject, stored), bare)


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


def run(where: Setting, *, update: bool = False) -> Iterator[CaseResult]:
    """The result of each case, in order. With `update` goldens are written instead of compared."""
    for case in where.suite.cases:
        started = time.perf_counter()
        findings = tuple(Finding(item) for item in _failures(where, case, update=update))
        seconds = time.perf_counter() - started
        yield CaseResult(where.suite.name, case.name, where.subject.version, case.span, findings, seconds)


def _failures(where: Setting, case: Case, *, update: bool) -> Iterator[Diagnostic]:
    cluster, bare = where.cluster, where.bare
    cluster, bare = storing(cluster, case.cluster), storing(bare, case.cluster)
    sent = request(case)
    outcome = admit(cluster, sent, explain=True)
    without = admit(bare, sent)
    schema = cluster.schema(sent.kind)
    answer = Answer(case, outcome, without.object, schema, where.subject.rule_of, where.subject.rule_span)
    yield from expect.failures(answer)
    if case.expect.golden is not None and outcome.object is not None:
        yield from golden.compare(case, outcome.object, update=update)
    if case.expect.devices is not None:
        yield from _devices(where, case, outcome)


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


def _devices(where: Setting, case: Case, outcome: Outcome) -> Iterator[Diagnostic]:
    from policygen.verify import claims

    if outcome.object is None:
        yield make("error", "case-failed", f"case `{case.name}`: no object, so no devices", case.span)
        return
    slices = [item.value for item in where.suite.inventory]
    chosen = claims.allocate(outcome.object, where.cluster, slices)
    assert case.expect.devices is not None
    for name, devices in case.expect.devices.items():
        got = chosen.get(name)
        if isinstance(got, str):
            message = f"case `{case.name}`: claim `{name}` cannot be allocated: {got}"
            yield make("error", "case-failed", message, case.expect.spans["devices"])
        elif got is None:
            message = f"case `{case.name}`: the pod has no claim `{name}`"
            yield make("error", "case-failed", message, case.expect.spans["devices"])
        elif tuple(got) != devices:
            message = f"case `{case.name}`: claim `{name}` gets {', '.join(got)}, not {', '.join(devices)}"
            yield make("error", "case-failed", message, case.expect.spans["devices"])


def suites_in(paths: Iterable[Path]) -> Sequence[Path]:
    """Suite files among files and folders: `suite.yaml` and `*.suite.yaml`, also in sub-folders."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted({*path.rglob("suite.yaml"), *path.rglob("*.suite.yaml")})
        else:
            found.append(path)
    return found
