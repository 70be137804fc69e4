"""No expression fails because a field that it reads is absent, null, empty or zero.

Every place that a policy's expressions read is sent in each of these forms; where no object at hand has it,
what stands around it is made first. So is every list of containers with one, with many and with init
containers, and a namespace without labels where it is read. Objects of built-in kinds then pass through the
server's typed structs, as they do on a cluster; custom kinds keep what was sent, and null is tried there
only where the definition allows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, Struct, child
from policygen.verify import analysis
from policygen.verify.analysis import Path
from policygen.verify.describe import as_yaml
from policygen.verify.facts import PolicyFacts
from policygen.verify.fill import consistent, filled
from policygen.verify.generate import updates
from policygen.verify.paths import ABSENT
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.variants import container_variants, places, replaced
from policygen.verify.world import Trial, World, errors_of

NAME = "null-safe"
TRIALS_A_PLACE: Final = 2
"""Objects that each place is tried on."""

_REQUIRED: Final = frozenset({("metadata",), ("metadata", "name"), ("spec",)})
_SAME_AS_ABSENT: Final = (Struct, ListOf, MapOf)
"""Fields of built-in kinds that Go's decoder reads the same when they are null and when they are absent."""
_WORDS: Final = {"absent": "is absent", "null": "is null", "empty": "is empty", "zero": "is zero"}


def check(world: World) -> PropertyResult:
    """One finding per policy and error, at the place that the error is about where that can be told.

    An error that the objects at hand show as they are is another property's, unless it names a field.
    """
    tried = 0
    findings: list[Finding] = []
    for facts in world.facts:
        trials = _trials(world, facts)
        if not facts.bound or not trials:
            continue
        faults: dict[str, _Fault] = {}
        alone = _alone(world, facts)
        always = {_error(alone, trial) for trial in trials}
        for form, path, trial, cluster in _variants(world, facts, trials, alone):
            tried += 1
            text = _error(cluster, trial)
            if text is not None and admit(world.lenient, trial.request).allowed:
                fault = _Fault(text, form, path, trial, cluster)
                known = faults.setdefault(text, fault)
                if not known.is_told and fault.is_told:
                    faults[text] = fault
        findings += [
            _finding(world, facts, fault)
            for text, fault in faults.items()
            if fault.is_told or text not in always
        ]
    return PropertyResult(NAME, world.subject.version, tried, tuple(findings))


@dataclass(frozen=True, slots=True)
class _Fault:
    """An expression that failed, and what was sent."""

    text: str
    form: str
    path: Path
    trial: Trial
    cluster: Cluster

    @property
    def is_told(self) -> bool:
        """Whether the error names the field that was changed."""
        return bool(self.path) and self.text.endswith(f"no such key: {self.path[-1]}")


def _trials(world: World, facts: PolicyFacts) -> list[Trial]:
    """The creations that the policy applies to; the updates where there is none."""
    trials = [world.trials[index] for index in sorted(world.applied_to(facts.name))]
    sent = [trial for trial in trials if trial.request.object is not None]
    return [trial for trial in sent if trial.request.operation == "CREATE"] or sent


def _alone(world: World, facts: PolicyFacts) -> Cluster:
    """The server with this policy only: what others make sure of does not count, they may come later."""
    if facts.policy.mutating:
        return world.alone([world.mutating[facts.name]])
    entries = [entry for entry in world.cluster.validating_policies if entry.policy is facts.policy]
    return world.alone((), entries)


def _variants(
    world: World, facts: PolicyFacts, trials: list[Trial], alone: Cluster
) -> Iterator[tuple[str, Path, Trial, Cluster]]:
    """(form, path, trial, server) for each form of each place that is read."""
    sent: set[str] = set()
    for path in sorted(analysis.object_reads(facts.effects)):
        if path in _REQUIRED:
            continue
        for trial in _having(world, trials, path):
            schema = world.cluster.schema(trial.request.kind)
            for steps in places(trial.object, path):
                for form, value in _forms(schema, path):
                    obj = replaced(trial.object, steps, value)
                    text = json.dumps(obj, sort_keys=True, default=str)
                    if text not in sent:
                        sent.add(text)
                        yield form, path, trial.sending(obj), alone
    for form, obj in container_variants(trials[0].object):
        yield form, (), trials[0].sending(obj), alone
    for trial in updates(world, facts):
        yield trial.title, (), trial, alone
        yield from _old_objects(world, facts, trial, alone)
    if any(path[0] == "namespaceObject" for path in facts.effects.reads):
        objects = {key: stored for key, stored in alone.objects.items() if key != ("", "Namespace")}
        policies = alone.mutating_policies, alone.validating_policies
        cluster = replace(alone, objects=objects, open_namespaces=True).running(*policies)
        for trial in trials[:TRIALS_A_PLACE]:
            yield "a namespace without labels", (), trial, cluster


