"""The API server's chain for one request, in its order.

decode and default → mutating plugins with MutatingAdmissionPolicy → once more if something changed → the
create or update strategy (what it fills in, then the rules for the object) → validating plugins with
ValidatingAdmissionPolicy → quota.

Sources: apiserver `endpoints/handlers/create.go`, `registry/rest/create.go`, `admission/reinvocation.go`;
Kubernetes `pkg/kubeapiserver/options/plugins.go` for the order of the plugins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, Final

from policygen.admission import dispatcher, validating
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.dispatcher import Pass, Reinvocation
from policygen.admission.outcome import Denied, Outcome, Verdict
from policygen.admission.request import AdmissionRequest, Object
from policygen.admission.validation import registry
from policygen.kube import custom, defaults, strategy
from policygen.kube.decode_errors import DecodeError
from policygen.kube.internal import through_internal
from policygen.kube.roundtrip import round_trip, round_trip_strict
from policygen.kube.schema import KindSchema

MUTATING: Final = (
    "NamespaceLifecycle",
    "LimitRanger",
    "ServiceAccount",
    "Priority",
    "DefaultTolerationSeconds",
    "ExtendedResourceToleration",
    "StorageObjectInUseProtection",
    "RuntimeClass",
)
"""In-tree plugins that change objects; MutatingAdmissionPolicy runs after them."""

BEFORE_POLICIES: Final = ("LimitRanger", "ServiceAccount", "PodSecurity", "Priority", "RuntimeClass")
AFTER_POLICIES: Final = ("ResourceQuota",)
"""In-tree plugins that judge objects, before and after ValidatingAdmissionPolicy."""

_MODULES: Final = {
    "NamespaceLifecycle": "namespace_lifecycle",
    "LimitRanger": "limit_ranger",
    "ServiceAccount": "service_account",
    "PodSecurity": "pod_security",
    "Priority": "priority",
    "DefaultTolerationSeconds": "default_toleration_seconds",
    "ExtendedResourceToleration": "extended_resource_toleration",
    "StorageObjectInUseProtection": "storage_protection",
    "RuntimeClass": "runtime_class",
    "ResourceQuota": "resource_quota",
}

PLUGINS: Final = frozenset(_MODULES)
"""The names of all in-tree plugins that can be switched on."""

_SUCCESS: Final = {"CREATE": 201}


def admit(cluster: Cluster, request: AdmissionRequest, *, explain: bool = False) -> Outcome:
    """What the API server answers. The request's objects are as the client sent them; they are not changed.

    With `explain` the verdicts carry the values of variables and the changes.
    """
    chain = _Chain(cluster, explain)
    try:
        obj = chain.run(request)
    except Denied as denied:
        return Outcome(
            allowed=False,
            code=denied.code,
            reason=denied.reason,
            message=denied.message,
            causes=denied.causes,
            warnings=tuple(chain.warnings),
            audit_annotations=chain.audit_annotations,
            verdicts=tuple(chain.verdicts),
            seen=chain.seen,
        )
    return Outcome(
        allowed=True,
        code=_SUCCESS.get(request.operation, 200),
        object=obj,
        warnings=tuple(chain.warnings),
        audit_annotations=chain.audit_annotations,
        verdicts=tuple(chain.verdicts),
        seen=chain.seen,
    )


@dataclass(init=False, slots=True)
class _Chain:
    cluster: Cluster
    explain: bool
    warnings: list[str]
    audit_annotations: dict[str, str]
    verdicts: list[Verdict]
    seen: Object | None
    untyped: bool
    """Whether nobody has defined the kind: then only policies know what to do with the object."""

    def __init__(self, cluster: Cluster, explain: bool) -> None:
        self.cluster, self.explain = cluster, explain
        self.warnings, self.audit_annotations, self.verdicts, self.seen = [], {}, [], None
        self.untyped = False

    def run(self, request: AdmissionRequest) -> Object | None:
        self.untyped = self.cluster.schema(request.kind) is None
        request = decode(self.cluster, request)
        attributes = Attributes(
            request, request.object, warnings=self.warnings, audit_annotations=self.audit_annotations
        )
        self.seen = request.object
        again = Reinvocation()
        attributes = self._mutate(attributes, again)
        if again.wanted:
            attributes = self._mutate(replace(attributes, is_reinvocation=True), again)
        attributes = self._strategy(attributes)
        self._validate(attributes)
        return self._stored(attributes)

    def _stored(self, attributes: Attributes) -> Object | None:
        """The object as it is read back: a custom one is pruned and defaulted by its schema again."""
        obj, schema = attributes.object, self.cluster.schema(attributes.kind)
        if obj is None or schema is None or schema.builtin:
            return obj
        return _stored(obj, schema)

    def _mutate(self, attributes: Attributes, again: Reinvocation) -> Attributes:
        """One pass over everything that may change the object."""
        for name in MUTATING:
            plugin = self._plugin(name, "admit")
            if plugin is not None:
                changed = plugin(attributes, self.cluster)
                if changed is not None:
                    attributes = attributes.with_object(changed)
        self.seen = attributes.object
        current = Pass(self.explain, attributes.is_reinvocation)
        try:
            obj = dispatcher.dispatch(attributes, self.cluster, again, current)
        finally:
            self.verdicts.extend(current.verdicts)
        schema = self.cluster.schema(attributes.request.kind)
        if schema is not None and obj is not None:
            obj = through_internal(obj, schema)
        self.seen = obj
        return attributes if obj is attributes.object else attributes.with_object(obj)

    def _strategy(self, attributes: Attributes) -> Attributes:
        """What the registry does between the two halves of admission: fill in, then judge, the object."""
        obj, schema = attributes.object, self.cluster.schema(attributes.kind)
        if obj is not None and schema is not None:
            old = attributes.old_object
            if schema.namespaced and attributes.namespace:
                obj = _in_its_namespace(obj, attributes.namespace)
            if attributes.operation == "CREATE":
                obj = strategy.prepare_for_create(obj, schema)
            elif old is not None:
                obj = strategy.prepare_for_update(obj, old, schema, attributes.subresource)
            attributes = attributes.with_object(obj)
            self.seen = obj
        if self.cluster.validate_objects and obj is not None and not self.untyped:
            registry.check(attributes, self.cluster)
        return attributes

    def _validate(self, attributes: Attributes) -> None:
        for name in BEFORE_POLICIES:
            self._judge(name, attributes)
        current = Pass(self.explain)
        try:
            validating.dispatch(attributes, self.cluster, current)
        finally:
            self.verdicts.extend(current.verdicts)
        for name in AFTER_POLICIES:
            self._judge(name, attributes)

    def _judge(self, name: str, attributes: Attributes) -> None:
        plugin = self._plugin(name, "validate")
        if plugin is not None:
            plugin(attributes, self.cluster)

    def _plugin(self, name: str, function: str) -> Any:
        if name not in self.cluster.plugins or (self.untyped and name != "NamespaceLifecycle"):
            return None
        return _function(name, function)


@cache
def _function(name: str, function: str) -> Any:
    """What a plugin does in a stage, None when it does nothing there. Plugins are loaded when they run."""
    return getattr(import_module(f"policygen.admission.plugins.{_MODULES[name]}"), function, None)


def _in_its_namespace(obj: Object, namespace: str) -> Object:
    """The object in the request's namespace (`EnsureObjectNamespaceMatchesRequestNamespace`)."""
    metadata = obj.get("metadata") or {}
    given = metadata.get("namespace")
    if given == namespace:
        return obj
    if given:
        says = "the namespace of the provided object does not match the namespace sent on the request"
        raise Denied(400, "BadRequest", says)
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


