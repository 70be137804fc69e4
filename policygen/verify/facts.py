"""What can be known of a policy without running it: its expressions, what they read, compare and write."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy, Expression, compile_policy
from policygen.admission.policy import BoundPolicy, Policy
from policygen.cel.ast import Expr
from policygen.verify import analysis
from policygen.verify.analysis import Effects

Part: TypeAlias = Literal["condition", "variable", "mutation", "validation", "message", "audit"]
Place: TypeAlias = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """One expression of a policy. `place` is its path in the manifest."""

    part: Part
    place: Place
    name: str
    text: str
    expr: Expr | None
    """None when it does not compile."""
    effects: Effects


@dataclass(frozen=True, eq=False)
class PolicyFacts:
    """One policy with its expressions."""

    policy: Policy
    bound: bool
    """Whether a binding makes it effective."""
    compiled: CompiledPolicy
    expressions: tuple[Known, ...]
    effects: Effects
    """Of all its expressions together."""

    @property
    def name(self) -> str:
        """The policy's name."""
        return self.policy.name

    def of(self, part: Part) -> Iterator[Known]:
        """The expressions of one part, in order."""
        return (known for known in self.expressions if known.part == part)

    def blamed(self, text: str) -> Place:
        """The place of the expression that an error of the server is about."""
        for known in self.of("variable"):
            if f'composited variable "{known.name}"' in text:
                return known.place
        for known in self.expressions:
            if known.text in text or (known.part == "condition" and f"'{known.name}'" in text):
                return known.place
        return ()


def gather(cluster: Cluster) -> tuple[PolicyFacts, ...]:
    """The facts of every policy of a cluster: mutating ones first, each kind by name."""
    bound = (*cluster.mutating_policies, *cluster.validating_policies)
    return tuple(facts(entry, cluster.version) for entry in bound)


def facts(entry: BoundPolicy, version: str) -> PolicyFacts:
    """The facts of one policy."""
    compiled = compile_policy(entry.policy, version)
    variables = {item.name: tree for item in compiled.variables if (tree := _tree(item)) is not None}
    expressions = tuple(_known(part, place, item, variables) for part, place, item in _parts(compiled))
    total = Effects()
    for known in expressions:
        total.add(known.effects)
    return PolicyFacts(entry.policy, bool(entry.bindings), compiled, expressions, total)


def _parts(compiled: CompiledPolicy) -> Iterator[tuple[Part, Place, Expression]]:
    for index, item in enumerate(compiled.conditions):
        yield "condition", ("spec", "matchConditions", index), item
    for index, item in enumerate(compiled.variables):
        yield "variable", ("spec", "variables", index), item
    for index, item in enumerate(compiled.mutations):
        yield "mutation", ("spec", "mutations", index), item
    for index, item in enumerate(compiled.validations):
        yield "validation", ("spec", "validations", index), item
    for index, message in enumerate(compiled.messages):
        if message is not None:
            yield "message", ("spec", "validations", index, "messageExpression"), message
    for index, item in enumerate(compiled.audit_annotations):
        yield "audit", ("spec", "auditAnnotations", index), item


def _tree(item: Expression) -> Expr | None:
    return None if item.program is None else item.program.checked.expr


def _known(part: Part, place: Place, item: Expression, variables: Mapping[str, Expr]) -> Known:
    tree = _tree(item)
    effects = Effects() if tree is None else analysis.analyse(tree, variables)
    return Known(part, place, item.name, item.text, tree, effects)
