"""Policies whose expressions are watched while they run: what they cost, gave, and which branches they took.

A branch is an arm of a conditional that somebody wrote (those that macros expand to do not count). It is
seen by a call that is put around it before the expression is checked, so what runs is otherwise the same
expression.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy, Maker, compile_policy, compile_with
from policygen.admission.policy import BoundPolicy, Policy
from policygen.cel import checker, types
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
from policygen.cel.program import Program, compile_program
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
            plain = _programs(compile_policy(policy, version))
            self._compiled[key] = compile_with(policy, version, self._maker(policy, plain))
        return self._compiled[key]

    def _maker(self, policy: Policy, plain: Mapping[str, Program]) -> Maker:
        def make(text: str, env: Env) -> Program:
            seen = self.seen.setdefault((policy.mutating, policy.name, text), Seen())
            inner = plain.get(text) or compile_program(text, env)
            return _Watched(_probed(inner, env, seen) if self.branches else inner, inner.checked, seen)

        return make


def _programs(compiled: CompiledPolicy) -> dict[str, Program]:
    """The programs of a policy by their texts; a text that stands in two parts is compiled in its own."""
    parts = (compiled.variables, compiled.conditions, compiled.mutations, compiled.validations)
    found = [
        item for part in (*parts, compiled.messages, compiled.audit_annotations) for item in part if item
    ]
    texts = Counter(item.text for item in found)
    return {item.text: item.program for item in found if item.program and texts[item.text] == 1}


class _Watched(Program):
    """A program that notes what another one does."""

    __slots__ = ("_inner", "_seen")

    def __init__(self, inner: Program, checked: checker.Checked, seen: Seen) -> None:
        self._inner, self._seen, self.checked = inner, seen, checked

    def evaluate_with_cost(
        self, activation: Mapping[str, Any], *, limit: int | None = None, budget: Budget | None = None
    ) -> tuple[Any, int]:
        try:
            value, cost = self._inner.evaluate_with_cost(activation, limit=limit, budget=budget)
        except EvalError as error:
            self._seen.values.add("error")
            self._seen.cost = max(self._seen.cost, getattr(error, "cost", 0) or 0)
            raise
        self._seen.cost = max(self._seen.cost, cost)
        self._seen.values.add(_kind(value))
        return value, cost


def _probed(program: Program, env: Env, seen: Seen) -> Program:
    """The program with a probe in each arm of its conditionals; itself when it has none."""
    checked = program.checked
    found = _branches(checked)
    if not found:
        return program
    seen.branches = tuple(branch for arms in found.values() for branch in arms)
    declaration = _declaration(seen.taken)
    rewrite = _Rewrite(found, checked, declaration.overloads)
    expr = rewrite.expr(checked.expr)
    probed = replace(
        checked,
        expr=expr,
        info=replace(checked.info, offsets=rewrite.offsets),
        types=rewrite.types,
        references=rewrite.references,
        depth=checked.depth * 2,
    )
    return Program(probed, replace(env, functions={**env.functions, PROBE: declaration}))


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


def _branches(parsed: checker.Checked) -> dict[int, tuple[Branch, Branch]]:
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
            line, test = (
                parsed.info.text.count("\n", 0, offset) + 1,
                unparse(Parsed(node.args[0], parsed.info, parsed.depth)),
            )
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

    def __init__(
        self,
        branches: Mapping[int, tuple[Branch, Branch]],
        checked: checker.Checked,
        overloads: tuple[Overload, ...],
    ) -> None:
        self.offsets, self.types = dict(checked.info.offsets), dict(checked.types)
        self.references = dict(checked.references)
        self._branches = branches
        self._probe = checker.Reference(PROBE, overloads)
        self._next = max(self.types, default=0)

    def expr(self, node: Expr) -> Expr:
        match node:
            case Select():
                return replace(node, operand=self.expr(node.operand))
            case Call():
                target = None if node.target is None else self.expr(node.target)
                args = tuple(self.expr(arg) for arg in node.args)
                arms = self._branches.get(node.id)
                if arms is not None:
                    args = (args[0], self._probed(arms[0], args[1]), self._probed(arms[1], args[2]))
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

    def _probed(self, branch: Branch, arm: Expr) -> Expr:
        call = self._new(arm, self.types[arm.id])
        self.references[call] = self._probe
        return Call(call, PROBE, (Literal(self._new(arm, types.INT), branch.number), arm))

    def _new(self, like: Expr, kind: types.Type) -> int:
        self._next += 1
        self.offsets[self._next] = self.offsets.get(like.id, 0)
        self.types[self._next] = kind
        return self._next
