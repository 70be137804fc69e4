"""What will happen to one object and why: the answer for the person who wants to run it.

Nothing here decides anything: the server's answer comes from `admission`, and is told in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.admission.intake import Client, request_for, without_policies
from policygen.admission.outcome import Outcome
from policygen.admission.request import AdmissionRequest, UserInfo
from policygen.admission.server import admit
from policygen.diagnostics import Span
from policygen.kube import objects
from policygen.merge.diff import diff
from policygen.verify import default_class, nearly, refusals, scheduling
from policygen.verify import steps as attribution
from policygen.verify.expect import APPLIED
from policygen.verify.nearly import NotApplied
from policygen.verify.refusals import Refusal
from policygen.verify.scheduling import Topic
from policygen.verify.steps import Step
from policygen.verify.subject import Subject
from policygen.verify.words import Said, say


@dataclass(frozen=True, slots=True)
class Applied:
    """A policy that applied, and what it says for itself."""

    policy: str
    rule: str
    kind: str
    """The verdict: `mutated`, `unchanged`, `passed`, `warned`, `failed`, `denied`."""
    detail: str = ""
    ignored: bool = False
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Those that it read, with their values."""
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Filled:
    """What a stored object other than a policy makes the server fill in."""

    by: str
    """`LimitRange team-a/limits`."""
    said: Said
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Explanation:
    """Everything that there is to tell about one object."""

    title: str
    where: str
    operation: str
    outcome: Outcome
    refusal: Refusal | None
    steps: tuple[Step, ...]
    filled: tuple[Filled, ...]
    applied: tuple[Applied, ...]
    missed: tuple[NotApplied, ...]
    topics: tuple[Topic, ...]
    notes: tuple[str, ...] = ()
    """What is easily misunderstood."""
    pods: tuple[Explanation, ...] = ()
    """For a workload: what happens to the pods that its controller then creates."""

    @property
    def changes(self) -> int:
        """How many changes the policies make."""
        return sum(len(step.done) for step in self.steps)


