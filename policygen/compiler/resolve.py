"""Spec -> model: names resolved, defaults filled, units exact. Everything that is wrong is collected."""

from __future__ import annotations

from policygen.compiler.model import Claim, Model, Priority, Safety
from policygen.compiler.model_actions import ClaimRef, Rule
from policygen.compiler.resolve_claims import device_count, resolve_claims
from policygen.compiler.resolve_devices import resolve_devices
from policygen.compiler.resolve_inject import Injecting
from policygen.compiler.resolve_match import Matching, named_namespaces
from policygen.compiler.resolve_place import SYSTEM_PRIORITIES, Placing
from policygen.compiler.resolve_tenants import resolve_tenants
from policygen.compiler.scope import Scope
from policygen.compiler.spec import PlacementPolicySpec, SafetySpec
from policygen.compiler.spec_match import NamespacesSpec
from policygen.compiler.spec_rules import ClaimUseSpec, RuleSpec
from policygen.diagnostics import Diagnostics, Span
from policygen.kube import names

MAX_PRIORITY = 1_000_000_000
"""Larger values are for system classes (`HighestUserDefinablePriority`)."""


def resolve(document: PlacementPolicySpec, found: Diagnostics) -> Model:
    """What a spec means. The model is complete only when `found` has no errors."""
    scope = Scope(document.spec, found)
    metadata = document.metadata
    scope.name(names.dns_label, metadata.name, metadata.span_at("name"), "the name of a spec")
    devices = resolve_devices(scope)
    by_name = {device.name: device for device in devices}
    priorities = _priorities(scope)
    safety = _safety(scope)
    matching = Matching(scope, safety)
    claims = resolve_claims(scope, by_name, _claim_places(scope, matching))
    return Model(
        name=metadata.name,
        kubernetes=document.spec.kubernetes,
        labels=scope.labels(metadata, "labels", metadata.labels),
        annotations=scope.annotations(metadata, "annotations", metadata.annotations),
        priorities=priorities,
        devices=devices,
        claims=claims,
        rules=_rules(scope, matching, claims, priorities),
        tenants=resolve_tenants(scope, by_name),
        safety=safety,
        span=metadata.span_at("name"),
    )


def _priorities(scope: Scope) -> tuple[Priority, ...]:
    result = []
    for name, spec in sorted(scope.spec.priorities.items()):
        span = scope.spec.key_span_at("priorities", name)
        scope.name(names.dns_subdomain, name, span, "the name of a PriorityClass")
        _check_priority_name(scope, name, span, exists=spec.exists)
        if spec.value > MAX_PRIORITY and not (spec.exists and name.startswith("system-")):
            scope.found.error(
                "out-of-range",
                f"priority `{name}` is above {MAX_PRIORITY}, which is for system classes",
                spec.span_at("value"),
            )
        result.append(
            Priority(name, spec.value, spec.preemption, spec.default, spec.description, spec.exists, span)
        )
    defaults = [priority for priority in result if priority.is_default]
    for other in defaults[1:]:
        scope.found.error(
            "several-defaults",
            f"`{other.name}` is a default beside `{defaults[0].name}`",
            other.span,
            notes=["with several global defaults the API server takes the one with the smallest value"],
            help=["keep one `default: true`"],
        )
    return tuple(result)


def _check_priority_name(scope: Scope, name: str, span: Span, *, exists: bool) -> None:
    if exists or not name.startswith("system-"):
        return
    help = ["use it without declaring it"] if name in SYSTEM_PRIORITIES else ["choose another name"]
    scope.found.error(
        "bad-name",
        f"`{name}` cannot be the name of a PriorityClass: `system-` is Kubernetes' own prefix",
        span,
        help=help,
    )


def _safety(scope: Scope) -> Safety:
    spec = scope.spec.safety
    if spec is None:
        defaults = SafetySpec.model_fields
        exempt: list[str] = defaults["exempt_namespaces"].default
        return Safety(tuple(exempt), defaults["break_glass_label"].default)
    for index, name in enumerate(spec.exempt_namespaces):
        scope.name(names.dns_label, name, spec.span_at("exemptNamespaces", index), "the name of a namespace")
    scope.name(names.qualified_name, spec.break_glass_label, spec.span_at("breakGlassLabel"), "a label key")
    return Safety(tuple(sorted(set(spec.exempt_namespaces))), spec.break_glass_label)