def _old_objects(
    world: World, facts: PolicyFacts, trial: Trial, alone: Cluster
) -> Iterator[tuple[str, Path, Trial, Cluster]]:
    """The forms of what is read of the stored object."""
    schema = world.cluster.schema(trial.request.kind)
    old = trial.request.old_object or {}
    for path in sorted(path[1:] for path in facts.effects.reads if path[0] == "oldObject"):
        for steps in () if path in _REQUIRED or not path else places(old, path):
            for form, value in _forms(schema, path):
                request = replace(trial.request, old_object=replaced(old, steps, value))
                yield form, path, replace(trial, request=request), alone


def _having(world: World, trials: list[Trial], path: Path) -> Iterator[Trial]:
    """Some objects in which a place exists; one where it is made when there is none."""
    found = [trial for trial in trials if places(trial.object, path)]
    if found:
        yield from found[:TRIALS_A_PLACE]
        return
    schema = world.cluster.schema(trials[0].request.kind)
    node = None if schema is None else _node(schema, path)
    yield trials[0].sending(consistent(filled(trials[0].object, path, _made(node), schema)))


def _made(node: Node | None) -> Any:
    match node:
        case ListOf():
            return []
        case MapOf() | Struct():
            return {}
        case Scalar(kind="bool"):
            return True
        case Scalar(kind="int32" | "int64" | "int-or-string"):
            return 1
        case _:
            return "made"


def _forms(schema: KindSchema | None, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield "absent", ABSENT
    node = None if schema is None else _node(schema, path)
    if schema is not None and schema.builtin:
        if not (isinstance(node, _SAME_AS_ABSENT) and isinstance(_node(schema, path[:-1]), Struct)):
            yield "null", None
    elif node is not None and node_is_nullable(node):
        yield "null", None
    match node:
        case ListOf():
            yield "empty", []
        case MapOf() | Struct():
            yield "empty", {}
        case Scalar(kind="string"):
            yield "empty", ""
        case Scalar(kind="bool"):
            yield "zero", False
        case Scalar(kind="int32" | "int64" | "int-or-string"):
            yield "zero", 0
        case _:
            return


def node_is_nullable(node: Node) -> bool:
    """Whether a custom kind's schema allows null."""
    return node.nullable if isinstance(node, (ListOf, MapOf, Scalar, Struct)) else False


def _node(schema: KindSchema, path: tuple[str, ...]) -> Node | None:
    node: Node | None = schema.root
    for step in path:
        if node is None:
            return None
        inner = "[]" if isinstance(node, ListOf) else step
        node = child(node, inner)
    return node


def _finding(world: World, facts: PolicyFacts, fault: _Fault) -> Finding:
    text, trial, path = fault.text, fault.trial, fault.path

    def fails(obj: dict[str, Any]) -> bool:
        sent = trial.sending(obj)
        return _error(fault.cluster, sent) == text and admit(world.lenient, sent.request).allowed

    smallest = shrink(trial.object, fails)
    where = f"`{'.'.join(path)}` {_WORDS[fault.form]}" if path else f"there is {fault.form}"
    diagnostic = make(
        "error",
        "verify-not-null-safe",
        f"`{world.subject.rule_of(facts.name)}` fails when {where}",
        world.place(facts.name, facts.blamed(text)),
        notes=[
            f"the API server would say: {text}",
            f"the smallest object that shows it:\n{as_yaml(smallest)}",
        ],
        help=["guard the field with `has(…)` or `?.` before it is read"],
    )
    return Finding(diagnostic, facts.name, smallest)


def _error(cluster: Cluster, trial: Trial) -> str | None:
    """What the policy of a server says when it fails; a panic and an internal error count as well."""
    outcome = admit(cluster, trial.request)
    if outcome.code >= 500:
        return outcome.message
    return next((text for _, text in errors_of(outcome)), None)