_TEMPLATES: Final[Mapping[str, tuple[str, ...]]] = {
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""Built-in kinds whose controllers create pods, and where the pod stands in them."""

_OF_CLASS: Final = ("spec.priorityClassName", "spec.priority", "spec.preemptionPolicy")
"""What a PriorityClass fills in."""

_OWNERS: Final[Mapping[str, tuple[str, str, str]]] = {
    "Deployment": ("apps/v1", "ReplicaSet", "replicaset-controller"),
    "ReplicaSet": ("apps/v1", "ReplicaSet", "replicaset-controller"),
    "StatefulSet": ("apps/v1", "StatefulSet", "statefulset-controller"),
    "DaemonSet": ("apps/v1", "DaemonSet", "daemon-set-controller"),
    "ReplicationController": ("v1", "ReplicationController", "replication-controller"),
    "Job": ("batch/v1", "Job", "job-controller"),
    "CronJob": ("batch/v1", "Job", "job-controller"),
}
"""Which owner the pods name, and which controller sends them."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """A server with policies, to explain objects to people."""

    subject: Subject
    cluster: Cluster
    client: Client
    inventory: Sequence[Mapping[str, Any]] = ()

    def explain(self, obj: dict[str, Any], where: str) -> Explanation:
        """One object, and the pods that follow from it."""
        told = self._one(request_for(obj, self.cluster, self.client), where)
        made = told.outcome.object
        kind = str(obj.get("kind"))
        if (
            made is None
            or kind not in _TEMPLATES
            or self.client.operation == "DELETE"
            or self.client.subresource
        ):
            return told
        pod = _pod_of(made)
        if pod is None:
            return told
        controller = f"system:serviceaccount:kube-system:{_OWNERS[kind][2]}"
        groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated")
        sender = Client("CREATE", UserInfo(controller, groups), "", self.client.namespace)
        return replace(told, pods=(self._one(request_for(pod, self.cluster, sender), where),))

    def _one(self, request: AdmissionRequest, where: str) -> Explanation:
        outcome = admit(self.cluster, request, explain=True)
        plain = admit(without_policies(self.cluster), request)
        acting = {
            verdict.policy for verdict in outcome.verdicts if verdict.mutating and verdict.kind in APPLIED
        }
        steps = attribution.steps(self.cluster, request, self.subject, sorted(acting)) if acting else []
        given = request.object or request.old_object or {}
        pod = outcome.object if request.kind.kind == "Pod" and request.operation != "DELETE" else None
        filled = self._filled(request) if outcome.allowed else []
        topics = [] if pod is None else scheduling.topics(pod, self.cluster, self.inventory)
        return Explanation(
            title=objects.describe(given),
            where=where,
            operation=request.operation,
            outcome=outcome,
            refusal=refusals.refusal(outcome, self.subject),
            steps=tuple(steps) if outcome.allowed else (),
            filled=tuple(filled),
            applied=tuple(self._applied(outcome)),
            missed=tuple(nearly.missed(self.cluster, request, plain, self.subject)),
            topics=tuple(topics),
            notes=tuple(filter(None, [default_class.note(self.cluster, request, outcome)])),
        )

    def _filled(self, request: AdmissionRequest) -> Iterator[Filled]:
        """What defaults of LimitRanges and of a default PriorityClass come to.

        Quotas are left out, as they may refuse what has no defaults. What is refused tells nothing.
        """
        bare = without_policies(self.cluster)
        bare = replace(bare, plugins=bare.plugins - {"ResourceQuota"})
        plain = admit(bare, request)
        spans = {id(item.value): item.span for item in self.subject.manifests}
        for kind in ("PriorityClass", "LimitRange"):
            defaults = [obj for obj in _stored(self.cluster, kind) if _is_default(obj, request.namespace)]
            if kind == "PriorityClass" and default_class.named_class(request):
                continue
            if not defaults or plain.object is None or not plain.allowed:
                continue
            before = admit(_without(bare, defaults), request)
            if before.object is None or not before.allowed:
                continue
            by = " and ".join(objects.describe(obj) for obj in defaults)
            for said in say(diff(before.object, plain.object)):
                if kind == "PriorityClass" and said.change.path not in _OF_CLASS:
                    continue
                yield Filled(by, said, spans.get(id(defaults[0])))

    def _applied(self, outcome: Outcome) -> Iterator[Applied]:
        for verdict in outcome.verdicts:
            if verdict.kind in APPLIED and not verdict.reinvocation:
                yield Applied(
                    verdict.policy,
                    self.subject.rule_of(verdict.policy),
                    verdict.kind,
                    verdict.detail,
                    verdict.ignored,
                    verdict.variables,
                    self.subject.span_of(verdict.policy),
                )


def _stored(cluster: Cluster, kind: str) -> Iterator[dict[str, Any]]:
    return (obj for (_, name), stored in cluster.objects.items() if name == kind for obj in stored.values())


def _is_default(obj: Mapping[str, Any], namespace: str) -> bool:
    """Whether the server may fill something in because of it."""
    if obj.get("kind") == "PriorityClass":
        return obj.get("globalDefault") is True
    return (obj.get("metadata") or {}).get("namespace") == namespace


def _without(cluster: Cluster, removed: Sequence[Mapping[str, Any]]) -> Cluster:
    gone = {id(obj) for obj in removed}
    kept = {
        key: {name: obj for name, obj in stored.items() if id(obj) not in gone}
        for key, stored in cluster.objects.items()
    }
    return replace(cluster, objects=kept)


def _pod_of(workload: Mapping[str, Any]) -> dict[str, Any] | None:
    """A pod as the controller of a workload creates it."""
    kind = str(workload.get("kind"))
    template = objects.get(workload, _TEMPLATES[kind])
    if not isinstance(template, dict):
        return None
    metadata = workload.get("metadata") or {}
    name = str(metadata.get("name") or metadata.get("generateName") or "pod")
    api_version, owner, _ = _OWNERS[kind]
    own = template.get("metadata") or {}
    labels = dict(own.get("labels") or {})
    if owner == "Job":
        labels |= {"batch.kubernetes.io/job-name": name, "job-name": name}
    reference = {
        "apiVersion": api_version,
        "kind": owner,
        "name": name,
        "uid": "00000000-0000-4000-8000-000000000000",
        "controller": True,
        "blockOwnerDeletion": True,
    }
    kept = {key: own[key] for key in ("annotations", "finalizers") if key in own}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "generateName": f"{name}-",
            "name": f"{name}-x7k2p",
            "namespace": metadata.get("namespace"),
            **kept,
            **({"labels": labels} if labels else {}),
            "ownerReferences": [reference],
        },
        "spec": template.get("spec") or {},
    }
