"""The parameter objects of a binding (apiserver `generic/policy_dispatcher.go`, `CollectParams`)."""

from __future__ import annotations

from collections.abc import Sequence

from policygen.admission.cluster import Cluster
from policygen.admission.matching import labels_of
from policygen.admission.policy import ParamRef, Policy
from policygen.admission.request import Object
from policygen.kube.names import GroupVersionKind


class ConfigurationError(Exception):
    """A policy or binding cannot be used as it is configured; the text is the server's."""


NO_PARAMS: Sequence[Object | None] = (None,)
"""A policy without parameters is invoked once, with null."""


def check_param_kind(policy: Policy, cluster: Cluster) -> None:
    """Refuse a policy whose paramKind nothing serves."""
    kind = policy.param_kind
    if kind is not None and not _is_served(kind, cluster):
        raise ConfigurationError(f"failed to find resource referenced by paramKind: '{kind}'")


def collect_params(
    policy: Policy, ref: ParamRef | None, namespace: str, cluster: Cluster
) -> Sequence[Object | None]:
    """The objects to invoke the policy with, once for each; none at all skips the binding.

    The server's order of several is not defined; here it is by name.
    """
    kind = policy.param_kind
    if kind is None or ref is None:
        return NO_PARAMS
    namespaced = cluster.resource(kind).namespaced
    where = ""
    if namespaced:
        where = ref.namespace or namespace
        if not where:
            raise ConfigurationError(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            )
    elif ref.namespace:
        raise ConfigurationError("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
    found = _find(kind, ref, where, cluster)
    if not found and ref.deny_when_missing:
        raise ConfigurationError("no params found for policy binding with `Deny` parameterNotFoundAction")
    return found


def param_name(param: Object | None) -> str:
    """`namespace/name` of a parameter object, for verdicts."""
    if param is None:
        return ""
    metadata = param.get("metadata") or {}
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata.get('name')}" if namespace else str(metadata.get("name"))


def _find(kind: GroupVersionKind, ref: ParamRef, where: str, cluster: Cluster) -> list[Object]:
    if ref.name:
        if ref.selector is not None:
            raise ConfigurationError("paramRef.name and paramRef.selector are mutually exclusive")
        found = cluster.get(kind.kind, ref.name, where, kind.group)
        return [] if found is None else [found]
    selector = ref.selector
    if selector is None:
        raise ConfigurationError("one of name or selector must be provided")
    stored = cluster.list(kind.kind, where, kind.group)
    return [obj for obj in stored if selector.matches(labels_of(obj))]


def _is_served(kind: GroupVersionKind, cluster: Cluster) -> bool:
    """Defined by a schema, or by the mere presence of such an object."""
    return cluster.schema(kind) is not None or bool(cluster.objects.get((kind.group, kind.kind)))
