"""Where properties are tried: a server with the policies, the same without them, and the objects at hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
from policygen.admission.compilation import CompiledPolicy
from policygen.admission.outcome import Outcome
from policygen.admission.policy import BoundPolicy, bind, is_policy_object
from policygen.admission.request import AdmissionRequest, Object, UserInfo
from policygen.admission.server import admit
from policygen.diagnostics import Span
from policygen.kube import names
from policygen.verify.expect import APPLIED
from policygen.verify.subject import Subject

if TYPE_CHECKING:
    from policygen.verify.facts import PolicyFacts
    from policygen.verify.watch import Watch


@dataclass(frozen=True, slots=True)
class Trial:
    """One request to try. `title` says what it is, for messages."""

    title: str
    request: AdmissionRequest
    span: Span | None = field(default=None, compare=False, repr=False)

    @property
    def object(self) -> Object:
        """The object that is sent (the stored one on DELETE)."""
        return self.request.object or self.request.old_object or {}

    def sending(self, obj: Object, title: str = "") -> Trial:
        """The same request with another object."""
        return Trial(title or self.title, replace(self.request, object=obj), self.span)


def create(obj: Object, title: str, span: Span | None = None, user: UserInfo | None = None) -> Trial:
    """The creation of an object."""
    kind = names.gvk(str(obj.get("apiVersion", "")), str(obj.get("kind", "")))
    metadata = obj.get("metadata") or {}
    request = AdmissionRequest(
        operation="CREATE",
        kind=kind,
        resource=names.gvr(kind.api_version, kind.kind),
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        object=obj,
        user_info=user or UserInfo(),
    )
    return Trial(title, request, span)


def serving(bare: Cluster, subject: Subject, stored: Iterable[Object]) -> Cluster:
    """A server without policies with those of the subject, and others among what is stored."""
    others = [obj for obj in stored if is_policy_object(obj)]
    if all(any(obj is own for own in subject.objects) for obj in others):
        return bare.running(*subject.bound)
    merged = {(obj["kind"], obj["metadata"]["name"]): obj for obj in (*subject.objects, *others)}
    policies = [obj for obj in merged.values() if is_policy_object(obj)]
    return bare.running(bind(policies, mutating=True), bind(policies, mutating=False))


@dataclass(eq=False)
class World:
    """Everything that properties work on. Answers to the trials themselves are kept."""

    subject: Subject
    stored: Sequence[Object]
    """What the server stores besides the bundle."""
    trials: tuple[Trial, ...]
    inventory: Sequence[Object] = ()
    authorizer: Mapping[str, bool] | None = None
    plugins: frozenset[str] = DEFAULT_PLUGINS
    cost_share: int = 50
    seed: int = 0
    """Of what is generated besides the trials."""

    @cached_property
    def cluster(self) -> Cluster:
        """The server with the policies."""
        return serving(self.bare, self.subject, self.stored)

    @cached_property
    def bare(self) -> Cluster:
        """The server without any policy."""
        stored = [obj for obj in (*self.subject.objects, *self.stored) if not is_policy_object(obj)]
        return Cluster.from_objects(
            stored,
            version=self.subject.version,
            authorizer=self.authorizer,
            plugins=self.plugins,
            open_namespaces=True,
        )

    @cached_property
    def lenient(self) -> Cluster:
        """The server without policies and quotas: a rule may turn what no quota has into a claim."""
        return replace(self.bare, plugins=self.plugins - {"ResourceQuota"})

    @cached_property
    def uncounted(self) -> Cluster:
        """The server with the policies, without quotas."""
        return replace(self.lenient).running(
            self.cluster.mutating_policies, self.cluster.validating_policies, self._compiled.values()
        )

    def with_policies(
        self, mutating: Sequence[BoundPolicy], validating: Sequence[BoundPolicy] = ()
    ) -> Cluster:
        """The server with just these policies, in this order."""
        return self._running(self.bare, mutating, validating)

    def alone(self, mutating: Sequence[BoundPolicy], validating: Sequence[BoundPolicy] = ()) -> Cluster:
        """The same without quotas, which count what the other policies would have changed."""
        return self._running(self.lenient, mutating, validating)

    def _running(
        self, server: Cluster, mutating: Sequence[BoundPolicy], validating: Sequence[BoundPolicy]
    ) -> Cluster:
        bound = (*mutating, *validating)
        compiled = [self._compiled[entry.policy.mutating, entry.policy.name] for entry in bound]
        return server.running(tuple(mutating), tuple(validating), compiled)

    @cached_property
    def _compiled(self) -> dict[tuple[bool, str], CompiledPolicy]:
        bound = (*self.cluster.mutating_policies, *self.cluster.validating_policies)
        policies = [entry.policy for entry in bound]
        return {(each.mutating, each.name): self.cluster.compiled(each) for each in policies}

    @cached_property
    def reinvoking(self) -> dict[str, BoundPolicy]:
        """The mutating policies by name, each with `reinvocationPolicy: IfNeeded`."""
        return {
            entry.policy.name: replace(entry, policy=replace(entry.policy, reinvoke=True))
            for entry in self.cluster.mutating_policies
        }

    @cached_property
    def mutating(self) -> dict[str, BoundPolicy]:
        """The mutating policies by name."""
        return {entry.policy.name: entry for entry in self.cluster.mutating_policies}

    @cached_property
    def facts(self) -> tuple[PolicyFacts, ...]:
        """What is known of each policy of the server."""
        from policygen.verify.facts import gather

        return gather(self.cluster)

    @cached_property
    def known(self) -> dict[str, PolicyFacts]:
        """The same by name."""
        return {facts.name: facts for facts in self.facts}

    @property
    def watch(self) -> Watch:
        """What the expressions did on the trials, and on nothing else."""
        return self._watched[0]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The answer to each trial."""
        return self._watched[1]

    @cached_property
    def _watched(self) -> tuple[Watch, tuple[Outcome, ...]]:
        from policygen.verify.watch import Watch

        watch = Watch()
        watched = watch.cluster(self.cluster)
        return watch, tuple(admit(watched, trial.request) for trial in self.trials)

    @cached_property
    def attempts(self) -> tuple[Attempt, ...]:
        """The trials, and more that are made from what the expressions read, with their answers."""
        from policygen.verify.generate import generate

        known = [
            self._attempt(trial, outcome) for trial, outcome in zip(self.trials, self.outcomes, strict=True)
        ]
        made = (self._attempt(trial) for trial in generate(self))
        return (*known, *(attempt for attempt in made if attempt.is_valid))

    def _attempt(self, trial: Trial, outcome: Outcome | None = None) -> Attempt:
        plain = admit(self.bare, trial.request)
        is_valid = plain.allowed or admit(self.lenient, trial.request).allowed
        if outcome is None:
            outcome = admit(self.cluster, trial.request) if is_valid else plain
        return Attempt(trial, outcome, plain, is_valid)

    def place(self, policy: str, path: Iterable[str | int] = ()) -> Span | None:
        """The place of a policy, or of a part of it: in the spec where it was made from one."""
        return self.subject.place_of(policy, tuple(path) or ("metadata", "name"))

    def applied_to(self, policy: str) -> frozenset[int]:
        """The trials to which a policy applies, by index."""
        return self._applied.get(policy, frozenset())

    @cached_property
    def _applied(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for index, outcome in enumerate(self.outcomes):
            for name in applied(outcome):
                found.setdefault(name, set()).add(index)
        return {policy: frozenset(indexes) for policy, indexes in found.items()}


def culprits(names: Sequence[str], shows: Callable[[Sequence[str]], bool]) -> list[str]:
    """The policies that are needed to show a fault: each is left out for good where the fault stays."""
    needed = list(dict.fromkeys(names))
    for name in tuple(needed):
        rest = [other for other in needed if other != name]
        if rest and shows(rest):
            needed = rest
    return needed


@dataclass(frozen=True, slots=True)
class Attempt:
    """A trial with its answers: with the policies and without."""

    trial: Trial
    outcome: Outcome
    plain: Outcome
    is_valid: bool
    """Whether the server accepts the object without the policies, or would but for a quota."""

    @property
    def applied(self) -> frozenset[str]:
        """The policies that applied."""
        return applied(self.outcome)


def applied(outcome: Outcome) -> frozenset[str]:
    """The policies that applied to a request."""
    return frozenset(verdict.policy for verdict in outcome.verdicts if verdict.kind in APPLIED)


def errors_of(outcome: Outcome) -> list[tuple[str, str]]:
    """(policy, text) of each expression that failed, also where `failurePolicy: Ignore` swallowed it."""
    return [
        (verdict.policy, text)
        for verdict in outcome.verdicts
        if verdict.kind == "failed"
        for text in (verdict.errors or (verdict.detail,))
    ]


def example(obj: Mapping[str, Any]) -> dict[str, Any]:
    """An object as it is shown: without what the server fills in on its own."""
    shown = {key: value for key, value in obj.items() if key != "status"}
    metadata = shown.get("metadata")
    if isinstance(metadata, dict):
        hidden = ("uid", "creationTimestamp", "resourceVersion", "generation", "managedFields")
        shown["metadata"] = {key: value for key, value in metadata.items() if key not in hidden}
    return shown
