"""No expression fails because a field that it reads is absent, null, empty or zero.

Every place that a policy's expressions read is taken from the objects at hand and sent in each of these
forms, and every list of containers with one, with many, with init and with ephemeral containers. Objects of
built-in kinds then pass through the server's typed structs, as they do on a cluster; custom kinds keep what
was sent, and null is tried there only where the definition allows it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from policygen.admission.server import admit
from policygen.diagnostics import make
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, Struct, child
from policygen.verify import analysis
from policygen.verify.facts import PolicyFacts
from policygen.verify.paths import ABSENT
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.shrink import shrink
from policygen.verify.variants import container_variants, places, replaced
from policygen.verify.world import Trial, World, errors_of

NAME = "null-safe"
TRIALS_A_POLICY: Final = 3
"""Objects that each policy is tried on; those to which it applies come first."""

_REQUIRED: Final = frozenset({("metadata",), ("metadata", "name"), ("spec",)})
_WORDS: Final = {"absent": "is absent", "null": "is null", "empty": "is empty", "zero": "is zero"}


def check(world: World) -> PropertyResult:
    """One finding per policy and place."""
    tried = 0
    findings: list[Finding] = []
    for facts in world.facts:
        if not facts.bound:
            continue
        seen: set[tuple[str, ...]] = set()
        sent: set[str] = set()
        for index in _trials(world, facts):
            trial = world.trials[index]
            if trial.request.operation != "CREATE":
                continue
            for form, path, obj in _variants(world, facts, trial):
                text = repr(obj)
                if path in seen or text in sent:
                    continue
                sent.add(text)
                tried += 1
                finding = _try(world, facts, trial.sending(obj), form, path)
                if finding is not None:
                    seen.add(path)
                    findings.append(finding)
    return PropertyResult(NAME, world.subject.version, tried, tuple(findings))


def _trials(world: World, facts: PolicyFacts) -> Sequence[int]:
    applied = sorted(world.applied_to(facts.name))
    return applied[:TRIALS_A_POLICY]


def _variants(
    world: World, facts: PolicyFacts, trial: Trial
) -> Iterator[tuple[str, tuple[str, ...], dict[str, Any]]]:
    """(form, path, object) for each form of each place that is read."""
    schema = world.cluster.schema(trial.request.kind)
    for path in sorted(analysis.object_reads(facts.effects)):
        if path in _REQUIRED:
            continue
        for steps in places(trial.object, path):
            for form, value in _forms(schema, path):
                yield form, path, replaced(trial.object, steps, value)
    for form, obj in container_variants(trial.object):
        yield form, (), obj


def _forms(schema: KindSchema | None, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    yield "absent", ABSENT
    node = None if schema is None else _node(schema, path)
    if (schema is not None and schema.builtin) or (node is not None and node_is_nullable(node)):
        yield "null", None
    match node:
        case ListOf():
            yield "empty", []
        case MapOf() | Struct():
            yield "empty", {}
        case Scalar(kind="string"):
            yield "empty", ""
        case Scalar(kind="bool"):
            yield "zero", False
        case Scalar(kind="int32" | "int64" | "int-or-string"):
            yield "zero", 0
        case _:
            return


def node_is_nullable(node: Node) -> bool:
    """Whether a custom kind's schema allows null."""
    return node.nullable if isinstance(node, (ListOf, MapOf, Scalar, Struct)) else False


def _node(schema: KindSchema, path: tuple[str, ...]) -> Node | None:
    node: Node | None = schema.root
    for step in path:
        if node is None:
            return None
        inner = "[]" if isinstance(node, ListOf) else step
        node = child(node, inner)
    return node


def _try(world: World, facts: PolicyFacts, trial: Trial, form: str, path: tuple[str, ...]) -> Finding | None:
    """A finding when an expression of this policy fails on an object that the server itself accepts."""
    text = _error(world, facts.name, trial)
    if text is None or not admit(world.bare, trial.request).allowed:
        return None
    smallest = shrink(trial.object, lambda obj: _error(world, facts.name, trial.sending(obj)) == text)
    where = f"`{'.'.join(path)}` {_WORDS[form]}" if path else f"the pod has {form}"
    diagnostic = make(
        "error",
        "verify-not-null-safe",
        f"`{world.subject.rule_of(facts.name)}` fails when {where}",
        world.subject.span_of(facts.name),
        notes=[f"the API server would say: {text}"],
        help=["guard the field with `has(…)` or `?.` before it is read"],
    )
    return Finding(diagnostic, facts.name, smallest)


def _error(world: World, policy: str, trial: Trial) -> str | None:
    outcome = admit(world.cluster, trial.request)
    return next((text for name, text in errors_of(outcome) if name == policy), None)
