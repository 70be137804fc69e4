"""Policies and bindings as the API server stores them: both kinds in v1, v1beta1, v1alpha1, with defaults.

Only the shape is read here. Expressions are compiled by `compilation`; the rules for names, limits and
enums are those of object validation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from policygen.admission.request import Object
from policygen.diagnostics import fail
from policygen.kube import selectors
from policygen.kube.names import GroupVersionKind, gvk
from policygen.kube.selectors import EVERYTHING, Selector

GROUP: Final = "admissionregistration.k8s.io"
POLICY_KINDS: Final = ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy")
BINDING_KINDS: Final = ("MutatingAdmissionPolicyBinding", "ValidatingAdmissionPolicyBinding")

FailurePolicy = Literal["Fail", "Ignore"]
PatchType = Literal["ApplyConfiguration", "JSONPatch"]


@dataclass(frozen=True, slots=True)
class NamedExpression:
    """A variable, a match condition or an audit annotation."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Mutation:
    """One patch."""

    patch_type: str
    expression: str


@dataclass(frozen=True, slots=True)
class Validation:
    """One check of a validating policy."""

    expression: str
    message: str = ""
    message_expression: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One of `resourceRules` or `excludeResourceRules`."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    """Resource and subresource, either may be `*`."""
    scope: str = "*"
    names: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False, slots=True)
class MatchResources:
    """`matchConstraints` of a policy or `matchResources` of a binding."""

    rules: tuple[Rule, ...] = ()
    excludes: tuple[Rule, ...] = ()
    namespace_selector: Selector = EVERYTHING
    object_selector: Selector = EVERYTHING
    equivalent: bool = True
    """`matchPolicy: Equivalent`, the default."""


@dataclass(frozen=True, eq=False, slots=True)
class Policy:
    """A MutatingAdmissionPolicy or a ValidatingAdmissionPolicy."""

    name: str
    mutating: bool
    failure_policy: FailurePolicy
    match: MatchResources
    conditions: tuple[NamedExpression, ...] = ()
    variables: tuple[NamedExpression, ...] = ()
    param_kind: GroupVersionKind | None = None
    mutations: tuple[Mutation, ...] = ()
    reinvoke: bool = False
    """`reinvocationPolicy: IfNeeded`."""
    validations: tuple[Validation, ...] = ()
    audit_annotations: tuple[NamedExpression, ...] = ()


@dataclass(frozen=True, slots=True)
class ParamRef:
    """Which parameter objects a binding hands to its policy."""

    name: str = ""
    namespace: str = ""
    selector: Selector | None = None
    deny_when_missing: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Binding:
    """What makes a policy effective."""

    name: str
    policy: str
    mutating: bool
    match: MatchResources | None = None
    param_ref: ParamRef | None = None
    actions: tuple[str, ...] = ()
    """`validationActions` of a validating binding."""


@dataclass(frozen=True, eq=False, slots=True)
class BoundPolicy:
    """A policy with its bindings (apiserver `generic.PolicyHook`)."""

    policy: Policy
    bindings: tuple[Binding, ...]


def is_policy_object(obj: Object) -> bool:
    """Whether an object is a policy or a binding."""
    group = str(obj.get("apiVersion") or "").partition("/")[0]
    return group == GROUP and obj.get("kind") in (*POLICY_KINDS, *BINDING_KINDS)


def bind(objects: Iterable[Object], *, mutating: bool) -> tuple[BoundPolicy, ...]:
    """The policies of one kind with their bindings, both by name.

    The server's own order is not defined. A policy without a binding does nothing but is kept, so that
    `explain` can say so.
    """
    policies: list[Policy] = []
    bindings: dict[str, list[Binding]] = {}
    for obj in sorted(objects, key=_name):
        kind = str(obj.get("kind"))
        if kind.startswith("Mutating") != mutating:
            continue
        if kind in POLICY_KINDS:
            policies.append(read_policy(obj))
        elif kind in BINDING_KINDS:
            binding = read_binding(obj)
            bindings.setdefault(binding.policy, []).append(binding)
    return tuple(BoundPolicy(policy, tuple(bindings.get(policy.name, ()))) for policy in policies)


def read_policy(obj: Object) -> Policy:
    """A policy from its manifest; `PolicygenError` when the manifest has another shape."""
    name = _name(obj)
    spec = _map(obj, "spec", name)
    param_kind = _map(spec, "paramKind", name)
    return Policy(
        name=name,
        mutating=obj.get("kind") == "MutatingAdmissionPolicy",
        failure_policy="Ignore" if spec.get("failurePolicy") == "Ignore" else "Fail",
        match=_match(_map(spec, "matchConstraints", name), name),
        conditions=_named(spec, "matchConditions", name),
        variables=_named(spec, "variables", name),
        param_kind=gvk(_text(param_kind, "apiVersion"), _text(param_kind, "kind")) if param_kind else None,
        mutations=tuple(_mutation(item, name) for item in _maps(spec, "mutations", name)),
        reinvoke=spec.get("reinvocationPolicy") == "IfNeeded",
        validations=tuple(
            Validation(
                _text(item, "expression"),
                _text(item, "message"),
                _text(item, "messageExpression"),
                _text(item, "reason"),
            )
            for item in _maps(spec, "validations", name)
        ),
        audit_annotations=tuple(
            NamedExpression(_text(item, "key"), _text(item, "valueExpression"))
            for item in _maps(spec, "auditAnnotations", name)
        ),
    )


def read_binding(obj: Object) -> Binding:
    """A binding from its manifest."""
    name = _name(obj)
    spec = _map(obj, "spec", name)
    match = _map(spec, "matchResources", name)
    param_ref = _map(spec, "paramRef", name)
    return Binding(
        name=name,
        policy=_text(spec, "policyName"),
        mutating=obj.get("kind") == "MutatingAdmissionPolicyBinding",
        match=_match(match, name) if spec.get("matchResources") is not None else None,
        param_ref=_param_ref(param_ref, name) if spec.get("paramRef") is not None else None,
        actions=tuple(map(str, _list(spec, "validationActions", name))),
    )


def read_selector(selector: Mapping[str, Any], owner: str) -> Selector:
    """A label selector; absent is empty, as the API server defaults it."""
    try:
        return selectors.from_object(selector)
    except (selectors.SelectorError, TypeError, AttributeError) as error:
        fail("invalid-policy", f"`{owner}` has an invalid label selector: {error}")


def _match(match: Mapping[str, Any], owner: str) -> MatchResources:
    return MatchResources(
        rules=tuple(_rule(item, owner) for item in _maps(match, "resourceRules", owner)),
        excludes=tuple(_rule(item, owner) for item in _maps(match, "excludeResourceRules", owner)),
        namespace_selector=read_selector(_map(match, "namespaceSelector", owner), owner),
        object_selector=read_selector(_map(match, "objectSelector", owner), owner),
        equivalent=match.get("matchPolicy") != "Exact",
    )


def _rule(rule: Mapping[str, Any], owner: str) -> Rule:
    resources = (str(item).partition("/") for item in _list(rule, "resources", owner))
    return Rule(
        operations=frozenset(map(str, _list(rule, "operations", owner))),
        groups=frozenset(map(str, _list(rule, "apiGroups", owner))),
        versions=frozenset(map(str, _list(rule, "apiVersions", owner))),
        resources=tuple((resource, subresource) for resource, _, subresource in resources),
        scope=_text(rule, "scope") or "*",
        names=frozenset(map(str, _list(rule, "resourceNames", owner))),
    )


def _param_ref(ref: Mapping[str, Any], owner: str) -> ParamRef:
    selector = ref.get("selector")
    return ParamRef(
        name=_text(ref, "name"),
        namespace=_text(ref, "namespace"),
        selector=read_selector(_map(ref, "selector", owner), owner) if selector is not None else None,
        deny_when_missing=ref.get("parameterNotFoundAction") == "Deny",
    )


def _mutation(mutation: Mapping[str, Any], owner: str) -> Mutation:
    patch_type = _text(mutation, "patchType")
    key = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}.get(patch_type)
    if key is None:
        fail(
            "invalid-policy",
            f"`{owner}` has a mutation of the patch type `{patch_type}`",
            help=("use `ApplyConfiguration` or `JSONPatch`",),
        )
    return Mutation(patch_type, _text(_map(mutation, key, owner), "expression"))


def _named(spec: Mapping[str, Any], key: str, owner: str) -> tuple[NamedExpression, ...]:
    items = _maps(spec, key, owner)
    return tuple(NamedExpression(_text(item, "name"), _text(item, "expression")) for item in items)


def _name(obj: Mapping[str, Any]) -> str:
    metadata = obj.get("metadata")
    return _text(metadata, "name") if isinstance(metadata, Mapping) else ""


def _text(obj: Mapping[str, Any], key: str) -> str:
    value = obj.get(key)
    return value if isinstance(value, str) else ""


def _map(obj: Mapping[str, Any], key: str, owner: str) -> Mapping[str, Any]:
    value = obj.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        fail("invalid-policy", f"`{key}` of `{owner}` is not a map")
    return value


def _list(obj: Mapping[str, Any], key: str, owner: str) -> list[Any]:
    value = obj.get(key)
    if value is None:
        return []
    if not isinstance(value, list):
        fail("invalid-policy", f"`{key}` of `{owner}` is not a list")
    return value


def _maps(obj: Mapping[str, Any], key: str, owner: str) -> list[Mapping[str, Any]]:
    items = _list(obj, key, owner)
    if not all(isinstance(item, Mapping) for item in items):
        fail("invalid-policy", f"`{key}` of `{owner}` has an element that is not a map")
    return items
