"""Which mutation made which change, and the line of the spec that asked for it.

The policies are run once more and once for every mutation, each time with one mutation more than before; what
is new in a result is the work of the last one. In-tree plugins are part of it: the priority that follows from
an injected class belongs to the mutation that injected it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy
from policygen.admission.policy import BoundPolicy
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.compiler.bundle import Trace
from policygen.diagnostics import Span
from policygen.merge.diff import diff
from policygen.verify.subject import Subject
from policygen.verify.words import Said, say


@dataclass(frozen=True, slots=True)
class Step:
    """What one mutation of one policy does to the object."""

    policy: str
    rule: str
    """The rule that the policy was made for, or the policy's own name."""
    index: int
    """Which of the policy's mutations."""
    done: tuple[Done, ...]
    asked: tuple[str, ...]
    """What the spec asks for here, in its words; empty for a policy that nobody compiled."""


@dataclass(frozen=True, slots=True)
class Done:
    """One change with the place that asked for it."""

    said: Said
    asked: str = ""
    span: Span | None = field(default=None, compare=False)


def steps(cluster: Cluster, request: AdmissionRequest, subject: Subject, acting: Sequence[str]) -> list[Step]:
    """The steps of the policies named in `acting`, in the order in which the server runs them."""
    lenient = replace(cluster, validate_objects=False)
    bound = [entry for entry in cluster.mutating_policies if entry.policy.name in acting]
    before = _state(lenient, request, [], [])
    found = []
    for position, entry in enumerate(bound):
        compiled = cluster.compiled(entry.policy)
        for index in range(len(entry.policy.mutations)):
            cut = _first(entry, compiled, index + 1)
            after = _state(lenient, request, [*bound[:position], cut[0]], [cut[1]])
            found.append(_step(subject, entry.policy.name, index, list(say(diff(before, after)))))
            before = after
    return found


def _first(entry: BoundPolicy, compiled: CompiledPolicy, count: int) -> tuple[BoundPolicy, CompiledPolicy]:
    """A policy with only its first mutations."""
    policy = replace(entry.policy, mutations=entry.policy.mutations[:count])
    cut = replace(compiled, policy=policy, mutations=compiled.mutations[:count])
    return BoundPolicy(policy, entry.bindings), cut


def _state(
    cluster: Cluster,
    request: AdmissionRequest,
    bound: Sequence[BoundPolicy],
    compiled: Sequence[CompiledPolicy],
) -> dict[str, Any] | None:
    outcome = admit(cluster.running(tuple(bound), (), compiled), request)
    return outcome.object if outcome.object is not None else outcome.seen


def _step(subject: Subject, policy: str, index: int, said: Sequence[Said]) -> Step:
    traces = list(traces_of(subject, policy, ("spec", "mutations", index)))
    done = tuple(_done(item, traces, subject, (policy, index)) for item in said)
    return Step(policy, subject.rule_of(policy), index, done, tuple(trace.text for trace in traces))


def _done(said: Said, traces: Sequence[Trace], subject: Subject, of: tuple[str, int]) -> Done:
    """The change with the trace whose words name it, or the only one that there is."""
    fits = [trace for trace in traces if _names(trace.text, said)] or list(traces)
    if not fits:
        return Done(said, span=subject.place_of(of[0], ("spec", "mutations", of[1])))
    return Done(said, fits[0].text, fits[0].span)


def _names(text: str, said: Said) -> bool:
    """Whether the quoted word of a trace stands in the change as a whole word."""
    for word in re.findall(r"`([^`]+)`", text):
        if re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", f"{said.change.path} {said.change.after}"):
            return True
    return False


def traces_of(subject: Subject, policy: str, path: tuple[str | int, ...]) -> Iterator[Trace]:
    """Every trace of exactly this part of a policy."""
    for bundle in subject.bundles:
        for manifest in bundle.manifests:
            if manifest.name == policy and manifest.kind.endswith("AdmissionPolicy"):
                yield from (trace for trace in manifest.traces if trace.path == path)