def decode(cluster: Cluster, request: AdmissionRequest) -> AdmissionRequest:
    """The request with its objects as the server's handlers hold them: typed, defaulted.

    The client's object is decoded strictly; `Denied` with 400 when that fails.
    """
    schema = cluster.schema(request.kind)
    if schema is None:
        if request.kind.group in cluster.builtin_groups:
            raise Denied(404, "NotFound", "the server could not find the requested resource")
        return request
    obj, old = request.object, request.old_object
    return replace(
        request,
        object=None if obj is None else _decoded(obj, schema),
        old_object=None if old is None else _stored(old, schema),
    )


def _decoded(obj: Object, schema: KindSchema) -> Object:
    try:
        if schema.builtin:
            return through_internal(defaults.apply(round_trip_strict(obj, schema), schema), schema)
        decoded = custom.decode(obj, schema)
    except DecodeError as error:
        raise _not_decoded(schema, error.message) from error
    if decoded.unknown:
        listed = ", ".join(f'unknown field "{path}"' for path in decoded.unknown)
        raise _not_decoded(schema, f"strict decoding error: {listed}")
    return decoded.value


def _not_decoded(schema: KindSchema, says: str) -> Denied:
    version = schema.api_version.rpartition("/")[2]
    text = f'{schema.kind} in version "{version}" cannot be handled as a {schema.kind}: {says}'
    return Denied(400, "BadRequest", text)


def _stored(obj: Object, schema: KindSchema) -> Object:
    try:
        if schema.builtin:
            return through_internal(defaults.apply(round_trip(obj, schema), schema), schema)
        return custom.decode(obj, schema).value
    except DecodeError as error:
        raise Denied(500, "InternalError", f"Internal error occurred: {error.message}") from error
