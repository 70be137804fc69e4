"""Why a policy did not apply: each constraint and condition on its own, so that near misses can be told.

The server stops at the first constraint that does not hold. For a person it matters whether that was the only
one: a pod that lacks one label has nearly matched, a Service has not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from policygen.admission import matching
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.compilation import compile_with
from policygen.admission.outcome import Outcome, Verdict
from policygen.admission.policy import BoundPolicy, MatchResources, Policy
from policygen.admission.request import AdmissionRequest
from policygen.admission.server import admit
from policygen.cel.ast import Expr
from policygen.diagnostics import Span
from policygen.kube.selectors import Requirement, Selector
from policygen.verify.deciding import Kept
from policygen.verify.steps import traces_of
from policygen.verify.subject import Subject


@dataclass(frozen=True, slots=True)
class Miss:
    """One constraint or condition that did not hold."""

    what: str
    """`namespaceSelector`, `objectSelector`, `resourceRules`, `condition `name``, …"""
    text: str
    """One sentence, with the values that decided."""
    values: tuple[str, ...] = ()
    """Of a condition: its deciding parts."""
    asked: str = ""
    """The words of the spec that asked for it."""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class NotApplied:
    """A policy that did not apply."""

    policy: str
    rule: str
    mutating: bool
    misses: tuple[Miss, ...]
    near: bool
    """Whether it is about such requests, and one thing alone kept it from applying."""


def missed(
    cluster: Cluster, request: AdmissionRequest, outcome: Outcome, subject: Subject
) -> list[NotApplied]:
    """Every policy that did not apply, near misses first."""
    kept = Kept()
    watched = _with_kept(cluster, kept)
    bare = request if outcome.seen is None else replace(request, object=outcome.seen)
    verdicts: dict[tuple[bool, str], list[Verdict]] = {}
    for verdict in admit(watched, request, explain=True).verdicts:
        verdicts.setdefault((verdict.mutating, verdict.policy), []).append(verdict)
    found = []
    for entry in (*cluster.mutating_policies, *cluster.validating_policies):
        policy = entry.policy
        own = verdicts.get((policy.mutating, policy.name), [])
        if own and all(verdict.kind in ("not-matched", "skipped") for verdict in own):
            attributes = Attributes(bare, bare.object)
            found.append(_Why(cluster, attributes, subject, entry, own, kept).told())
    return sorted(found, key=lambda item: not item.near)


def _with_kept(cluster: Cluster, kept: Kept) -> Cluster:
    """The same server; the conditions of its policies remember why they were false."""
    bound = (*cluster.mutating_policies, *cluster.validating_policies)
    compiled = [
        compile_with(entry.policy, cluster.version, kept.make) for entry in bound if entry.policy.conditions
    ]
    return cluster.running(cluster.mutating_policies, cluster.validating_policies, compiled)


@dataclass(frozen=True, slots=True)
class _Why:
    cluster: Cluster
    attributes: Attributes
    subject: Subject
    entry: BoundPolicy
    verdicts: list[Verdict]
    kept: Kept

    @property
    def policy(self) -> Policy:
        return self.entry.policy

    def told(self) -> NotApplied:
        misses = list(self._constraints(self.policy.match, ""))
        about = not any(miss.what == "resourceRules" for miss in misses)
        if about and not misses:
            misses += self._bindings()
        if about and not misses:
            misses += self._conditions()
        near = about and len(misses) == 1
        return NotApplied(
            self.policy.name,
            self.subject.rule_of(self.policy.name),
            self.policy.mutating,
            tuple(misses),
            near,
        )

    def _constraints(self, match: MatchResources, of: str) -> Iterator[Miss]:
        request = self.attributes.request
        alone = MatchResources(rules=match.rules, excludes=(), equivalent=match.equivalent)
        if isinstance(matching.match(alone, self.attributes, self.cluster), matching.NoMatch):
            yield self._miss("resourceRules", f"it is about {_rules(match)}{of}, not {_asked(request)}")
        if match.excludes:
            excluded = MatchResources(excludes=match.excludes, equivalent=match.equivalent)
            if isinstance(matching.match(excluded, self.attributes, self.cluster), matching.NoMatch):
                yield self._miss("excludeResourceRules", f"it leaves {_asked(request)} out{of}")
        namespace = self.cluster.namespace(request.namespace) if request.namespace else None
        if namespace is not None:
            labels = matching.labels_of(namespace)
            for requirement in _unmet(match.namespace_selector, labels):
                text = _namespace_text(requirement, labels, request.namespace)
                yield self._miss("namespaceSelector", text + of)
        elif request.namespace and match.namespace_selector.requirements:
            yield self._miss("namespaceSelector", f"namespace `{request.namespace}` is not known{of}")
        labels = matching.labels_of(self.attributes.object)
        for requirement in _unmet(match.object_selector, labels):
            yield self._miss("objectSelector", _label_text(requirement, labels) + of)

    def _bindings(self) -> Iterator[Miss]:
        for binding in self.entry.bindings:
            if binding.match is not None:
                yield from self._constraints(binding.match, f" (binding `{binding.name}`)")
        said = {verdict.detail for verdict in self.verdicts}
        if "no binding" in said:
            yield self._miss("binding", "no binding makes the policy effective")
        if "no parameter object" in said:
            yield self._miss("parameters", "there is no parameter object for it")

    def _conditions(self) -> Iterator[Miss]:
        names = {variable.name: variable.expression for variable in self.policy.variables}
        trees = {name: tree for name in names if (tree := self._tree(name)) is not None}
        for index, condition in enumerate(self.policy.conditions):
            if condition.expression not in self.kept.activations:
                continue
            values = self.kept.why(condition.expression, trees)
            place = ("spec", "matchConditions", index)
            traces = list(traces_of(self.subject, self.policy.name, place))
            span = traces[0].span if traces else self.subject.place_of(self.policy.name, place)
            text = f"its condition `{condition.name}` is false"
            if traces and condition.name.startswith(_USES):
                written = span.source.text[span.start : span.end] if span is not None else ""
                text, values = f"no container uses `{written or condition.name.removeprefix(_USES)}`", ()
            yield Miss(f"condition `{condition.name}`", text, values, traces[0].text if traces else "", span)

    def _tree(self, name: str) -> Expr | None:
        for item in self.cluster.compiled(self.policy).variables:
            if item.name == name and item.program is not None:
                return item.program.checked.expr
        return None

    def _miss(self, what: str, text: str) -> Miss:
        span = self.subject.place_of(self.policy.name, ("spec", "matchConstraints"))
        return Miss(what, text, span=span)


def _unmet(selector: Selector, labels: dict[str, str]) -> Iterator[Requirement]:
    return (requirement for requirement in selector.requirements if not requirement.matches(labels))


_USES = "uses-"
"""How the conditions are called that a spec's `uses` compiles to."""

