"""The terms of affinity, spread and tolerations in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_OPERATORS: Final = {
    "In": "is {}",
    "NotIn": "is not {}",
    "Exists": "is there",
    "DoesNotExist": "is absent",
    "Gt": "is more than {}",
    "Lt": "is less than {}",
}


def node_term(term: Mapping[str, Any]) -> str:
    """A node selector term: `label `zone` is `a` or `b``."""
    told = [_expression(item, "label ") for item in term.get("matchExpressions") or []]
    told += [_expression(item, "field ") for item in term.get("matchFields") or []]
    return " and ".join(told) or "nothing fits (the term is empty)"


def _expression(item: Mapping[str, Any], noun: str) -> str:
    values = " or ".join(f"`{each}`" for each in item.get("values") or [])
    return f"{noun}`{item.get('key')}` " + _OPERATORS.get(str(item.get("operator")), "?").format(values)


def pod_term(term: Mapping[str, Any], *, anti: bool) -> str:
    """A pod affinity term: `in a `zone` where there are pods with the same `job-name``."""
    word = "without" if anti else "where there are"
    return f"in a `{term.get('topologyKey')}` {word} {pods(term)}"


def pods(term: Mapping[str, Any]) -> str:
    """Which pods a term is about; labels that are taken from the pod itself are told once."""
    selector = term.get("labelSelector") or {}
    keys = [str(key) for key in term.get("matchLabelKeys") or []]
    told = [f"label `{key}` is `{wanted}`" for key, wanted in (selector.get("matchLabels") or {}).items()]
    told += [
        _expression(item, "label ")
        for item in selector.get("matchExpressions") or []
        if item.get("key") not in keys
    ]
    if keys:
        told.append("the same " + " and ".join(f"`{key}`" for key in keys))
    return "pods with " + " and ".join(told) if told else "pods"


def spread(item: Mapping[str, Any]) -> str:
    """A topology spread constraint."""
    must = "always" if item.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule" else "if possible"
    return (
        f"over `{item.get('topologyKey')}` together with {pods(item)}: "
        f"numbers differ by {item.get('maxSkew')} at most, {must}"
    )


def toleration(item: Mapping[str, Any]) -> str:
    """A toleration: `taint `nvidia.com/gpu` (NoSchedule)`."""
    key, given = item.get("key"), item.get("value")
    what = f"taint `{key}`" if key else "every taint"
    if key and item.get("operator", "Equal") == "Equal":
        what = f"taint `{key}={given or ''}`"
    effect = f" ({item['effect']})" if item.get("effect") else ""
    limit = f" for {item['tolerationSeconds']} s" if item.get("tolerationSeconds") is not None else ""
    return f"{what}{effect}{limit}"
