"""A first suite for policies that have none: objects that reach each of them, with what happens to them now.

Objects are looked for: the labels and the namespace that a policy selects are put into a plain pod, and what
its conditions read is varied until it applies. Then those objects are varied, first in one place and then in
several, and each variant is kept that reaches what none before it did: the other side of a condition, a
refusal, an arm. What is not found is said in the suite, with what would fit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final

from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Outcome
from policygen.admission.server import admit
from policygen.kube import manifest
from policygen.kube.schema import KindSchema, ListOf, Node, Scalar, Struct, child
from policygen.kube.selectors import Selector
from policygen.verify import generate
from policygen.verify.analysis import Path
from policygen.verify.expect import APPLIED
from policygen.verify.facts import PolicyFacts, gather
from policygen.verify.fill import consistent, filled, new_item
from policygen.verify.paths import ABSENT
from policygen.verify.properties import coverage
from policygen.verify.subject import Subject
from policygen.verify.suite_shape import API_VERSION, KIND
from policygen.verify.watch import Watch
from policygen.verify.world import World, create

NOT_REACHED: Final = "# Not reached yet by these objects, so `policygen verify` will say it."
_TRIES: Final = 300
_NAME_LABEL: Final = "kubernetes.io/metadata.name"
_WANTED: Final = {
    "condition": frozenset({"true", "false"}),
    "validation": frozenset({"true", "false"}),
    "mutation": frozenset({"value"}),
}
"""Part of a policy -> what each expression of it must have given once."""
_EXAMPLES: Final[dict[str, tuple[Any, ...]]] = {
    "bool": (True, False),
    "int32": (1,),
    "int64": (1,),
    "quantity": ("1",),
    "string": ("x",),
}
"""Values of a type, for places that are compared with no constant."""
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
    stored = list(namespaces.values())
    found += _more(subject, stored, found)
    unreached = [] if lacking else _unreached(subject, stored, found)
    missing = [facts for facts in lacking if subject.rule_of(facts.name) not in reached]
    texts = {"suite.yaml": _suite(subject, policies, schema, found, stored, missing, unreached)}
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


def _more(subject: Subject, stored: list[dict[str, Any]], found: list[_Found]) -> list[_Found]:
    """Variants of the objects that reach something new, the simple ones first."""
    world = World(subject, stored, ())
    watch = Watch()
    watched = watch.cluster(world.cluster)
    for item in found:
        admit(watched, create(item.object, item.name).request)
    made: list[_Found] = []
    counts: Counter[str] = Counter()
    for facts in world.facts:
        rule = subject.rule_of(facts.name)
        starts = [item.object for item in found if rule in item.rules]
        if not starts or not facts.bound:
            continue
        for obj in _changes(world, facts, starts[0], Random(rule)):
            if _is_complete(facts, watch):
                break
            name = f"{rule.replace('.', '-')}-{counts[rule] + 2}"
            named = {**obj, "metadata": {**obj["metadata"], "name": name}}
            trial = create(named, name)
            if not admit(world.lenient, trial.request).allowed:
                continue
            before = _reached(facts, watch)
            admit(watched, trial.request)
            if _reached(facts, watch) > before:
                made.append(_try(subject, world.cluster, trial.title, named))
                counts[rule] += 1
    return made


def _changes(
    world: World, facts: PolicyFacts, start: dict[str, Any], random: Random
) -> Iterator[dict[str, Any]]:
    """Objects with another value in one place, then in several."""
    values = generate.candidates([facts])
    schema = world.cluster.schema(create(start, "").request.kind)
    for path in sorted(values):
        for value in (*values[path], *_of_type(schema, path), ABSENT):
            yield consistent(filled(start, path, value, schema))
    for _ in range(_TRIES if values else 0):
        yield generate.changed(start, values, schema, random)


def _of_type(schema: KindSchema | None, path: Path) -> tuple[Any, ...]:
    """Values of a place that is compared with nothing: both truths, some number, a text, one item."""
    node: Node | None = None if schema is None else schema.root
    for step in path:
        node = None if node is None else child(node, "[]" if isinstance(node, ListOf) else step)
    if isinstance(node, ListOf):
        return ([new_item(path)],) if isinstance(node.element, Struct) else ()
    return _EXAMPLES.get(node.kind, ()) if isinstance(node, Scalar) else ()


def _reached(facts: PolicyFacts, watch: Watch) -> int:
    """How much of what must be reached has been."""
    total = 0
    for known in facts.expressions:
        seen = watch.of(facts.policy, known.text)
        total += len(seen.values & _WANTED.get(known.part, frozenset())) + len(seen.taken)
    return total


def _is_complete(facts: PolicyFacts, watch: Watch) -> bool:
    return all(
        watch.of(facts.policy, known.text).values >= _WANTED.get(known.part, frozenset())
        and len(watch.of(facts.policy, known.text).taken) == len(watch.of(facts.policy, known.text).branches)
        for known in facts.expressions
    )


def _unreached(subject: Subject, stored: list[dict[str, Any]], found: list[_Found]) -> list[str]:
    """What `verify` will say is not reached."""
    trials = tuple(create(item.object, item.name) for item in found)
    return [finding.diagnostic.message for finding in coverage.check(World(subject, stored, trials)).findings]


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
    unreached: list[str],
) -> str:
    head: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "policies": policies}
    if not subject.bundles:
        head["kubernetes"] = subject.version
    head["fixtures"] = "fixtures/pods.yaml"
    if namespaces:
        head["cluster"] = namespaces
    head["cases"] = _cases(found)
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
    if unreached:
        notes.append(f"{NOT_REACHED} Add a case for each:")
        notes += [f"#   {' '.join(text.split())}" for text in dict.fromkeys(unreached)]
    return "\n".join(lines) + "\n" + body + ("\n" + "\n".join(notes) + "\n" if notes else "")


def _cases(found: list[_Found]) -> list[dict[str, Any]]:
    """The cases, with a number where several are about the same rules."""
    cases: list[dict[str, Any]] = []
    names: Counter[str] = Counter()
    for item in found:
        case = _case(item)
        names[case["name"]] += 1
        count = names[case["name"]]
        cases.append({**case, "name": f"{case['name']} ({count})"} if count > 1 else case)
    return cases


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
