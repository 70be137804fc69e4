"""Whether a request concerns a policy or a binding (apiserver `plugin/policy/matching/matching.go`).

Order of the server: namespace selector, object selector, exclusions, rules. The first that does not hold
is the reason that `explain` shows. A missing namespace is an error only for a policy whose rules match.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.policy import MatchResources, Rule
from policygen.admission.request import Object
from policygen.kube.names import GroupVersionKind, GroupVersionResource
from policygen.kube.selectors import Selector

_EXEMPT: Final = frozenset(
    {
        ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "mutatingadmissionpolicybindings"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicies"),
        ("admissionregistration.k8s.io", "validatingadmissionpolicybindings"),
        ("authentication.k8s.io", "selfsubjectreviews"),
        ("authentication.k8s.io", "tokenreviews"),
        ("authorization.k8s.io", "localsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectaccessreviews"),
        ("authorization.k8s.io", "selfsubjectrulesreviews"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    }
)
"""Resources that no policy sees (apiserver `generic/plugin.go`, `admission/exclusion`)."""


class MatchError(Exception):
    """It cannot be told whether the request matches; the text is the server's."""


@dataclass(frozen=True, slots=True)
class Match:
    """The resource and kind as the rule names them, which may be another version than the client's."""

    resource: GroupVersionResource
    kind: GroupVersionKind


@dataclass(frozen=True, slots=True)
class NoMatch:
    """Why not."""

    constraint: str


def is_exempt(attributes: Attributes) -> bool:
    """Whether no policy at all applies to the resource."""
    resource = attributes.request.resource
    return (resource.group, resource.resource) in _EXEMPT


def match(constraints: MatchResources, attributes: Attributes, cluster: Cluster) -> Match | NoMatch:
    """Whether the request is one that the constraints describe; `MatchError` when that cannot be told."""
    failure = None
    selector = constraints.namespace_selector
    if selector.requirements:
        try:
            if not _namespace_selected(selector, attributes, cluster):
                return NoMatch("namespaceSelector")
        except MatchError as error:
            failure = error
    selector = constraints.object_selector
    if selector.requirements and not (
        _object_selected(selector, attributes.object)
        or _object_selected(selector, attributes.request.old_object)
    ):
        return NoMatch("objectSelector")
    if constraints.excludes:
        if _rules_match(constraints.excludes, constraints.equivalent, attributes, cluster) is not None:
            return NoMatch("excludeResourceRules")
    if constraints.rules:
        found = _rules_match(constraints.rules, constraints.equivalent, attributes, cluster)
        if found is None:
            return NoMatch("resourceRules")
    else:
        found = Match(attributes.request.resource, attributes.request.kind)
    if failure is not None:
        raise failure
    return found


def labels_of(obj: Object | None) -> dict[str, str]:
    """The labels of an object that may have no metadata."""
    metadata: Any = (obj or {}).get("metadata")
    labels = metadata.get("labels") if isinstance(metadata, dict) else None
    return labels if isinstance(labels, dict) else {}


def _namespace_selected(selector: Selector, attributes: Attributes, cluster: Cluster) -> bool:
    request = attributes.request
    is_namespace = request.resource.resource == "namespaces"
    if not request.namespace and not is_namespace:
        return True  # cluster-scoped objects are never exempt
    if is_namespace and not request.subresource and request.operation in ("CREATE", "UPDATE"):
        return selector.matches(labels_of(attributes.object))
    found = cluster.namespace(request.namespace)
    if found is None:
        raise MatchError(f'namespaces "{request.namespace}" not found')
    return selector.matches(labels_of(found))


def _object_selected(selector: Selector, obj: Object | None) -> bool:
    return obj is not None and selector.matches(labels_of(obj))


def _rules_match(
    rules: tuple[Rule, ...], equivalent: bool, attributes: Attributes, cluster: Cluster
) -> Match | None:
    request = attributes.request
    for rule in rules:
        if _rule_matches(rule, request.resource, attributes) and _name_matches(rule, request.name):
            return Match(request.resource, request.kind)
    if not equivalent:
        return None
    for rule in rules:
        for resource in cluster.equivalents(request.resource, request.kind.kind):
            if _rule_matches(rule, resource, attributes) and _name_matches(rule, request.name):
                kind = GroupVersionKind(resource.group, resource.version, request.kind.kind)
                return Match(resource, kind)
    return None


def _name_matches(rule: Rule, name: str) -> bool:
    return not rule.names or name in rule.names


def _rule_matches(rule: Rule, resource: GroupVersionResource, attributes: Attributes) -> bool:
    """Apiserver `admission/plugin/webhook/predicates/rules/rules.go`."""
    request = attributes.request
    return (
        (request.operation in rule.operations or "*" in rule.operations)
        and (resource.group in rule.groups or "*" in rule.groups)
        and (resource.version in rule.versions or "*" in rule.versions)
        and any(
            name in ("*", resource.resource) and subresource in ("*", request.subresource)
            for name, subresource in rule.resources
        )
        and (
            rule.scope == "*" or (rule.scope == "Cluster") == _is_cluster_scoped(resource, request.namespace)
        )
    )


def _is_cluster_scoped(resource: GroupVersionResource, namespace: str) -> bool:
    is_namespace = resource.resource == "namespaces" and not resource.group
    return is_namespace or not namespace
