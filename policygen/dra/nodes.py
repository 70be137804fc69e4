"""Node selectors: which nodes reach a slice or device (component-helpers `corev1/nodeaffinity`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from policygen.dra.model import Json, Node, NodeChoice


def reaches(choice: NodeChoice, node: Node | None) -> bool:
    """Whether a node may use what the choice belongs to: a name decides, else all nodes, else a selector."""
    if choice.name:
        return node is not None and node.name == choice.name
    if choice.all:
        return True
    return choice.selector is not None and node is not None and selector_matches(choice.selector, node)


def selector_matches(selector: Json, node: Node) -> bool:
    """Terms are alternatives; a term without any requirement matches nothing."""
    return any(_term_matches(term, node) for term in _requirements(selector, "nodeSelectorTerms"))


def _requirements(obj: Json, key: str) -> list[Json]:
    entries = obj.get(key)
    if not isinstance(entries, list):
        return []
    return [cast("Json", entry) for entry in entries if isinstance(entry, Mapping)]


def _term_matches(term: Json, node: Node) -> bool:
    expressions, fields = _requirements(term, "matchExpressions"), _requirements(term, "matchFields")
    if not expressions and not fields:
        return False
    own = {"metadata.name": node.name}
    return all(requirement_holds(entry, node.labels) for entry in expressions) and all(
        requirement_holds(entry, own) for entry in fields
    )


def requirement_holds(requirement: Json, labels: Mapping[str, str]) -> bool:
    """One requirement on labels; a missing label satisfies `NotIn` and `DoesNotExist`."""
    key, operator = str(requirement.get("key", "")), requirement.get("operator")
    listed = requirement.get("values")
    values = [str(value) for value in listed] if isinstance(listed, list) else []
    value = labels.get(key)
    match operator:
        case "In":
            return value is not None and value in values
        case "NotIn":
            return value is None or value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            return value is not None and len(values) == 1 and _ordered(value, values[0], operator == "Gt")
        case _:
            return False


def _ordered(value: str, bound: str, greater: bool) -> bool:
    try:
        left, right = int(value), int(bound)
    except ValueError:
        return False
    return left > right if greater else left < right
