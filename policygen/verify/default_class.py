"""Pods that name the default PriorityClass: to a rule that fills in a class they name none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.request import AdmissionRequest


def named_class(request: AdmissionRequest) -> str:
    """The class that a pod names when it is sent, empty for none."""
    if request.kind.kind != "Pod" or request.object is None:
        return ""
    spec = request.object.get("spec")
    name = spec.get("priorityClassName") if isinstance(spec, Mapping) else None
    return name if isinstance(name, str) else ""


def note(cluster: Cluster, request: AdmissionRequest, outcome: Outcome) -> str:
    """Why a class that the pod names is replaced all the same; empty where it is not."""
    name = named_class(request)
    stored = cluster.get("PriorityClass", name, "", "scheduling.k8s.io") if name else None
    if stored is None or stored.get("globalDefault") is not True or not replacing(outcome):
        return ""
    return f"`{name}` is the default class: naming it counts as naming none"


def replacing(outcome: Outcome) -> frozenset[str]:
    """The policies that replace the class of a pod."""
    return frozenset(
        verdict.policy
        for verdict in outcome.verdicts
        for change in verdict.changes
        if change.path == "spec.priorityClassName" and change.op == "replace"
    )


def concerns(finding_policy: str, message: str, changes: Any, outcome: Outcome) -> bool:
    """Whether a failure is about the class."""
    return (
        finding_policy in replacing(outcome)
        or "spec.priority" in message
        or any(change.path.startswith("spec.priority") for change in changes)
    )
