"""Checks of what is passed on to Kubernetes as it is: security contexts and volume sources.

They end up inside CEL expressions, where no schema would look at them before the first pod does. So each is
put into a pod and checked there.
"""

from __future__ import annotations

from typing import Any

from policygen.compiler.model import Model
from policygen.compiler.model_actions import Action, AddVolume, Json, SetSecurityContext
from policygen.diagnostics import Diagnostics
from policygen.kube.validate import check


def check_fragments(model: Model, found: Diagnostics) -> None:
    """Every field is one that the version has, with a value of its type."""
    for rule in model.rules:
        for action in rule.actions:
            pod = _pod(action)
            for problem in check(pod, model.kubernetes) if pod else ():
                found.error(
                    "not-in-schema",
                    problem.message,
                    action.span,
                    notes=["the path is that in a pod"],
                    help=[problem.help] if problem.help else [],
                )


def _pod(action: Action) -> dict[str, Any] | None:
    """A pod with nothing but the fragment, if the action has one."""
    spec: dict[str, Any] = {"containers": [{"name": "main"}]}
    match action:
        case AddVolume():
            spec["volumes"] = [{"name": action.name, **action.source}]
        case SetSecurityContext():
            value: Json = action.value
            for step in reversed(action.path):
                value = {step: value}
            owner = spec if action.containers is None else spec["containers"][0]
            owner["securityContext"] = value
        case _:
            return None
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}, "spec": spec}
