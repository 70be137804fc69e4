"""What a rule injects: variables, volumes, labels, security contexts, one action a field."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policygen.compiler.model_actions import (
    Action,
    AddSharedMemory,
    AddVolume,
    Containers,
    EnvConfig,
    EnvField,
    EnvLiteral,
    EnvResource,
    EnvSecret,
    EnvSource,
    Json,
    Mount,
    SetAnnotation,
    SetEnv,
    SetLabel,
    SetSecurityContext,
    SetUserNamespace,
)
from policygen.compiler.resolve_actions import Acting
from policygen.compiler.scope import Scope
from policygen.compiler.spec_inject import (
    EnvConfigSpec,
    EnvSpec,
    InjectSpec,
    MountSpec,
    SharedMemorySpec,
    VolumeSpec,
)
from policygen.compiler.spec_rules import FullConflictSpec
from policygen.compiler.yaml import Mapping
from policygen.diagnostics import Span
from policygen.kube import names

_REFERENCE = re.compile(r"\$\(([^)]+)\)")
_ENV_FIELDS = re.compile(
    r"metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\['[^']+'\]"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_ENV_RESOURCES = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-\w+)")


@dataclass(frozen=True, slots=True)
class Injecting(Acting):
    """Resolves `inject` of one rule."""

    def actions(self) -> list[Action]:
        """The actions of `inject` in their fixed order."""
        spec = self.rule.inject
        result: list[Action] = []
        if spec is None:
            return result
        if spec.user_namespace is not None:
            span = spec.span_at("userNamespace")
            result.append(SetUserNamespace(spec.user_namespace, self.conflict("user_namespace"), span))
        result += self._security_context(spec)
        for key, value in self.scope.labels(spec, "labels", spec.labels):
            result.append(SetLabel(key, value, self.conflict("labels"), spec.span_at("labels", key)))
        for key, value in self.scope.annotations(spec, "annotations", spec.annotations):
            span = spec.span_at("annotations", key)
            result.append(SetAnnotation(key, value, self.conflict("annotations"), span))
        result += self._env(spec)
        result += self._shared_memory(spec)
        for name in sorted(spec.volumes):
            result += self._volume(spec, name, spec.volumes[name])
        return result

    def _containers(self, spec: InjectSpec, own: EnvSpec | MountSpec | SharedMemorySpec | None) -> Containers:
        init = spec.init_containers
        if own is not None and own.init_containers is not None:
            init = own.init_containers
        if own is not None and own.containers is not None:
            return self.matching.containers(own, own.containers, init=init, default=self.uses)
        return self.matching.containers(spec, spec.containers, init=init, default=self.uses)

    def _env(self, spec: InjectSpec) -> list[Action]:
        actions = []
        self._check_conflict_names(spec)
        for name in _env_order(spec):
            value = spec.env[name]
            span = spec.span_at("env", name)
            self.scope.name(names.env_name, name, spec.key_span_at("env", name), "an environment variable")
            own = None if isinstance(value, str) else value
            source = EnvLiteral(value) if isinstance(value, str) else self._source(name, value)
            if source is not None:
                containers = self._containers(spec, own)
                actions.append(SetEnv(name, source, containers, self.conflict("env", name), span))
        return list(actions)

    def _check_conflict_names(self, spec: InjectSpec) -> None:
        """Words of `onConflict` are for variables that the rule sets."""
        conflict = self.rule.on_conflict
        if isinstance(conflict, FullConflictSpec) and isinstance(conflict.env, dict):
            for name in conflict.env:
                span = conflict.key_span_at("env", name)
                self.scope.one_of(name, spec.env, span, "environment variable", "inject.env")

    def _source(self, name: str, spec: EnvSpec) -> EnvSource | None:
        sources = [key for key in ("value", "field", "resource", "config", "secret") if spec.node_at(key)]
        if len(sources) != 1:
            self.scope.found.error(
                "one-of",
                f"variable `{name}` needs exactly one of `value`, `field`, `resource`, `config`, `secret`",
                spec.block_span,
            )
            return None
        if spec.resource is None:
            for key in ("container", "divisor"):
                if spec.node_at(key) is not None:
                    self.scope.found.error(
                        "one-of", f"`{key}` goes with `resource` only", spec.key_span_at(key)
                    )
        if spec.value is not None:
            return EnvLiteral(spec.value)
        if spec.field is not None:
            return self._field(spec, spec.field)
        if spec.resource is not None:
            return self._resource(spec, spec.resource)
        if spec.config is not None:
            self._reference(spec.config)
            return EnvConfig(spec.config.name, spec.config.key, spec.config.optional)
        assert spec.secret is not None
        self._reference(spec.secret)
        return EnvSecret(spec.secret.name, spec.secret.key, spec.secret.optional)

    def _field(self, spec: EnvSpec, path: str) -> EnvSource:
        if not _ENV_FIELDS.fullmatch(path):
            self.scope.found.error(
                "unknown-field",
                f"`{path}` is no field that a variable can have",
                spec.span_at("field"),
                help=[
                    "known are `metadata.name`, `.namespace`, `.uid`, `metadata.labels['key']`, "
                    "`metadata.annotations['key']`, `spec.nodeName`, `spec.serviceAccountName`, "
                    "`status.hostIP`, `.hostIPs`, `.podIP`, `.podIPs`"
                ],
            )
        return EnvField(path)

    def _resource(self, spec: EnvSpec, resource: str) -> EnvSource:
        if not _ENV_RESOURCES.fullmatch(resource):
            self.scope.found.error(
                "unknown-field",
                f"`{resource}` is no resource that a variable can have",
                spec.span_at("resource"),
                help=["known are `limits.` and `requests.` of `cpu`, `memory`, `ephemeral-storage`"],
            )
        if spec.divisor is not None:
            self.scope.quantity(spec.text_at("divisor"), "divisor")
        return EnvResource(resource, spec.divisor, spec.container)

    def _reference(self, spec: EnvConfigSpec) -> None:
        self.scope.name(names.dns_subdomain, spec.name, spec.span_at("name"), "the name of an object")

    def _shared_memory(self, spec: InjectSpec) -> list[Action]:
        value = spec.shared_memory
        if value is None:
            return []
        conflict = self.conflict("shared_memory")
        if isinstance(value, SharedMemorySpec):
            size = self.scope.amount(value.text_at("size"), "memory", "size")
            return [AddSharedMemory(size, self._containers(spec, value), conflict, value.block_span)]
        size = self.scope.amount(spec.text_at("sharedMemory"), "memory", "sharedMemory")
        return [AddSharedMemory(size, self._containers(spec, None), conflict, spec.span_at("sharedMemory"))]

    def _volume(self, spec: InjectSpec, name: str, volume: VolumeSpec) -> list[Action]:
        span = spec.key_span_at("volumes", name)
        self.scope.name(names.dns_label, name, span, "the name of a volume")
        sources = [entry for entry in volume._node.entries if entry.key.text != "mount"]
        if len(sources) != 1:
            self.scope.found.error(
                "one-of",
                f"volume `{name}` needs exactly one source, such as `configMap` or `emptyDir`",
                span,
            )
            return []
        source: dict[str, Json] = {sources[0].key.text: self.scope.json(sources[0].value)}
        if sources[0].key.text == "image" and not self.scope.since("1.35"):
            self.scope.needs("1.35", "a volume from an image", sources[0].key.span)
        mounts = self._mounts(spec, volume)
        return [AddVolume(name, source, mounts, self.conflict("volumes"), span)]

    def _mounts(self, spec: InjectSpec, volume: VolumeSpec) -> tuple[Mount, ...]:
        if volume.mount is None:
            return ()
        if not isinstance(volume.mount, list):
            return (self._mount(spec, volume.mount, volume.span_at("mount")),)
        return tuple(
            self._mount(spec, item, volume.span_at("mount", index)) for index, item in enumerate(volume.mount)
        )

    def _mount(self, spec: InjectSpec, item: MountSpec | str, span: Span) -> Mount:
        if isinstance(item, str):
            self._mount_path(item, span)
            return Mount(item, False, None, self._containers(spec, None))
        self._mount_path(item.path, item.span_at("path"))
        return Mount(item.path, item.read_only, item.sub_path, self._containers(spec, item))

    def _mount_path(self, path: str, span: Span) -> None:
        if not path.startswith("/") or ":" in path:
            self.scope.found.error(
                "bad-path", f"`{path}` is no path in a container", span, help=["begin with `/`, without `:`"]
            )

    def _security_context(self, spec: InjectSpec) -> list[Action]:
        context = spec.security_context
        if context is None:
            return []
        conflict = self.conflict("security_context")
        result: list[Action] = []
        for field, containers in (("pod", None), ("container", self._containers(spec, None))):
            node = context.node_at(field)
            for path, value, span in _leaves(self.scope, node, ()) if isinstance(node, Mapping) else ():
                result.append(SetSecurityContext(path, value, containers, conflict, span))
        return result


def _env_order(spec: InjectSpec) -> list[str]:
    """By name, but one that another refers to with `$(NAME)` comes first: only then is it expanded."""
    order: list[str] = []

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in order or name in path or name not in spec.env:
            return
        value = spec.env[name]
        text = value if isinstance(value, str) else value.value or ""
        for other in sorted(_REFERENCE.findall(text)):
            visit(other, (*path, name))
        order.append(name)

    for name in sorted(spec.env):
        visit(name, ())
    return order


_WHOLE = frozenset({"seccompProfile", "appArmorProfile", "seLinuxOptions", "windowsOptions"})
"""Fields of a security context that are set as a whole."""


def _leaves(scope: Scope, node: Mapping, path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Json, Span]]:
    result: list[tuple[tuple[str, ...], Json, Span]] = []
    for entry in sorted(node.entries, key=lambda entry: entry.key.text):
        here = (*path, entry.key.text)
        if isinstance(entry.value, Mapping) and entry.key.text not in _WHOLE:
            result += _leaves(scope, entry.value, here)
        else:
            result.append((here, scope.json(entry.value), entry.value.span))
    return result
