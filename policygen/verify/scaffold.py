"""A first suite for policies that have none: objects that reach each of them, with what happens to them now.

Objects are looked for: the labels and the namespace that a policy selects are put into a plain pod, and what
its conditions read is varied until it applies. What is not found is said in the suite, with what would fit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.kube import manifest
from policygen.kube.selectors import Selector
from policygen.verify import generate
from policygen.verify.expect import APPLIED
from policygen.verify.facts import PolicyFacts, gather
from policygen.verify.subject import Subject
from policygen.verify.suite_shape import API_VERSION, KIND
from policygen.verify.world import create

_TRIES: Final = 300
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_IMAGE: Final = "registry.example.com/app:1.0"


@dataclass(frozen=True, slots=True)
class _Found:
    """An object for the suite and what comes of it."""

    name: str
    object: dict[str, Any]
    rules: tuple[str, ...]
    outcome: Outcome
    changed: bool


def scaffold(subject: Subject, policies: str, schema: str) -> dict[str, str]:
    """File name → text: the suite, its fixtures and its goldens."""
    cluster = Cluster.from_objects(subject.objects, version=subject.version, open_namespaces=True)
    namespaces: dict[str, dict[str, Any]] = {}
    found: list[_Found] = []
    reached: set[str] = set()
    lacking: list[PolicyFacts] = []
    for facts in gather(cluster):
        rule = subject.rule_of(facts.name)
        if not facts.bound or rule in reached or not _is_about_pods(facts):
            continue
        made = _search(subject, cluster, facts, rule, namespaces)
        if made is None:
            lacking.append(facts)
            continue
        found.append(made)
        reached |= set(made.rules)
    found.append(_try(subject, cluster, "other", _pod("other", "default")))
    missing = [facts for facts in lacking if subject.rule_of(facts.name) not in reached]
    texts = {"suite.yaml": _suite(subject, policies, schema, found, list(namespaces.values()), missing)}
    texts["fixtures/pods.yaml"] = "---\n".join(manifest.write(item.object) for item in found)
    for item in found:
        if item.changed and item.outcome.object is not None:
            texts[f"goldens/{item.name}.yaml"] = manifest.write(item.outcome.object)
    return texts


def _is_about_pods(facts: PolicyFacts) -> bool:
    return any(
        "CREATE" in rule.operations and ("pods", "") in rule.resources for rule in facts.policy.match.rules
    )


def _pod(name: str, namespace: str, labels: dict[str, str] | None = None) -> dict[str, Any]:
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if labels:
        metadata["labels"] = labels
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [{"name": "main", "image": _IMAGE}]},
    }


def _search(
    subject: Subject, cluster: Cluster, facts: PolicyFacts, rule: str, namespaces: dict[str, dict[str, Any]]
) -> _Found | None:
    """An object that the policy applies to and the server accepts; else one that it applies to."""
    wanted = _labels(facts.policy.match.namespace_selector)
    namespace = wanted.pop(_NAME_LABEL, "") or (f"{rule}-example" if wanted else "default")
    if wanted:
        stored = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": wanted}}
        namespaces[namespace] = stored
        cluster = Cluster.from_objects(
            [*subject.objects, stored], version=subject.version, open_namespaces=True
        )
    start = _pod(rule.replace(".", "-"), namespace, _labels(facts.policy.match.object_selector))
    values = generate.candidates([facts])
    random = Random(rule)
    schema = cluster.schema(create(start, "").request.kind)
    refused = None
    for obj in _variants(start, values, schema, random):
        found = _try(subject, cluster, start["metadata"]["name"], obj)
        if rule in found.rules:
            if found.outcome.allowed:
                return found
            refused = refused or found
    return refused


def _variants(
    start: dict[str, Any], values: generate.Values, schema: Any, random: Random
) -> Iterator[dict[str, Any]]:
    yield start
    if values:
        for _ in range(_TRIES):
            yield generate.changed(start, values, schema, random)


def _labels(selector: Selector) -> dict[str, str]:
    """Labels that a selector wants."""
    wanted = {}
    for requirement in selector.requirements:
        if requirement.operator == "In":
            wanted[requirement.key] = requirement.values[0]
        elif requirement.operator == "Exists":
            wanted[requirement.key] = "x"
    return wanted


def _try(subject: Subject, cluster: Cluster, name: str, obj: dict[str, Any]) -> _Found:
    outcome = admit(cluster, create(obj, name).request, explain=True)
    rules = tuple(dict.fromkeys(subject.rule_of(v.policy) for v in outcome.verdicts if v.kind in APPLIED))
    changed = any(verdict.kind == "mutated" for verdict in outcome.verdicts)
    return _Found(name, obj, rules, outcome, changed)


def _suite(
    subject: Subject,
    policies: str,
    schema: str,
    found: list[_Found],
    namespaces: list[dict[str, Any]],
    missing: list[PolicyFacts],
) -> str:
    head: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "policies": policies}
    if not subject.bundles:
        head["kubernetes"] = subject.version
    head["fixtures"] = "fixtures/pods.yaml"
    if namespaces:
        head["cluster"] = namespaces
    head["cases"] = [_case(item) for item in found]
    lines = [
        f"# yaml-language-server: $schema=./{schema}",
        "#",
        "# What happens to these objects now. Say in each name what is meant, and drop what is not.",
    ]
    import yaml

    body = yaml.safe_dump(head, sort_keys=False, allow_unicode=True, width=110)
    notes = []
    for facts in missing:
        notes.append(
            f"# No object here reaches rule `{subject.rule_of(facts.name)}`. Add one for which holds:"
        )
        notes += [f"#   {' '.join(condition.text.split())}" for condition in facts.of("condition")]
    return "\n".join(lines) + "\n" + body + ("\n" + "\n".join(notes) + "\n" if notes else "")


def _case(item: _Found) -> dict[str, Any]:
    expect: dict[str, Any] = {"matched": list(item.rules)}
    outcome = item.outcome
    if not outcome.allowed:
        expect["denied"] = outcome.message
    elif item.changed:
        expect["golden"] = f"goldens/{item.name}.yaml"
    else:
        expect["unchanged"] = True
    if outcome.warnings:
        expect["warnings"] = list(outcome.warnings)
    who = f"a pod for {' and '.join(item.rules)}" if item.rules else "a pod that no rule is about"
    return {"name": who, "object": item.name, "expect": expect}
