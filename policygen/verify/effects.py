"""How two bundles differ in effect: the same requests to both, and what comes out otherwise.

Two texts may say the same, and one character may refuse every pod; so manifests are compared only as objects,
and what counts is what the server answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.compiler.bundle import ORIGIN
from policygen.diagnostics import Span
from policygen.kube import objects
from policygen.merge.diff import Change, diff
from policygen.verify import cases, steps
from policygen.verify.expect import APPLIED
from policygen.verify.sources import Located
from policygen.verify.subject import Subject
from policygen.verify.suite import Suite
from policygen.verify.words import sentence
from policygen.verify.world import Trial, create


@dataclass(frozen=True, slots=True)
class Because:
    """One change of a result, with the rule that makes it (or made it before)."""

    change: Change
    text: str
    rule: str = ""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Effect:
    """How the answers to one request differ."""

    title: str
    """`Pod team-a/trainer`."""
    where: str
    """`case `…`` of a suite, or the file of the object."""
    old: Outcome
    new: Outcome
    changes: tuple[Because, ...] = ()
    """Of the stored object, where both bundles accept it."""
    old_rules: tuple[str, ...] = ()
    new_rules: tuple[str, ...] = ()
    """Rules that applied."""

    @property
    def differs(self) -> bool:
        """Whether anything that a client or the cluster would notice is different."""
        old, new = self.old, self.new
        return (
            bool(self.changes)
            or (old.allowed, old.code, old.message) != (new.allowed, new.code, new.message)
            or old.warnings != new.warnings
            or dict(old.audit_annotations) != dict(new.audit_annotations)
        )


@dataclass(frozen=True, slots=True)
class ObjectDifference:
    """An object of the bundles that only one has, or that is different."""

    title: str
    how: str
    """`added`, `removed` or `changed`."""
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is different between two bundles."""

    effects: tuple[Effect, ...]
    """One a request that was tried, different or not."""
    objects: tuple[ObjectDifference, ...]

    @property
    def different(self) -> tuple[Effect, ...]:
        """The requests that are answered otherwise."""
        return tuple(effect for effect in self.effects if effect.differs)


@dataclass(frozen=True, slots=True)
class Ground:
    """Where requests are tried: what is stored besides the bundle, and the requests."""

    trials: tuple[tuple[Trial, tuple[Located, ...]], ...]
    """With what else is stored for one request."""
    stored: tuple[dict[str, Any], ...] = ()
    authorizer: Mapping[str, bool] | None = None
    plugins: frozenset[str] = DEFAULT_PLUGINS


def ground_of(suite: Suite) -> Ground:
    """The cases and the fixtures of a suite."""
    trials: list[tuple[Trial, tuple[Located, ...]]] = [
        (Trial(f"case `{case.name}`", cases.request(case), case.span), case.cluster) for case in suite.cases
    ]
    sent = {repr(case.object) for case in suite.cases}
    for item in suite.fixtures.all:
        placed = suite.placed(item.value)
        if repr(placed) not in sent:
            trials.append((create(placed, str(item.span), item.span), ()))
    stored = tuple(item.value for item in (*suite.cluster, *suite.inventory))
    return Ground(tuple(trials), stored, suite.authorizer, DEFAULT_PLUGINS | frozenset(suite.plugins))


def compare(old: Subject, new: Subject, grounds: Sequence[Ground]) -> Comparison:
    """Try every request on both."""
    effects = tuple(effect for ground in grounds for effect in _effects(old, new, ground))
    return Comparison(effects, tuple(_objects(old, new)))


def _effects(old: Subject, new: Subject, ground: Ground) -> Iterator[Effect]:
    clusters = [_cluster(subject, ground) for subject in (old, new)]
    for trial, more in ground.trials:
        before, after = (cases.storing(cluster, more) for cluster in clusters)
        was, now = admit(before, trial.request), admit(after, trial.request)
        changes: tuple[Because, ...] = ()
        if was.allowed and now.allowed and was.object != now.object:
            reasons = [_reasons(old, before, trial, was), _reasons(new, after, trial, now)]
            changes = tuple(_because(change, *reasons) for change in diff(was.object, now.object))
        yield Effect(
            objects.describe(trial.object), trial.title, was, now, changes, _rules(old, was), _rules(new, now)
        )


def _cluster(subject: Subject, ground: Ground) -> Cluster:
    return Cluster.from_objects(
        [*subject.objects, *ground.stored],
        version=subject.version,
        authorizer=ground.authorizer,
        plugins=ground.plugins,
        open_namespaces=True,
    )


def _rules(subject: Subject, outcome: Outcome) -> tuple[str, ...]:
    return tuple(dict.fromkeys(subject.rule_of(v.policy) for v in outcome.verdicts if v.kind in APPLIED))


def _reasons(
    subject: Subject, cluster: Cluster, trial: Trial, outcome: Outcome
) -> list[tuple[str, str, Span | None]]:
    """Path, rule and place of each change that a bundle makes."""
    acting = sorted({v.policy for v in outcome.verdicts if v.mutating and v.kind == "mutated"})
    found = steps.steps(cluster, trial.request, subject, acting) if acting else []
    return [(done.said.change.path, step.rule, done.span) for step in found for done in step.done]


def _because(
    change: Change, old: list[tuple[str, str, Span | None]], new: list[tuple[str, str, Span | None]]
) -> Because:
    """The rule behind a change: of the new bundle, or of the old one for what is no longer done."""
    text = sentence(change)
    for reasons in (old, new) if change.op == "remove" else (new, old):
        for path, rule, span in reasons:
            if path.startswith(change.path) or change.path.startswith(path):
                return Because(change, text, rule, span)
    return Because(change, text)


def _objects(old: Subject, new: Subject) -> Iterator[ObjectDifference]:
    before = {objects.identity(obj): obj for obj in old.objects}
    after = {objects.identity(obj): obj for obj in new.objects}
    for identity, obj in before.items():
        if identity not in after:
            yield ObjectDifference(objects.describe(obj), "removed")
    for identity, obj in after.items():
        if identity not in before:
            yield ObjectDifference(objects.describe(obj), "added")
        else:
            changes = diff(_plain(before[identity]), _plain(obj))
            if changes:
                yield ObjectDifference(objects.describe(obj), "changed", tuple(changes))


def _plain(obj: dict[str, Any]) -> dict[str, Any]:
    """Without the annotation that says where in the spec it comes from."""
    annotations = objects.get(obj, ("metadata", "annotations"))
    if not isinstance(annotations, dict) or ORIGIN not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != ORIGIN}
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}
