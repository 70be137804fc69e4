"""No rule, condition, branch or mutation is unreached by the objects at hand: what never ran is not proven.

A rule that never applies proves nothing, however green the run. A condition must have been true and false,
a mutation must have changed something, each arm of a conditional must have been taken, a validation must
have held and failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from policygen.admission.server import admit
from policygen.diagnostics import Diagnostic, make
from policygen.verify.describe import describe
from policygen.verify.facts import Known, PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.watch import Branch, Watch
from policygen.verify.world import World

NAME = "everything reached"


def check(world: World) -> PropertyResult:
    """One finding per policy that never applies, and per part of the others that is not reached."""
    watch = world.watch
    _alone(world, watch)
    parts = sum(len(facts.expressions) for facts in world.facts)
    findings = tuple(finding for facts in world.facts for finding in _of(world, facts, watch))
    return PropertyResult(NAME, world.subject.version, parts, findings)


def _alone(world: World, watch: Watch) -> None:
    """Run mutations with arms that were not taken by themselves, and without in-tree plugins.

    What an earlier mutation or a plugin makes sure of, such as `spec.affinity` or `spec.priority`, is
    guarded all the same: plugins can be switched off, and a mutation runs though the one before it failed.
    """
    quiet = replace(world.bare, plugins=world.plugins & {"NamespaceLifecycle"}, validate_objects=False)
    for entry in world.cluster.mutating_policies:
        for index, mutation in enumerate(entry.policy.mutations):
            seen = watch.of(entry.policy, mutation.expression)
            if len(seen.taken) < len(seen.branches):
                cluster = watch.mutation(quiet, entry, index)
                for trial in sorted(world.applied_to(entry.policy.name)):
                    admit(cluster, world.trials[trial].request)


def _of(world: World, facts: PolicyFacts, watch: Watch) -> Iterator[Finding]:
    rule = world.subject.rule_of(facts.name)
    if not facts.bound:
        text = f"`{facts.name}` has no binding, so it does nothing"
        yield _finding(world, facts, (), text, "", code_help="add a binding that names it in `policyName`")
        return
    if not world.applied_to(facts.name):
        why = describe(world, facts)
        yield _finding(world, facts, (), f"`{rule}` applies to none of the objects: it is not tested", why)
        return
    for known in facts.expressions:
        seen = watch.of(facts.policy, known.text)
        unseen = list(_unseen(known, seen.values))
        for text in unseen:
            yield _finding(world, facts, known.place, f"`{rule}`: {text}", _shown(known))
        for branch in () if unseen else seen.branches:
            if branch.number not in seen.taken:
                yield _finding(
                    world, facts, known.place, f"`{rule}`: {_untaken(known, branch)}", _shown(known)
                )


def _unseen(known: Known, values: set[str]) -> Iterator[str]:
    title = f"{known.part} `{known.name}`" if known.name else f"a {known.part}"
    if not values:
        yield f"{title} is never evaluated"
        return
    if known.part in ("condition", "validation"):
        for value in ("true", "false"):
            if value not in values:
                yield f"{title} is never {value}"
    if known.part == "mutation" and "value" not in values:
        yield f"{title} never changes anything"


def _untaken(known: Known, branch: Branch) -> str:
    word = "true" if branch.arm else "false"
    where = f" (line {branch.line} of the {known.part})" if "\n" in known.text.strip() else ""
    return f"no object makes `{branch.test}` {word}{where}"


def _shown(known: Known) -> str:
    return f"the expression:\n{known.text.strip()}"


def _finding(
    world: World,
    facts: PolicyFacts,
    place: tuple[str | int, ...],
    message: str,
    note: str,
    *,
    code_help: str = "add a fixture or a case that reaches it",
) -> Finding:
    diagnostic: Diagnostic = make(
        "error",
        "verify-unreached",
        message,
        world.place(facts.name, place),
        notes=[note] if note else [],
        help=[code_help],
    )
    return Finding(diagnostic, facts.name)
