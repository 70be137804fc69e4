"""From manifests to requests: what a client that sends an object would ask the API server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from policygen.admission.activation import default_options
from policygen.admission.cluster import Cluster
from policygen.admission.policy import BINDING_KINDS, GROUP, read_binding
from policygen.admission.request import AdmissionRequest, Object, Operation, UserInfo
from policygen.diagnostics import Diagnostics, fail
from policygen.kube import catalog, objects
from policygen.kube.decode_errors import DecodeError
from policygen.kube.names import gvk
from policygen.kube.roundtrip import round_trip

ADMIN: Final = UserInfo()

STANDARD_NAMESPACES: Final = ("default", "kube-system", "kube-public", "kube-node-lease")
"""Namespaces that every cluster has."""


_POD_ONLY: Final = frozenset({"ephemeralcontainers", "resize"})


@dataclass(frozen=True, slots=True)
class Client:
    """Who sends the objects and what is to be done with them."""

    operation: Operation = "CREATE"
    user: UserInfo = ADMIN
    subresource: str = ""
    namespace: str = "default"
    """For namespaced objects that name none, as kubectl fills it in."""


def request_for(obj: Object, cluster: Cluster, client: Client) -> AdmissionRequest:
    """The request for an object. On UPDATE and DELETE the old one is as stored, else the object itself."""
    kind = gvk(str(obj.get("apiVersion") or ""), str(obj.get("kind") or ""))
    info = cluster.resource(kind)
    metadata = obj.get("metadata")
    name, namespace = "", ""
    if metadata is None or isinstance(metadata, dict):
        fields: dict[str, Any] = metadata or {}
        name = _text(fields.get("name"))
        if info.namespaced:
            namespace = _text(fields.get("namespace"))
            if not namespace:
                namespace = client.namespace
                obj = {**obj, "metadata": {**fields, "namespace": namespace}}
    if client.subresource in _POD_ONLY and (kind.group, kind.kind) != ("", "Pod"):
        fail(
            "unknown-subresource", f"`{kind.kind}` has no subresource `{client.subresource}`: only Pod has it"
        )
    operation = client.operation
    old = None
    if operation != "CREATE":
        old = cluster.get(kind.kind, name, namespace, kind.group) or obj
        if kind.kind == "Namespace" and not kind.group:
            namespace = name
    return AdmissionRequest(
        operation=operation,
        kind=kind,
        resource=info.resource,
        name=name,
        namespace=namespace,
        subresource=client.subresource,
        object=None if operation == "DELETE" else obj,
        old_object=old,
        user_info=client.user,
        options=default_options(operation),
    )


def standard_namespaces() -> Iterator[Object]:
    """The namespaces that every cluster has, as objects."""
    for name in STANDARD_NAMESPACES:
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def without_policies(cluster: Cluster) -> Cluster:
    """The same cluster with no policy in it: what a result is compared with."""
    from dataclasses import replace

    kept = {key: stored for key, stored in cluster.objects.items() if key[0] != GROUP}
    return replace(cluster, objects=kept)


def check_policies(cluster: Cluster, found: Diagnostics) -> None:
    """Say once what the server would say at every request, or never: compile errors and loose ends."""
    known: set[tuple[str, bool]] = set()
    for bound in (*cluster.mutating_policies, *cluster.validating_policies):
        policy = bound.policy
        known.add((policy.name, policy.mutating))
        for expression in cluster.compiled(policy).errors():
            found.warning(
                "policy-does-not-compile",
                f"an expression of policy `{policy.name}` does not compile: `{_short(expression.text)}`",
                notes=(f"the API server says: {expression.error.splitlines()[0]}",),
            )
        if not bound.bindings:
            found.warning(
                "unbound-policy",
                f"policy `{policy.name}` has no binding and does nothing",
                help=(f"add a binding with `policyName: {policy.name}`",),
            )
    for kind in BINDING_KINDS:
        for obj in cluster.list(kind, group=GROUP):
            binding = read_binding(obj)
            if (binding.policy, binding.mutating) not in known:
                found.warning(
                    "unknown-policy",
                    f"binding `{binding.name}` names policy `{binding.policy}`, which is not given",
                )


def check_accepted(policies: Iterable[Object], cluster: Cluster, found: Diagnostics) -> None:
    """Policies and bindings that the server would refuse cannot be on it, and would judge nothing there.

    What does not compile is another matter: `check_policies` tells it, and stored policies may be so.
    """
    from dataclasses import replace

    from policygen.admission.server import admit

    bare = replace(
        without_policies(cluster), plugins=frozenset(), validate_objects=True, open_namespaces=True
    )
    for obj in policies:
        outcome = admit(bare, request_for(obj, bare, Client()))
        if not outcome.allowed and not (outcome.causes and all(map(_is_compile_error, outcome.causes))):
            found.error(
                "refused-policy",
                f"the API server refuses `{objects.describe(obj)}`",
                notes=(f"the API server says: {_short(outcome.message, 1000)}",),
            )


def check_stored(stored: Iterable[Object], version: str, found: Diagnostics) -> None:
    """Say which objects could not be in the cluster, and which were given twice: the later one counts."""
    seen: set[tuple[str, str, str, str]] = set()
    known = catalog.load(version)
    for obj in stored:
        schema = known.get(str(obj.get("apiVersion")), str(obj.get("kind")))
        if schema is not None:
            try:
                round_trip(obj, schema)
            except DecodeError as error:
                found.error(
                    "invalid-object",
                    f"`{objects.describe(obj)}` is not what its kind says",
                    notes=(f"the API server says: {error.message}",),
                )
        identity = objects.identity(obj)
        if identity in seen:
            found.warning(
                "duplicate-object", f"`{objects.describe(obj)}` is given more than once: the last one counts"
            )
        seen.add(identity)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _is_compile_error(cause: str) -> bool:
    return "compilation failed" in cause or "must evaluate to" in cause


def _short(text: str, limit: int = 80) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
