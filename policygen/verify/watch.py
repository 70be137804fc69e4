"""Policies whose expressions are watched while they run: what they cost, gave, and which branches they took.

A branch is an arm of a conditional that somebody wrote (those that macros expand to do not count). It is
seen by a call that is put around it before the expression is checked, so what runs is otherwise the same
expression.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy, Maker, compile_with
from policygen.admission.policy import BoundPolicy, Policy
from policygen.cel import checker, types, validators
from policygen.cel.ast import (
    Call,
    Comprehension,
    Entry,
    Expr,
    FieldInit,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Parsed,
    Select,
    StructExpr,
    walk,
)
from policygen.cel.budget import Budget
from policygen.cel.decls import FunctionDecl, Overload
from policygen.cel.env import Env
from policygen.cel.errors import EvalError
from policygen.cel.program import Program, parse
from policygen.cel.unparse import unparse
from policygen.cel.values import ObjectValue

Key: TypeAlias = tuple[bool, str, str]
"""Whether the policy is a mutating one, its name, and the text of the expression."""

PROBE: Final = "@branch"
_ANY: Final = types.param("T")


@dataclass(frozen=True, slots=True)
class Branch:
    """One arm of a conditional: `line` is where its test begins in the expression, `test` the test's text."""

    number: int
    arm: bool
    line: int
    test: str


@dataclass(slots=True)
class Seen:
    """What one expression did over all requests."""

    cost: int = 0
    """The most that one evaluation cost."""
    values: set[str] = field(default_factory=set)
    """Of `true`, `false`, `empty` (a patch that does nothing), `value`, `error`."""
    branches: tuple[Branch, ...] = ()
    taken: set[int] = field(default_factory=set)


@dataclass(slots=True)
class Watch:
    """What all watched expressions did."""

    seen: dict[Key, Seen] = field(default_factory=dict)
    branches: bool = True
    """Whether branches are watched as well."""
    _compiled: dict[tuple[bool, str], CompiledPolicy] = field(default_factory=dict)

    def cluster(self, cluster: Cluster) -> Cluster:
        """The same server with all its policies watched."""
        bound = (*cluster.mutating_policies, *cluster.validating_policies)
        compiled = [self.compiled(entry.policy, cluster.version) for entry in bound]
        return cluster.running(cluster.mutating_policies, cluster.validating_policies, compiled)

    def mutation(self, cluster: Cluster, entry: BoundPolicy, index: int) -> Cluster:
        """The server with one mutation of one policy, watched."""
        policy, compiled = entry.policy, self.compiled(entry.policy, cluster.version)
        alone = replace(policy, mutations=(policy.mutations[index],))
        watched = replace(compiled, policy=alone, mutations=(compiled.mutations[index],))
        return cluster.running((BoundPolicy(alone, entry.bindings),), (), [watched])

    def of(self, policy: Policy, text: str) -> Seen:
        """What one expression did."""
        return self.seen.get((policy.mutating, policy.name, text), Seen())

    def compiled(self, policy: Policy, version: str) -> CompiledPolicy:
        """The policy with its expressions watched."""
        key = (policy.mutating, policy.name)
        if key not in self._compiled:
            self._compiled[key] = compile_with(policy, version, self._maker(policy))
        return self._compiled[key]

    def _maker(self, policy: Policy) -> Maker:
        def make(text: str, env: Env) -> Program:
            seen = self.seen.setdefault((policy.mutating, policy.name, text), Seen())
            return _Watched.of(text, env, seen, self.branches)

        return make


class _Watched(Program):
    """A program that notes what it does."""

    __slots__ = ("_seen",)

    def __init__(self, checked: checker.Checked, env: Env, seen: Seen) -> None:
        super().__init__(checked, env)
        self._seen = seen

    @classmethod
    def of(cls, text: str, env: Env, seen: Seen, branches: bool) -> Program:
        parsed = parse(text, env)
        plain = checker.check(parsed, env)
        validators.validate(plain, env)
        found = _branches(text, parsed) if branches else {}
        if not found:
            return cls(plain, env, seen)
        seen.branches = tuple(branch for arms in found.values() for branch in arms)
        probed = replace(env, functions={**env.functions, PROBE: _declaration(seen.taken)})
        expr = _Rewrite(found, parsed).expr(parsed.expr)
        return cls(checker.check(replace(parsed, expr=expr, depth=parsed.depth * 2), probed), probed, seen)

    def evaluate_with_cost(
        self, activation: Mapping[str, Any], *, limit: int | None = None, budget: Budget | None = None
    ) -> tuple[Any, int]:
        try:
            value, cost = super().evaluate_with_cost(activation, limit=limit, budget=budget)
        except EvalError as error:
            self._seen.values.add("error")
            self._seen.cost = max(self._seen.cost, getattr(error, "cost", 0) or 0)
            raise
        self._seen.cost = max(self._seen.cost, cost)
        self._seen.values.add(_kind(value))
        return value, cost


