"""What a rule sets: one action a field, in a fixed order, each with its conflict policy and its span."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policygen.compiler.model import (
    Action,
    AddPodAffinity,
    AddSchedulingGate,
    AddSharedMemory,
    AddSpread,
    AddToleration,
    AddVolume,
    ClaimRef,
    Containers,
    EnvConfig,
    EnvField,
    EnvLiteral,
    EnvResource,
    EnvSecret,
    EnvSource,
    InjectClaim,
    Json,
    Mount,
    OnConflict,
    PodGrouping,
    PreferNodeAffinity,
    ReplaceLimits,
    Requirement,
    RequireNodeAffinity,
    SetAnnotation,
    SetEnv,
    SetLabel,
    SetNodeSelector,
    SetPriority,
    SetRuntimeClass,
    SetSchedulerName,
    SetSecurityContext,
    SetUserNamespace,
    Uses,
)
from policygen.compiler.resolve_match import Matching
from policygen.compiler.scope import Scope
from policygen.compiler.spec_base import Block
from policygen.compiler.spec_rules import (
    ClaimUseSpec,
    EnvConfigSpec,
    EnvSpec,
    FullConflictSpec,
    GroupingSpec,
    InjectSpec,
    MountSpec,
    NodeTests,
    NodeTestSpec,
    PlaceSpec,
    RuleSpec,
    SharedMemorySpec,
    TogetherSpec,
    VolumeSpec,
)
from policygen.compiler.yaml import Mapping
from policygen.diagnostics import Span
from policygen.kube import names

SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}
_REFERENCE = re.compile(r"\$\(([^)]+)\)")
_ENV_FIELDS = re.compile(
    r"metadata\.(name|namespace|uid)|metadata\.(labels|annotations)\['[^']+'\]"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs)"
)
_ENV_RESOURCES = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-\w+)")


@dataclass(frozen=True, slots=True)
class Acting:
    """Resolves what one rule sets."""

    scope: Scope
    matching: Matching
    rule: RuleSpec
    uses: tuple[Uses, ...]
    """What the rule matches by."""
    claims: dict[str, ClaimRef]
    default_class: str | None

    def actions(self) -> tuple[Action, ...]:
        """All actions in their fixed order."""
        result: list[Action] = []
        if self.rule.place is not None:
            result += self._place(self.rule.place)
        if self.rule.inject is not None:
            result += self._inject(self.rule.inject)
        return tuple(result)

    def _conflict(self, field: str, name: str | None = None) -> OnConflict:
        """What to do about a field: the rule's word for it, the rule's default, then the spec's."""
        for spec in (self.rule.on_conflict, self.scope.spec.on_conflict):
            if isinstance(spec, FullConflictSpec):
                own = getattr(spec, field)
                if isinstance(own, dict):
                    own = own.get(name)
                if own is not None:
                    return _conflict_word(own)
                if spec.default is not None:
                    return spec.default
            elif spec is not None:
                return spec
        return "keep"

    # --- place ---------------------------------------------------------------------------------------------

    def _place(self, spec: PlaceSpec) -> list[Action]:
        result: list[Action] = []
        if spec.priority is not None:
            result += self._priority(spec)
        result += self._claim(spec)
        if spec.scheduler_name is not None:
            span = spec.span_at("schedulerName")
            self.scope.name(names.dns_subdomain, spec.scheduler_name, span, "the name of a scheduler")
            result.append(SetSchedulerName(spec.scheduler_name, self._conflict("scheduler_name"), span))
        if spec.runtime_class is not None:
            span = spec.span_at("runtimeClass")
            self.scope.name(names.dns_subdomain, spec.runtime_class, span, "the name of a RuntimeClass")
            result.append(SetRuntimeClass(spec.runtime_class, self._conflict("runtime_class"), span))
        for key, value in self.scope.labels(spec, "nodeSelector", spec.node_selector):
            span = spec.span_at("nodeSelector", key)
            result.append(SetNodeSelector(key, value, self._conflict("node_selector"), span))
        result += self._node_affinity(spec)
        for index, item in enumerate(spec.tolerate):
            span = spec.span_at("tolerate", index)
            toleration = self.scope.toleration(item, span)
            if toleration is not None:
                result.append(AddToleration(toleration, self._conflict("tolerate"), span))
        result += self._spread(spec)
        result += self._affinity(spec)
        for index, gate in enumerate(spec.scheduling_gates):
            span = spec.span_at("schedulingGates", index)
            self.scope.name(names.qualified_name, gate, span, "a scheduling gate")
            result.append(AddSchedulingGate(gate, self._conflict("scheduling_gates"), span))
        return result

    def _priority(self, spec: PlaceSpec) -> list[Action]:
        name, span = spec.priority or "", spec.span_at("priority")
        known = [*self.scope.spec.priorities, *SYSTEM_PRIORITIES]
        if not self.scope.one_of(name, known, span, "priority", "priorities"):
            return []
        return [SetPriority(name, self.default_class, self._conflict("priority"), span)]

    def _claim(self, spec: PlaceSpec) -> list[Action]:
        use = spec.claim
        if use is None:
            return []
        span = spec.span_at("claim")
        if isinstance(use, str):
            return self._one_claim(use, span, spec, None)
        if (use.name is None) == (use.per_count is None):
            self.scope.found.error("one-of", "`claim` needs either `name` or `perCount`", span)
            return []
        if use.name is not None:
            return self._one_claim(use.name, use.span_at("name"), spec, use)
        return self._per_count(use, span)

    def _one_claim(self, name: str, span: Span, spec: PlaceSpec, use: ClaimUseSpec | None) -> list[Action]:
        if not self.scope.one_of(name, self.scope.spec.claims, span, "claim", "claims"):
            return []
        claim = self.claims[name]
        conflict = self._conflict("claim")
        init = use.init_containers if use else False
        replaced = self.scope.spec.claims[name].replaces
        if replaced is None:
            block: Block = use or spec
            containers = self.matching.containers(
                block, use.containers if use else None, init=init, default=self.uses
            )
            return [InjectClaim(claim, containers, conflict, span)]
        if use is not None and use.containers is not None:
            self._no_containers(use)
        if claim.count is None:
            self.scope.found.error(
                "uncounted-claim",
                f"claim `{name}` has no single count, so no limit of `{replaced}` can stand for it",
                span,
                help=["give its requests a `count`, the same in each alternative"],
            )
            return []
        return [ReplaceLimits(replaced, ((claim.count, claim),), init, conflict, span)]

    def _no_containers(self, use: ClaimUseSpec) -> None:
        self.scope.found.error(
            "one-of",
            "`containers` stands beside a claim that replaces limits: the limits choose the containers",
            use.key_span_at("containers"),
        )

    def _per_count(self, use: ClaimUseSpec, span: Span) -> list[Action]:
        assert use.per_count is not None
        by_count: dict[int, ClaimRef] = {}
        resources: dict[str, str] = {}
        for key, name in use.per_count.items():
            key_span, value_span = use.key_span_at("perCount", key), use.span_at("perCount", key)
            if not key.isdigit() or int(key) < 1:
                self.scope.found.error("wrong-unit", f"`{key}` is no count of devices", key_span)
                continue
            if not self.scope.one_of(name, self.scope.spec.claims, value_span, "claim", "claims"):
                continue
            claim, replaced = self.claims[name], self.scope.spec.claims[name].replaces
            if replaced is None:
                self.scope.found.error(
                    "replaces-nothing",
                    f"claim `{name}` replaces no limit",
                    value_span,
                    help=[f"add `replaces:` to `spec.claims.{name}`"],
                )
                continue
            if claim.count is not None and claim.count != int(key):
                self.scope.found.error(
                    "count-differs",
                    f"claim `{name}` holds {claim.count} devices, but stands for a limit of {key}",
                    value_span,
                )
            resources[replaced] = name
            by_count[int(key)] = claim
        if use.containers is not None:
            self._no_containers(use)
        if len(resources) > 1:
            listed = ", ".join(f"`{name}`" for name in sorted(resources))
            self.scope.found.error(
                "conflicting-value", f"these claims replace different resources: {listed}", span
            )
        if not by_count:
            return []
        pairs = tuple(sorted(by_count.items()))
        return [ReplaceLimits(min(resources), pairs, use.init_containers, self._conflict("claim"), span)]

    def _node_affinity(self, spec: PlaceSpec) -> list[Action]:
        affinity = spec.node_affinity
        if affinity is None:
            return []
        conflict = self._conflict("node_affinity")
        result: list[Action] = []
        if affinity.required:
            found = self._node_requirements(affinity, "required", affinity.required)
            result.append(RequireNodeAffinity(found, conflict, affinity.span_at("required")))
        for item in affinity.preferred:
            found = self._node_requirements(item, "labels", item.labels)
            result.append(PreferNodeAffinity(item.weight, found, conflict, item.block_span))
        if not result:
            self.scope.found.error("empty-test", "`nodeAffinity` says nothing", affinity.block_span)
        return result

    def _node_requirements(self, block: Block, field: str, tests: NodeTests) -> tuple[Requirement, ...]:
        result: list[Requirement] = []
        for key, test in sorted(tests.items()):
            span = block.key_span_at(field, key)
            if not isinstance(test, NodeTestSpec):
                result += self.scope.requirements(block, field, {key: test})
                continue
            self.scope.name(names.qualified_name, key, span, "a label key")
            if test.in_ is not None:
                result.append(Requirement(key, "In", tuple(sorted(test.in_)), span))
            if test.not_in is not None:
                result.append(Requirement(key, "NotIn", tuple(sorted(test.not_in)), span))
            if test.exists is not None:
                result.append(Requirement(key, "Exists" if test.exists else "DoesNotExist", (), span))
            if test.gt is not None:
                result.append(Requirement(key, "Gt", (str(test.gt),), span))
            if test.lt is not None:
                result.append(Requirement(key, "Lt", (str(test.lt),), span))
            if not test.model_fields_set:
                self.scope.found.error("empty-test", f"the test of `{key}` says nothing", span)
        return tuple(result)

    def _grouping(self, spec: GroupingSpec, what: str) -> PodGrouping:
        self.scope.name(names.qualified_name, spec.over, spec.span_at("over"), "a node label")
        for index, key in enumerate(spec.by):
            self.scope.name(names.qualified_name, key, spec.span_at("by", index), "a label key")
        for index, key in enumerate(spec.match_label_keys):
            span = spec.span_at("matchLabelKeys", index)
            self.scope.name(names.qualified_name, key, span, "a label key")
            if key in spec.by or key in spec.labels:
                self.scope.found.error("duplicate-name", f"label `{key}` is named twice", span)
        labels = self.scope.labels(spec, "labels", spec.labels)
        for key in set(spec.by) & set(spec.labels):
            self.scope.found.error(
                "duplicate-name", f"label `{key}` is named twice", spec.key_span_at("labels", key)
            )
        if not spec.by and not labels:
            self.scope.found.error(
                "empty-test",
                f"`{what}` counts no pods",
                spec.block_span,
                notes=["without a selector it selects no pod, and does nothing"],
                help=["say which pods belong together: `by: [app]` or `labels: {app: trainer}`"],
            )
        return PodGrouping(tuple(sorted(spec.by)), labels, tuple(sorted(spec.match_label_keys)))

    def _spread(self, spec: PlaceSpec) -> list[Action]:
        result: list[Action] = []
        seen: dict[tuple[str, str], Span] = {}
        for item in spec.spread:
            key = (item.over, item.when_unsatisfiable)
            if key in seen:
                self.scope.duplicate("spread over", item.over, item.span_at("over"), seen[key])
            seen[key] = item.span_at("over")
            if item.min_domains is not None and item.when_unsatisfiable != "DoNotSchedule":
                self.scope.found.error(
                    "one-of",
                    "`minDomains` goes with `whenUnsatisfiable: DoNotSchedule` only",
                    item.key_span_at("minDomains"),
                )
            result.append(
                AddSpread(
                    over=item.over,
                    max_skew=item.max_skew,
                    when_unsatisfiable=item.when_unsatisfiable,
                    grouping=self._grouping(item, "spread"),
                    min_domains=item.min_domains,
                    node_affinity_policy=item.node_affinity_policy,
                    node_taints_policy=item.node_taints_policy,
                    on_conflict=self._conflict("spread"),
                    span=item.block_span,
                )
            )
        return result

    def _affinity(self, spec: PlaceSpec) -> list[Action]:
        groups = (("together", spec.together), ("apart", spec.apart), ("pack", spec.pack))
        return [self._term(what, item) for what, items in groups for item in items]

    def _term(self, what: str, item: TogetherSpec) -> Action:
        required = (what != "pack") if item.required is None else item.required
        if required and item.weight is not None:
            self.scope.found.error(
                "one-of",
                "`weight` goes with preferences only",
                item.key_span_at("weight"),
                help=["add `required: false`, or drop the weight"],
            )
        return AddPodAffinity(
            anti=what == "apart",
            over=item.over,
            grouping=self._grouping(item, what),
            weight=None if required else item.weight or 100,
            on_conflict=self._conflict(what),
            span=item.block_span,
        )

    # --- inject --------------------------------------------------------------------------------------------

    def _inject(self, spec: InjectSpec) -> list[Action]:
        result: list[Action] = []
        if spec.user_namespace is not None:
            span = spec.span_at("userNamespace")
            result.append(SetUserNamespace(spec.user_namespace, self._conflict("user_namespace"), span))
        result += self._security_context(spec)
        for key, value in self.scope.labels(spec, "labels", spec.labels):
            result.append(SetLabel(key, value, self._conflict("labels"), spec.span_at("labels", key)))
        for key, value in self.scope.annotations(spec, "annotations", spec.annotations):
            span = spec.span_at("annotations", key)
            result.append(SetAnnotation(key, value, self._conflict("annotations"), span))
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
        for name in _env_order(spec):
            value = spec.env[name]
            span = spec.span_at("env", name)
            self.scope.name(names.env_name, name, spec.key_span_at("env", name), "an environment variable")
            own = None if isinstance(value, str) else value
            source = EnvLiteral(value) if isinstance(value, str) else self._source(name, value)
            if source is not None:
                containers = self._containers(spec, own)
                actions.append(SetEnv(name, source, containers, self._conflict("env", name), span))
        return list(actions)

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
        conflict = self._conflict("shared_memory")
        if isinstance(value, str):
            size = self.scope.quantity(spec.text_at("sharedMemory"), "sharedMemory")
            return [
                AddSharedMemory(size, self._containers(spec, None), conflict, spec.span_at("sharedMemory"))
            ]
        size = self.scope.quantity(value.text_at("size"), "size")
        return [AddSharedMemory(size, self._containers(spec, value), conflict, value.block_span)]

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
        return [AddVolume(name, source, mounts, self._conflict("volumes"), span)]

    def _mounts(self, spec: InjectSpec, volume: VolumeSpec) -> tuple[Mount, ...]:
        if volume.mount is None:
            return ()
        if isinstance(volume.mount, str):
            self._mount_path(volume.mount, volume.span_at("mount"))
            return (Mount(volume.mount, False, None, self._containers(spec, None)),)
        items = volume.mount if isinstance(volume.mount, list) else [volume.mount]
        result = []
        for item in items:
            self._mount_path(item.path, item.span_at("path"))
            result.append(Mount(item.path, item.read_only, item.sub_path, self._containers(spec, item)))
        return tuple(result)

    def _mount_path(self, path: str, span: Span) -> None:
        if not path.startswith("/") or ":" in path:
            self.scope.found.error(
                "bad-path", f"`{path}` is no path in a container", span, help=["begin with `/`, without `:`"]
            )

    def _security_context(self, spec: InjectSpec) -> list[Action]:
        context = spec.security_context
        if context is None:
            return []
        conflict = self._conflict("security_context")
        result: list[Action] = []
        for field, containers in (("pod", None), ("container", self._containers(spec, None))):
            node = context.node_at(field)
            for path, value, span in _leaves(self.scope, node, ()) if isinstance(node, Mapping) else ():
                result.append(SetSecurityContext(path, value, containers, conflict, span))
        return result


def _conflict_word(value: object) -> OnConflict:
    match value:
        case "replace":
            return "replace"
        case "reject":
            return "reject"
        case _:
            return "keep"


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
