"""Every field that an expression reads from the object is one that its kind has.

The server types `object` as `dyn`: it accepts a policy with a misspelt field, which then fails each request,
or silently finds nothing behind `has()` and `?.`. Kinds are those of the objects that the policy is for.
"""

from __future__ import annotations

from collections.abc import Iterator

from policygen.admission.attributes import Attributes
from policygen.admission.matching import Match, MatchError, match
from policygen.cel import types
from policygen.cel.env import Env, admission_env
from policygen.cel.schema_env import undefined_everywhere
from policygen.diagnostics import make
from policygen.kube.names import GroupVersionKind
from policygen.kube.schema import KindSchema
from policygen.verify.facts import PolicyFacts
from policygen.verify.report import Finding, PropertyResult
from policygen.verify.world import World

NAME = "fields exist"


def check(world: World) -> PropertyResult:
    """One finding per field and policy."""
    checked = 0
    findings: list[Finding] = []
    for facts in world.facts:
        schemas = [world.cluster.schema(kind) for kind in _kinds(world, facts)]
        known = [schema for schema in schemas if schema is not None]
        if known and len(known) == len(schemas):
            checked += len(facts.expressions)
            findings += _undefined(world, facts, known)
    return PropertyResult(NAME, world.subject.version, checked, tuple(findings))


def _kinds(world: World, facts: PolicyFacts) -> list[GroupVersionKind]:
    """The kinds of the objects at hand that the policy's constraints let through."""
    kinds: list[GroupVersionKind] = []
    for trial in world.trials:
        request = trial.request
        if request.kind in kinds:
            continue
        try:
            found = match(facts.policy.match, Attributes(request, request.object), world.cluster)
        except MatchError:
            continue
        if isinstance(found, Match):
            kinds.append(request.kind)
    return kinds


def _undefined(world: World, facts: PolicyFacts, schemas: list[KindSchema]) -> Iterator[Finding]:
    kinds = " or ".join(dict.fromkeys(schema.kind for schema in schemas))
    seen: set[tuple[str, str]] = set()
    for known in facts.expressions:
        for field in undefined_everywhere(known.text, _env(world, facts), schemas):
            if (field.owner, field.field) in seen:
                continue
            seen.add((field.owner, field.field))
            rule = world.subject.rule_of(facts.name)
            diagnostic = make(
                "error",
                "verify-undefined-field",
                f"`{rule}` reads `{field.owner}.{field.field}`, which no {kinds} has",
                world.subject.span_of(facts.name, known.place),
                notes=[
                    f"in the {known.part}:\n{known.text.strip()}",
                    "the API server would accept the policy, as it does not know the fields of `object`",
                ],
                help=[f"did you mean `{field.meant}`?"] if field.meant else ["correct the path"],
            )
            yield Finding(diagnostic, facts.name)


def _env(world: World, facts: PolicyFacts) -> Env:
    env = admission_env(
        world.subject.version,
        has_params=facts.policy.param_kind is not None,
        patch_types=bool(facts.policy.mutations),
        stored=True,
    )
    return env.with_variables({variable.name: types.DYN for variable in facts.policy.variables})
