"""No two policies write one atomic field, each without looking at what is there.

An atomic list, map or struct is replaced as a whole: the later of two writers that do not read it wins.
"""

from __future__ import annotations

from itertools import combinations

from policygen.admission.request import Object
from policygen.diagnostics import Label, make
from policygen.kube import names
from policygen.kube.schema import ELEMENT, KindSchema, ListOf, Node, child, is_atomic
from policygen.verify import analysis
from policygen.verify.analysis import ANY, Path
from policygen.verify.facts import PolicyFacts
from policygen.verify.properties.order import difference
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World

NAME = "one writer of an atomic field"


def check(world: World) -> PropertyResult:
    """One finding per pair and field."""
    facts = [known for known in world.facts if known.policy.mutating and known.bound]
    schemas = [schema for trial in world.trials if (schema := _schema(world, trial.object)) is not None]
    unique = list({id(schema): schema for schema in schemas}.values())
    blind = {known.name: _blind(known, unique) for known in facts}
    findings = []
    for left, right in combinations(facts, 2):
        shared = sorted(blind[left.name] & blind[right.name])
        if shared and _undo_each_other(world, left, right):
            findings += [_finding(world, left, right, path) for path in shared]
    return PropertyResult(NAME, world.subject.version, len(facts), tuple(findings))


def _schema(world: World, obj: Object) -> KindSchema | None:
    return world.cluster.schema(names.gvk(str(obj.get("apiVersion", "")), str(obj.get("kind", ""))))


def _undo_each_other(world: World, left: PolicyFacts, right: PolicyFacts) -> bool:
    """Whether some object takes both, and the later one wins: two that write the same are no harm."""
    pair = [world.mutating[left.name], world.mutating[right.name]]
    one, two = world.alone(pair), world.alone(pair[::-1])
    both = (attempt for attempt in world.attempts if {left.name, right.name} <= attempt.applied)
    return any(any(difference(one, two, attempt.trial)) for attempt in both)


def _blind(facts: PolicyFacts, schemas: list[KindSchema]) -> set[Path]:
    """Atomic fields that the policy writes whole and does not read."""
    reads = {
        path
        for known in (*facts.of("condition"), *facts.of("mutation"))
        for path in analysis.object_reads(known.effects)
    }
    return {
        path
        for path in facts.effects.writes
        if any(_ends_atomic(schema, path) for schema in schemas)
        and not analysis.meets([path], reads - _above(path))
    }


def _above(path: Path) -> set[Path]:
    """Reads of what encloses the field say nothing of the field itself."""
    return {path[:length] for length in range(len(path))}


def _ends_atomic(schema: KindSchema, path: Path) -> bool:
    """Whether a path ends in an atomic field; patches name list items without a step for them."""
    node: Node | None = schema.root
    for step in path:
        while isinstance(node, ListOf) and step != ANY:
            node = node.element
        if node is None:
            return False
        node = child(node, ELEMENT if isinstance(node, ListOf) else step)
    return node is not None and is_atomic(node)


def _finding(world: World, left: PolicyFacts, right: PolicyFacts, path: Path) -> Finding:
    names_of = [world.subject.rule_of(known.name) for known in (left, right)]
    span = world.place(right.name)
    diagnostic = make(
        "error",
        "verify-two-writers",
        f"`{names_of[0]}` and `{names_of[1]}` both write `{'.'.join(path)}`, which is replaced as a whole",
        world.place(left.name),
        "one writer",
        related=[Label(span, "the other")] if span else [],
        notes=["the API server does not define an order of policies: the later one wins"],
        help=["write the field in one rule, or append to it only where an equal item is absent"],
    )
    return Finding(diagnostic, left.name)
