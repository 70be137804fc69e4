"""Objects made from what the expressions read: each place with the constants it is compared with, with
values beside them, with nothing at all.

The start is an object at hand. What is drawn depends on the seed alone, so that a run can be repeated.
Objects that the server itself refuses are left out by who asks for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any, Final, TypeAlias

from policygen.admission.server import admit
from policygen.cel.ast import Call, Expr, Literal, MapExpr, StructExpr, walk
from policygen.kube.schema import KindSchema
from policygen.verify import analysis
from policygen.verify.analysis import ANY, Path
from policygen.verify.facts import PolicyFacts
from policygen.verify.fill import consistent, filled, new_item
from policygen.verify.paths import ABSENT
from policygen.verify.variants import copies, pod_specs, replaced
from policygen.verify.world import Trial, World, create

EACH: Final = 3
"""Objects that are made for each policy."""
MOST: Final = 30
"""Objects that are made at all."""

Values: TypeAlias = dict[Path, list[Any]]

_REQUIRED: Final = frozenset(
    {"containers", "image", "metadata", "name", "namespace", "restartPolicy", "spec", "template"}
)
"""Fields that an object cannot do without, and those of the same name that other parts need as well."""


def generate(world: World) -> Iterator[Trial]:
    """Some trials for each policy, the same for the same seed, and updates for those that match updates."""
    each = max(1, min(EACH, MOST // max(1, len(world.facts))))
    for facts in world.facts:
        if facts.bound:
            yield from updates(world, facts)
            yield from for_policy(world, facts, each, Random(f"{world.seed}/{facts.name}"))


def for_policy(world: World, facts: PolicyFacts, count: int, random: Random) -> Iterator[Trial]:
    """Objects that differ from those which a policy applies to in what it reads."""
    applied = [world.trials[index] for index in sorted(world.applied_to(facts.name))]
    starts = [trial for trial in applied if trial.request.operation == "CREATE"]
    values = candidates([facts])
    if not starts or not values:
        return
    for number in range(count):
        start = random.choice(starts)
        schema = world.cluster.schema(start.request.kind)
        obj = changed(start.object, values, schema, random)
        yield start.sending(obj, f"object {number + 1} made from {start.title}")


def changed(obj: dict[str, Any], values: Values, schema: KindSchema | None, random: Random) -> dict[str, Any]:
    """An object with other values in some of the places."""
    if random.random() < 0.3:
        obj = _more_containers(obj, random)
    paths = sorted(values)
    for path in random.sample(paths, min(len(paths), random.randint(1, 5))):
        options = values[path]
        value = ABSENT if random.random() < 0.2 else random.choice(options)
        at = path[: random.randint(1, len(path))] if value is ABSENT else path
        if value is not ABSENT or not (at[-1] in _REQUIRED or at[-2:] == ("containers", ANY)):
            obj = filled(obj, at, value, schema, random)
    return consistent(obj)


def candidates(facts: Iterable[PolicyFacts]) -> Values:
    """For each place of the object that is read: the values worth trying there."""
    found: dict[Path, dict[str, Any]] = {}
    for known in facts:
        named = by_field(known)
        reads = analysis.object_reads(known.effects)
        for path in reads - {(step,) for step in _REQUIRED}:
            options = found.setdefault(path, {})
            compared = {value for _, value in known.effects.constants.get(("object", *path), ())}
            for value in (*compared, *named.get(path[-1], ())):
                for near in (value, *beside(value)):
                    options.setdefault(json.dumps(near, default=str), near)
    return {path: [options[key] for key in sorted(options)] or [ABSENT] for path, options in found.items()}


def beside(value: Any) -> Sequence[Any]:
    """Values next to a constant: one more, one less, the constant with something before or behind it."""
    match value:
        case bool():
            return [not value]
        case int():
            return [value - 1, value + 1]
        case str() if value.isdigit():
            return [str(int(value) + 1), "0"]
        case str():
            return [f"{value}x", "other"]
        case _:
            return []


def by_field(facts: PolicyFacts) -> dict[str, list[Any]]:
    """Literals by the name of the field that they stand at in maps and objects of the expressions."""
    found: dict[str, list[Any]] = {}
    for known in facts.expressions:
        if known.expr is not None:
            for name, value in _fields(known.expr):
                values = found.setdefault(name, [])
                if value not in values:
                    values.append(value)
    return found


def _fields(expr: Expr) -> Iterator[tuple[str, Any]]:
    for node in walk(expr):
        if isinstance(node, MapExpr):
            for entry in node.entries:
                value = _literal(entry.value)
                if isinstance(entry.key, Literal) and isinstance(entry.key.value, str) and value is not None:
                    yield entry.key.value, value
        elif isinstance(node, StructExpr):
            for init in node.fields:
                value = _literal(init.value)
                if value is not None:
                    yield init.name, value
            at = {init.name: _literal(init.value) for init in node.fields}
            if isinstance(at.get("path"), str) and at.get("value") is not None:
                yield at["path"].rpartition("/")[2].replace("~1", "/").replace("~0", "~"), at["value"]


def _literal(expr: Expr) -> Any:
    """The value of a literal, also inside `dyn(…)`; None for anything else."""
    if isinstance(expr, Call) and expr.function == "dyn":
        expr = expr.args[0]
    return expr.value if isinstance(expr, Literal) else None


def _more_containers(obj: dict[str, Any], random: Random) -> dict[str, Any]:
    for steps, spec in list(pod_specs(obj)):
        more = copies(spec["containers"][0], random.randint(1, 2))
        key = random.choice(("containers", "initContainers"))
        obj = replaced(obj, steps, {**spec, key: [*spec.get(key, []), *more]})
    return obj


def updates(world: World, facts: PolicyFacts) -> Iterator[Trial]:
    """For a policy that matches updates: one of the pods, one of a label, one with an ephemeral container."""
    rules = [rule for rule in facts.policy.match.rules if rule.operations & {"UPDATE", "*"}]
    if not rules:
        return
    resources = {resource for rule in rules for resource in rule.resources}
    for index in sorted(world.applied_to(facts.name)):
        trial = world.trials[index]
        stored = admit(world.lenient, trial.request).object
        if trial.request.operation != "CREATE" or stored is None:
            continue
        touched = {**stored, "metadata": {**stored["metadata"], "labels": {"touched": "true"}}}
        yield _update(f"an update of {trial.title}", stored, _other_image(stored))
        yield _update(f"a new label of {trial.title}", stored, touched)
        if stored["kind"] == "Pod" and any(below in ("ephemeralcontainers", "*") for _, below in resources):
            spec = {**stored["spec"], "ephemeralContainers": [new_item(("spec", "ephemeralContainers"))]}
            title = f"an ephemeral container in {trial.title}"
            yield _update(title, stored, {**stored, "spec": spec}, "ephemeralcontainers")
        return


def _update(title: str, stored: dict[str, Any], obj: dict[str, Any], subresource: str = "") -> Trial:
    request = create(obj, title).request
    return Trial(title, replace(request, operation="UPDATE", old_object=stored, subresource=subresource))


def _other_image(obj: dict[str, Any]) -> dict[str, Any]:
    for steps, spec in list(pod_specs(obj)):
        first = {**spec["containers"][0], "image": "example.com/other:2"}
        obj = replaced(obj, steps, {**spec, "containers": [first, *spec["containers"][1:]]})
    return obj
