"""Checks of what is passed on to Kubernetes as it is: security contexts and volume sources.

They end up inside CEL expressions, where no schema would look at them before the first pod does. So each is
put into a pod and checked there.
"""

from __future__ import annotations

from typing import Any

from policygen.compiler.model import Model
from policygen.compiler.model_actions import Action, AddVolume, Json, Rule, SetSecurityContext
from policygen.diagnostics import Diagnostics, Label
from policygen.kube.validate import check


def check_fragments(model: Model, found: Diagnostics) -> None:
    """Every field is one that the version has, with a value of its type."""
    for rule in model.rules:
        for action in rule.actions:
            pod = _pod(action)
            problems = list(check(pod, model.kubernetes)) if pod else []
            for problem in problems:
                found.error(
                    "not-in-schema",
                    problem.message,
                    action.span,
                    notes=["the path is that in a pod"],
                    help=[problem.help] if problem.help else [],
                )
            if pod and not problems:
                _check_values(pod["spec"], "spec", action, found)
        _check_privileges(rule, found)


_WORDS = {
    ("securityContext", "fsGroupChangePolicy"): ("OnRootMismatch", "Always"),
    ("securityContext", "supplementalGroupsPolicy"): ("Merge", "Strict"),
    ("securityContext", "procMount"): ("Default", "Unmasked"),
    ("seccompProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    ("appArmorProfile", "type"): ("RuntimeDefault", "Localhost", "Unconfined"),
    ("emptyDir", "medium"): ("", "Memory", "HugePages", "HugePages-2Mi", "HugePages-1Gi", "HugePages-64Ki"),
    ("image", "pullPolicy"): ("Always", "Never", "IfNotPresent"),
    ("hostPath", "type"): (
        *("", "Directory", "DirectoryOrCreate", "File", "FileOrCreate"),
        *("Socket", "CharDevice", "BlockDevice"),
    ),
}
"""Where a field stands and its name -> the words that `ValidatePodSpec` takes."""
_IDS = frozenset({"runAsUser", "runAsGroup", "fsGroup"})
_MAX_ID = 2**31 - 1
_NEEDED = {("volumes", "configMap"): "name", ("volumes", "secret"): "secretName"}


def _check_values(value: Json, parent: str, action: Action, found: Diagnostics) -> None:
    """What the schema allows and the API server refuses in every pod."""
    if isinstance(value, list):
        for item in value:
            _check_values(item, parent, action, found)
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        known = _WORDS.get((parent, key))
        if known is not None and inner not in known:
            listed = ", ".join(f"`{word}`" for word in known if word)
            message = f"`{key}` cannot be `{inner}`"
            found.error("unknown-word", message, action.span, help=[f"use one of {listed}"])
        if key in _IDS and isinstance(inner, int) and not 0 <= inner <= _MAX_ID:
            found.error("out-of-range", f"`{key}` must be from 0 to {_MAX_ID}", action.span)
        needed = _NEEDED.get((parent, key))
        if needed is not None and isinstance(inner, dict) and not inner.get(needed):
            _missing(key, needed, action, found)
        _check_values(inner, key, action, found)
    if parent in {"seccompProfile", "appArmorProfile"} and value.get("type") == "Localhost":
        if not value.get("localhostProfile"):
            _missing(parent, "localhostProfile", action, found)


def _missing(owner: str, key: str, action: Action, found: Diagnostics) -> None:
    found.error("missing-key", f"`{owner}` needs the key `{key}`", action.span, help=[f"add `{key}:`"])


def _check_privileges(rule: Rule, found: Diagnostics) -> None:
    """A privileged container cannot be kept from more privileges."""
    leaves = {
        action.path: action
        for action in rule.actions
        if isinstance(action, SetSecurityContext) and action.containers is not None
    }
    privileged, escalation = leaves.get(("privileged",)), leaves.get(("allowPrivilegeEscalation",))
    if privileged and escalation and privileged.value is True and escalation.value is False:
        found.error(
            "conflicting-value",
            "`allowPrivilegeEscalation` cannot be false where `privileged` is true",
            escalation.span,
            related=[Label(privileged.span, "privileged here")],
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