_NAME_LABEL = "kubernetes.io/metadata.name"


def _namespace_text(requirement: Requirement, labels: dict[str, str], name: str) -> str:
    if requirement.key == _NAME_LABEL and requirement.operator == "In":
        return f"it is for {_or(requirement.values, 'namespace')}, and this is namespace `{name}`"
    if requirement.key == _NAME_LABEL and requirement.operator == "NotIn":
        return f"namespace `{name}` is exempt"
    return f"namespace `{name}`: {_label_text(requirement, labels)}"


def _label_text(requirement: Requirement, labels: dict[str, str]) -> str:
    key, has = requirement.key, requirement.key in labels
    got = f"is `{labels[key]}`" if has else "is absent"
    match requirement.operator:
        case "In":
            return f"label `{key}` must be {_or(requirement.values)}, and {got}"
        case "NotIn":
            return f"label `{key}` must not be {_or(requirement.values)}, and {got}"
        case "Exists":
            return f"label `{key}` must be there, and is absent"
        case "DoesNotExist":
            return f"label `{key}` must not be there, and {got}"


def _or(values: tuple[str, ...], noun: str = "") -> str:
    listed = [f"`{value}`" for value in values[:6]]
    if len(values) > 6:
        listed.append(f"one of {len(values) - 6} more")
    text = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " or " + listed[-1]
    return f"{noun} {text}" if noun else text


def _rules(match: MatchResources) -> str:
    told = []
    for rule in match.rules:
        resources = "/".join(sorted(f"{name}/{sub}" if sub else name for name, sub in rule.resources))
        told.append(f"{'/'.join(sorted(rule.operations))} of {resources}")
    return ", ".join(dict.fromkeys(told)) or "nothing"


def _asked(request: AdmissionRequest) -> str:
    resource = request.resource.resource + (f"/{request.subresource}" if request.subresource else "")
    return f"{request.operation} of {resource}"
