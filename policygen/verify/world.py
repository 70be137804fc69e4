"""Where properties are tried: a server with the policies, the same without them, and the objects at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from policygen.admission.cluster import DEFAULT_PLUGINS, Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.policy import BoundPolicy, is_policy_object
from policygen.admission.request import AdmissionRequest, Object, UserInfo
from policygen.admission.server import admit
from policygen.diagnostics import Span
from policygen.kube import names
from policygen.verify.expect import APPLIED
from policygen.verify.facts import PolicyFacts, gather
from policygen.verify.subject import Subject


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

    @cached_property
    def cluster(self) -> Cluster:
        """The server with the policies."""
        return self._cluster([*self.subject.objects, *self.stored])

    @cached_property
    def bare(self) -> Cluster:
        """The server without any policy."""
        stored = [obj for obj in (*self.subject.objects, *self.stored) if not is_policy_object(obj)]
        return self._cluster(stored)

    def _cluster(self, objects: Iterable[Object]) -> Cluster:
        return Cluster.from_objects(
            objects,
            version=self.subject.version,
            authorizer=self.authorizer,
            plugins=self.plugins,
            open_namespaces=True,
        )

    def with_policies(
        self, mutating: Sequence[BoundPolicy], validating: Sequence[BoundPolicy] = ()
    ) -> Cluster:
        """The server with just these policies, in this order."""
        return self.bare.running(tuple(mutating), tuple(validating))

    @cached_property
    def facts(self) -> tuple[PolicyFacts, ...]:
        """What is known of each policy of the server."""
        return gather(self.cluster)

    @cached_property
    def outcomes(self) -> tuple[Outcome, ...]:
        """The answer to each trial."""
        return tuple(admit(self.cluster, trial.request, explain=True) for trial in self.trials)

    @cached_property
    def plain(self) -> tuple[Outcome, ...]:
        """The answer to each trial without any policy."""
        return tuple(admit(self.bare, trial.request) for trial in self.trials)

    def applied_to(self, policy: str) -> frozenset[int]:
        """The trials to which a policy applies, by index."""
        return self._applied.get(policy, frozenset())

    @cached_property
    def _applied(self) -> dict[str, frozenset[int]]:
        found: dict[str, set[int]] = {}
        for index, outcome in enumerate(self.outcomes):
            for verdict in outcome.verdicts:
                if verdict.kind in APPLIED:
                    found.setdefault(verdict.policy, set()).add(index)
        return {policy: frozenset(indexes) for policy, indexes in found.items()}


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
