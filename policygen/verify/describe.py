"""Objects in plain words: the smallest that shows a fault, and the one that would reach a policy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from policygen.kube import manifest
from policygen.verify.facts import PolicyFacts
from policygen.verify.world import World


def listed(names: Sequence[str]) -> str:
    """Names in a sentence: `` `a`, `b` and `c` ``."""
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def as_yaml(obj: Mapping[str, Any]) -> str:
    """An object as people write it."""
    return manifest.write(obj).rstrip()


def describe(world: World, facts: PolicyFacts) -> str:
    """What keeps the objects from the policy, most common reason first, and what it matches."""
    reasons: Counter[str] = Counter()
    for outcome in world.outcomes:
        for verdict in outcome.verdicts:
            if verdict.policy == facts.name and verdict.mutating == facts.policy.mutating:
                reasons[f"{verdict.kind}: {verdict.detail}" if verdict.detail else verdict.kind] += 1
    lines = [f"{count} of {len(world.trials)} objects are {text}" for text, count in reasons.most_common(4)]
    wanted = []
    for rule in facts.policy.match.rules:
        resources = ", ".join(sorted(resource for resource, _ in rule.resources))
        wanted.append(f"{'/'.join(sorted(rule.operations))} of {resources}")
    match = facts.policy.match
    for what, selector in (("objects", match.object_selector), ("namespaces", match.namespace_selector)):
        if selector.requirements:
            wanted.append(f"{what} with `{selector}`")
    wanted += [f"`{item.name}`: {' '.join(item.text.split())}" for item in facts.of("condition")]
    return "\n".join([*lines, "it applies to:", *(f"- {text}" for text in wanted)])
