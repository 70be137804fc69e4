"""Where a rule places pods: priority, claims, nodes, spread and grouping, one action a field."""

from __future__ import annotations

import re
from dataclasses import dataclass

from policygen.compiler.model_actions import (
    Action,
    AddPodAffinity,
    AddSchedulingGate,
    AddSpread,
    AddToleration,
    ClaimRef,
    InjectClaim,
    PodGrouping,
    PreferNodeAffinity,
    ReplaceLimits,
    RequireNodeAffinity,
    SetNodeSelector,
    SetPriority,
    SetRuntimeClass,
    SetSchedulerName,
)
from policygen.compiler.model_match import Requirement
from policygen.compiler.resolve_actions import Acting
from policygen.compiler.spec_base import Block
from policygen.compiler.spec_rules import (
    ClaimUseSpec,
    GroupingSpec,
    NodeTests,
    NodeTestSpec,
    PlaceSpec,
    TogetherSpec,
)
from policygen.diagnostics import Span
from policygen.kube import names

_COUNT = re.compile(r"[1-9][0-9]{0,3}")
SYSTEM_PRIORITIES = {"system-cluster-critical": 2_000_000_000, "system-node-critical": 2_000_001_000}


@dataclass(frozen=True, slots=True)
class Placing(Acting):
    """Resolves `place` of one rule."""

    def actions(self) -> list[Action]:
        """The actions of `place` in their fixed order."""
        spec = self.rule.place
        result: list[Action] = []
        if spec is None:
            return result
        if spec.priority is not None:
            result += self._priority(spec)
        result += self._claim(spec)
        if spec.scheduler_name is not None:
            span = spec.span_at("schedulerName")
            self.scope.name(names.dns_subdomain, spec.scheduler_name, span, "the name of a scheduler")
            result.append(SetSchedulerName(spec.scheduler_name, self.conflict("scheduler_name"), span))
        if spec.runtime_class is not None:
            span = spec.span_at("runtimeClass")
            self.scope.name(names.dns_subdomain, spec.runtime_class, span, "the name of a RuntimeClass")
            result.append(SetRuntimeClass(spec.runtime_class, self.conflict("runtime_class"), span))
        for key, value in self.scope.labels(spec, "nodeSelector", spec.node_selector):
            span = spec.span_at("nodeSelector", key)
            result.append(SetNodeSelector(key, value, self.conflict("node_selector"), span))
        result += self._node_affinity(spec)
        for index, item in enumerate(spec.tolerate):
            span = spec.span_at("tolerate", index)
            toleration = self.scope.toleration(item, span)
            if toleration is not None:
                result.append(AddToleration(toleration, self.conflict("tolerate"), span))
        result += self._spread(spec)
        result += self._affinity(spec)
        for index, gate in enumerate(spec.scheduling_gates):
            span = spec.span_at("schedulingGates", index)
            self.scope.name(names.qualified_name, gate, span, "a scheduling gate")
            result.append(AddSchedulingGate(gate, self.conflict("scheduling_gates"), span))
        return result

    def _priority(self, spec: PlaceSpec) -> list[Action]:
        name, span = spec.priority or "", spec.span_at("priority")
        known = [*self.scope.spec.priorities, *SYSTEM_PRIORITIES]
        if not self.scope.one_of(name, known, span, "priority", "priorities"):
            return []
        return [SetPriority(name, self.default_class, self.conflict("priority"), span)]

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
        conflict = self.conflict("claim")
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
            if not _COUNT.fullmatch(key):
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
        return [ReplaceLimits(min(resources), pairs, use.init_containers, self.conflict("claim"), span)]

    def _node_affinity(self, spec: PlaceSpec) -> list[Action]:
        affinity = spec.node_affinity
        if affinity is None:
            return []
        conflict = self.conflict("node_affinity")
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
                    on_conflict=self.conflict("spread"),
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
            on_conflict=self.conflict(what),
            span=item.block_span,
        )
