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
from policygen.dra.allocation import SelectorError
from policygen.dra.convert import read_class, read_slice
from policygen.dra.match import match_devices
from policygen.dra.selectors import SelectorMatcher
from policygen.kube import objects
from policygen.merge.diff import Change, diff
from policygen.verify import cases, claims, steps
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
    devices: tuple[str, ...] = ()
    """Claims that get other devices of the inventory, a sentence each."""

    @property
    def differs(self) -> bool:
        """Whether anything that a client or the cluster would notice is different."""
        old, new = self.old, self.new
        return (
            bool(self.changes or self.devices)
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
    notes: tuple[str, ...] = ()
    """What follows on the inventory."""


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

    @property
    def slices(self) -> list[dict[str, Any]]:
        """The inventory."""
        return [obj for obj in self.stored if obj.get("kind") == "ResourceSlice"]


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
    slices = {objects.identity(obj): obj for ground in grounds for obj in ground.slices}
    return Comparison(effects, tuple(_objects(old, new, list(slices.values()))))


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
            objects.describe(trial.object),
            trial.title,
            was,
            now,
            changes,
            _rules(old, was),
            _rules(new, now),
            tuple(_devices((before, was), (after, now), ground.slices)),
        )


def _devices(
    old: tuple[Cluster, Outcome], new: tuple[Cluster, Outcome], slices: Sequence[dict[str, Any]]
) -> Iterator[str]:
    """The claims of a pod that both bundles accept, where they get other devices."""
    if not slices or not (old[1].allowed and new[1].allowed):
        return
    before, after = (_allocated(*side, slices) for side in (old, new))
    for name in before:
        if name in after and before[name] != after[name]:
            yield f"claim `{name}` {_got(after[name])} instead of {_had(before[name])}"


def _allocated(
    cluster: Cluster, outcome: Outcome, slices: Sequence[dict[str, Any]]
) -> dict[str, tuple[str, ...] | str]:
    pod = outcome.object
    if pod is None or pod.get("kind") != "Pod" or not (pod.get("spec") or {}).get("resourceClaims"):
        return {}
    return claims.allocate(pod, cluster, slices)


def _got(devices: tuple[str, ...] | str) -> str:
    return f"cannot be allocated ({devices})" if isinstance(devices, str) else f"gets {_listed(devices)}"


def _had(devices: tuple[str, ...] | str) -> str:
    return f"nothing ({devices})" if isinstance(devices, str) else _listed(devices)


def _listed(devices: tuple[str, ...]) -> str:
    return ", ".join(f"`{device}`" for device in devices) or "no device"


def _matches(obj: dict[str, Any], slices: Sequence[dict[str, Any]], version: str) -> int | None:
    """How many devices of the inventory a class means; None for another kind or a broken selector."""
    if obj.get("kind") != "DeviceClass" or not slices:
        return None
    asked = read_class(obj).selectors
    selectors = [each for each in asked if each is not None]
    if len(selectors) < len(asked):
        return None
    devices = [device for each in slices for device in read_slice(each).devices]
    try:
        report = match_devices(selectors, devices, SelectorMatcher(version))
    except SelectorError:
        return None
    return sum(each.verdict == "yes" for each in report.verdicts)


def _matching(
    before: dict[str, Any], after: dict[str, Any], slices: Sequence[dict[str, Any]], version: str
) -> tuple[str, ...]:
    old, new = (_matches(obj, slices, version) for obj in (before, after))
    if old is None or new is None or old == new:
        return ()
    return (f"matches {new} device{'' if new == 1 else 's'} of the inventory instead of {old}",)


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


def _objects(old: Subject, new: Subject, slices: Sequence[dict[str, Any]]) -> Iterator[ObjectDifference]:
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
                notes = _matching(before[identity], obj, slices, new.version)
                yield ObjectDifference(objects.describe(obj), "changed", tuple(changes), notes)


def _plain(obj: dict[str, Any]) -> dict[str, Any]:
    """Without the annotation that says where in the spec it comes from."""
    annotations = objects.get(obj, ("metadata", "annotations"))
    if not isinstance(annotations, dict) or ORIGIN not in annotations:
        return obj
    kept = {key: value for key, value in annotations.items() if key != ORIGIN}
    return {**obj, "metadata": {**obj["metadata"], "annotations": kept}}