def _claim_places(scope: Scope, matching: Matching) -> dict[str, set[str]]:
    """Claim -> namespaces of the rules that use it and those that it names itself."""
    places: dict[str, set[str]] = {}
    for name, claim in scope.spec.claims.items():
        if claim.namespaces is not None:
            found = named_namespaces(scope, claim, "namespaces", claim.namespaces)
            places.setdefault(name, set()).update(found or ())
            if isinstance(claim.namespaces, NamespacesSpec) and _selects(claim.namespaces):
                scope.found.error(
                    "claim-needs-namespaces",
                    f"claim `{name}` needs the names of its namespaces",
                    claim.span_at("namespaces"),
                    notes=["its template is written for each of them"],
                    help=["use `names` or `tenants`, without `labels` and `exclude`"],
                )
    quiet = Matching(Scope(scope.spec, Diagnostics()), matching.safety)
    for rule in scope.spec.rules:
        for name, span in claims_of(rule):
            if name not in scope.spec.claims or rule.place is None:
                continue
            matched = quiet.match(rule.match, rule.block_span).namespaces.names
            if matched is None:
                scope.found.error(
                    "claim-needs-namespaces",
                    f"rule `{rule.name}` uses claim `{name}` in namespaces that are not named",
                    span,
                    notes=[
                        "a claim template must exist in the namespace of the pod, else the pod stays pending"
                    ],
                    help=["add `match.namespaces: {tenants: […]}` or a list of names"],
                )
            places.setdefault(name, set()).update(matched or ())
    return places


def _selects(spec: NamespacesSpec) -> bool:
    """Whether namespaces are selected by anything but their names."""
    return bool(spec.labels or spec.exclude) or (spec.names is None and spec.tenants is None)


def claims_of(rule: RuleSpec) -> list[tuple[str, Span]]:
    """The claims that a rule uses, by name."""
    place = rule.place
    if place is None or place.claim is None:
        return []
    if isinstance(place.claim, ClaimUseSpec):
        use = place.claim
        own = [(use.name, use.span_at("name"))] if use.name is not None else []
        return own + [(name, use.span_at("perCount", key)) for key, name in (use.per_count or {}).items()]
    return [(place.claim, place.span_at("claim"))]


def _rules(
    scope: Scope, matching: Matching, claims: tuple[Claim, ...], priorities: tuple[Priority, ...]
) -> tuple[Rule, ...]:
    refs = {
        claim.name: ClaimRef(claim.name, claim.template, device_count(claim), claim.span) for claim in claims
    }
    default = next((priority.name for priority in priorities if priority.is_default), None)
    result: list[Rule] = []
    seen: dict[str, Span] = {}
    for spec in scope.spec.rules:
        span = spec.span_at("name")
        scope.name(names.dns_label, spec.name, span, "the name of a rule")
        if spec.name in seen:
            scope.duplicate("rule", spec.name, span, seen[spec.name])
        seen.setdefault(spec.name, span)
        match = matching.match(spec.match, span)
        shared = (scope, matching, spec, match.uses, refs, default)
        actions = (*Placing(*shared).actions(), *Injecting(*shared).actions())
        if (spec.place is None and spec.inject is None) or not (actions or scope.found.has_errors):
            scope.found.error(
                "empty-rule", f"rule `{spec.name}` does nothing", span, help=["add `place` or `inject`"]
            )
        safety = scope.spec.safety
        result.append(
            Rule(
                name=spec.name,
                description=spec.description,
                match=match,
                actions=actions,
                rollout=spec.rollout or (safety.rollout if safety else "enforce"),
                failure_policy=spec.failure_policy or (safety.failure_policy if safety else "auto"),
                span=span,
            )
        )
    return tuple(result)