def _kind(value: Any) -> str:
    if value is True or value is False:
        return str(value).lower()
    if value == [] or (type(value) is ObjectValue and _is_empty(value)):
        return "empty"
    return "value"


def _is_empty(value: ObjectValue) -> bool:
    """Whether an object sets nothing, whatever levels it has."""
    return all(type(item) is ObjectValue and _is_empty(item) for item in value.fields.values())


def _declaration(taken: set[int]) -> FunctionDecl:
    def bind(number: int, value: Any) -> Any:
        taken.add(number)
        return value

    overload = Overload("branch", (types.INT, _ANY), _ANY, bind, cost=0)
    return FunctionDecl(PROBE, (overload,))


def _branches(text: str, parsed: Parsed) -> dict[int, tuple[Branch, Branch]]:
    """The conditionals that were written as such, by id, with their two arms.

    Guards against null are left out: objects with null are what null safety tries, and nobody's fixture.
    """
    expanded = set(_from_macros(parsed.expr))
    found: dict[int, tuple[Branch, Branch]] = {}
    for node in sorted(walk(parsed.expr), key=lambda node: parsed.info.offsets.get(node.id, 0)):
        if isinstance(node, Call) and node.function == "_?_:_" and node.id not in expanded:
            if _asks_for_null(node.args[0]):
                continue
            offset = min(parsed.info.offsets.get(part.id, 0) for part in walk(node.args[0]))
            line, test = text.count("\n", 0, offset) + 1, unparse(replace(parsed, expr=node.args[0]))
            number = 2 * len(found)
            found[node.id] = (Branch(number, True, line, test), Branch(number + 1, False, line, test))
    return found


def _from_macros(expr: Expr) -> Iterable[int]:
    """Conditionals that `filter`, `map` with a predicate, `exists_one`, `optMap` and the like expand to."""
    for node in walk(expr):
        if isinstance(node, Comprehension) and isinstance(node.step, Call):
            last = node.step.args[-1] if node.step.args else None
            if isinstance(last, Ident) and last.name == node.accu:
                yield node.step.id
        if isinstance(node, Call) and node.function == "_?_:_":
            last = node.args[2]
            if isinstance(last, Call) and last.function == "optional.none":
                yield node.id


def _asks_for_null(test: Expr) -> bool:
    return (
        isinstance(test, Call)
        and test.function in ("_==_", "_!=_")
        and any(isinstance(side, Literal) and side.value is None for side in test.args)
    )


class _Rewrite:
    """Puts a probe around each arm."""

    def __init__(self, branches: Mapping[int, tuple[Branch, Branch]], parsed: Parsed) -> None:
        self._branches = branches
        self._offsets = parsed.info.offsets
        self._next = max((node.id for node in walk(parsed.expr)), default=0) + 1

    def expr(self, node: Expr) -> Expr:
        match node:
            case Select():
                return replace(node, operand=self.expr(node.operand))
            case Call():
                target = None if node.target is None else self.expr(node.target)
                args = tuple(self.expr(arg) for arg in node.args)
                arms = self._branches.get(node.id)
                if arms is not None:
                    args = (args[0], self._probe(arms[0], args[1]), self._probe(arms[1], args[2]))
                return replace(node, target=target, args=args)
            case ListExpr():
                return replace(node, elements=tuple(self.expr(element) for element in node.elements))
            case MapExpr():
                return replace(node, entries=tuple(self._entry(entry) for entry in node.entries))
            case StructExpr():
                return replace(node, fields=tuple(self._init(init) for init in node.fields))
            case Comprehension():
                return replace(
                    node,
                    range=self.expr(node.range),
                    init=self.expr(node.init),
                    condition=self.expr(node.condition),
                    step=self.expr(node.step),
                    result=self.expr(node.result),
                )
            case _:
                return node

    def _entry(self, entry: Entry) -> Entry:
        return replace(entry, key=self.expr(entry.key), value=self.expr(entry.value))

    def _init(self, init: FieldInit) -> FieldInit:
        return replace(init, value=self.expr(init.value))

    def _probe(self, branch: Branch, arm: Expr) -> Expr:
        call, number = self._new(arm), self._new(arm)
        return Call(call, PROBE, (Literal(number, branch.number), arm))

    def _new(self, like: Expr) -> int:
        self._next += 1
        self._offsets[self._next] = self._offsets.get(like.id, 0)
        return self._next
