"""What the API server knows when a request comes in: stored objects, policies, types, who may do what.

A `Cluster` is a value. It is made once from manifests and then only read; nothing here changes an object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from policygen.admission.compilation import CompiledPolicy, compile_policy
from policygen.admission.policy import BINDING_KINDS, GROUP, POLICY_KINDS, BoundPolicy, Policy, bind
from policygen.admission.request import Object
from policygen.admission.stored import typed
from policygen.kube import catalog, crd_shape, names
from policygen.kube.crd import schemas_from_crd
from policygen.kube.names import GroupVersionKind, GroupVersionResource
from policygen.kube.objects import identity
from policygen.kube.schema import KindSchema
from policygen.kube.versions import served_by_default

DEFAULT_PLUGINS: Final = frozenset(
    {
        "NamespaceLifecycle",
        "LimitRanger",
        "Priority",
        "DefaultTolerationSeconds",
        "StorageObjectInUseProtection",
        "RuntimeClass",
        "PodSecurity",
        "ResourceQuota",
    }
)
"""In-tree plugins that run unless told otherwise; options: ServiceAccount, ExtendedResourceToleration."""


@dataclass(frozen=True, slots=True)
class ResourceInfo:
    """How a kind is served."""

    resource: GroupVersionResource
    namespaced: bool
    schema: KindSchema | None


@dataclass(frozen=True, eq=False)
class Cluster:
    """Stored objects by kind, namespace and name, with what they mean to admission."""

    version: str = catalog.RECORDED
    objects: Mapping[tuple[str, str], Mapping[tuple[str, str], Object]] = field(default_factory=dict)
    """(group, kind) → (namespace, name) → object."""
    custom: Mapping[GroupVersionKind, KindSchema] = field(default_factory=dict)
    """Schemas read from CustomResourceDefinitions."""
    authorizer: Mapping[str, bool] | None = None
    """`user|verb|group|resource|subresource|namespace|name` or `user|verb|path` → allowed (True) or denied
    (False), anything else is no opinion. None: everything is allowed."""
    plugins: frozenset[str] = DEFAULT_PLUGINS
    """Names of the in-tree plugins that run."""
    open_namespaces: bool = False
    """Whether a namespace that is not among the objects exists all the same, without labels."""
    validate_objects: bool = True
    """Whether the server's rules for the object itself are applied (strategy and schema)."""

    @classmethod
    def from_objects(cls, objects: Iterable[Object], **settings: Any) -> Cluster:
        """A cluster in which these objects are stored; a later one replaces an earlier of its name."""
        stored: dict[tuple[str, str], dict[tuple[str, str], Object]] = {}
        custom: dict[GroupVersionKind, KindSchema] = {}
        version = settings.get("version") or cls.version
        for obj in objects:
            api_version, kind, namespace, name = identity(obj)
            group, _ = names.parse_api_version(api_version)
            stored.setdefault((group, kind), {})[namespace, name] = typed(obj, group, kind, version)
            if kind == "CustomResourceDefinition":
                crd_shape.check(obj)
                for schema in schemas_from_crd(obj):
                    custom[names.gvk(schema.api_version, schema.kind)] = schema
        return cls(objects=stored, custom=custom, **settings)

    def get(self, kind: str, name: str, namespace: str = "", group: str = "") -> Object | None:
        """One stored object. `group` is the API group of the kind, empty for core."""
        return self.objects.get((group, kind), {}).get((namespace, name))

    def list(self, kind: str, namespace: str | None = None, group: str = "") -> Iterator[Object]:
        """Stored objects of a kind, of one namespace unless None, by name."""
        found = self.objects.get((group, kind), {})
        for key in sorted(found):
            if namespace is None or key[0] == namespace:
                yield found[key]

    def namespace(self, name: str) -> Object | None:
        """A namespace with the label that the server puts on every namespace."""
        found = self.get("Namespace", name)
        if found is None:
            if not self.open_namespaces:
                return None
            found = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        labels = (found.get("metadata") or {}).get("labels") or {}
        if labels.get("kubernetes.io/metadata.name") == name:
            return found
        labelled = {**labels, "kubernetes.io/metadata.name": name}
        return {**found, "metadata": {**(found.get("metadata") or {}), "labels": labelled}}

    @cached_property
    def mutating_policies(self) -> tuple[BoundPolicy, ...]:
        """The MutatingAdmissionPolicies with their bindings."""
        return bind(self._policy_objects(), mutating=True)

    @cached_property
    def validating_policies(self) -> tuple[BoundPolicy, ...]:
        """The ValidatingAdmissionPolicies with their bindings."""
        return bind(self._policy_objects(), mutating=False)

    def running(
        self,
        mutating: tuple[BoundPolicy, ...],
        validating: tuple[BoundPolicy, ...],
        compiled: Iterable[CompiledPolicy] = (),
    ) -> Cluster:
        """The same server with just these policies, in this order (the server's own is not defined).

        `compiled` replaces the compiled forms of policies, for callers that watch expressions run.
        """
        cluster = replace(self)
        cluster.__dict__["mutating_policies"] = mutating
        cluster.__dict__["validating_policies"] = validating
        cluster.__dict__["_compiled"] = {(each.policy.mutating, each.policy.name): each for each in compiled}
        return cluster

    @cached_property
    def _compiled(self) -> Mapping[tuple[bool, str], CompiledPolicy]:
        return {}

    def compiled(self, policy: Policy) -> CompiledPolicy:
        """A policy with its expressions compiled for this server's version."""
        return self._compiled.get((policy.mutating, policy.name)) or compile_policy(policy, self.version)

    def _policy_objects(self) -> Iterator[Object]:
        for kind in (*POLICY_KINDS, *BINDING_KINDS):
            yield from self.list(kind, group=GROUP)

    @cached_property
    def namespace_views(self) -> dict[str, Object | None]:
        """Namespaces as expressions see them, filled in by the dispatchers."""
        return {}

    @cached_property
    def _equivalents(self) -> dict[tuple[str, str], tuple[GroupVersionResource, ...]]:
        return {}

    def equivalents(self, resource: GroupVersionResource, kind: str) -> tuple[GroupVersionResource, ...]:
        """The same resource in the other versions that are served, as far as a stock server serves them."""
        key = (resource.group, kind)
        found = self._equivalents.get(key)
        if found is None:
            versions = [each.version for each in self.custom if (each.group, each.kind) == key]
            for api_version in catalog.load(self.version).api_versions(kind):
                group, version = names.parse_api_version(api_version)
                if group == resource.group and served_by_default(api_version, self.version):
                    versions.append(version)
            found = tuple(
                GroupVersionResource(resource.group, version, resource.resource) for version in versions
            )
            self._equivalents[key] = found
        return tuple(each for each in found if each.version != resource.version)

    def schema(self, kind: GroupVersionKind) -> KindSchema | None:
        """The schema of a kind, built-in or custom; None when nobody defined it."""
        found = self.custom.get(kind)
        return found if found is not None else catalog.load(self.version).get(kind.api_version, kind.kind)

    @cached_property
    def builtin_groups(self) -> frozenset[str]:
        """The API groups that the server itself has: an unknown kind in one of them does not exist."""
        known = catalog.load(self.version).kinds()
        return frozenset(names.parse_api_version(api_version)[0] for api_version, _ in known)

    def resource(self, kind: GroupVersionKind) -> ResourceInfo:
        """How a kind is served; an unknown kind is taken to be namespaced and named by the usual rule."""
        schema = self.schema(kind)
        if schema is None:
            resource = names.gvr(kind.api_version, kind.kind)
            return ResourceInfo(resource, kind.kind not in names.CLUSTER_SCOPED, None)
        plural = schema.plural or names.plural(kind.kind)
        resource = GroupVersionResource(kind.group, kind.version, plural)
        return ResourceInfo(resource, schema.namespaced, schema)
