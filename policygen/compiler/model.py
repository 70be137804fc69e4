"""What a spec means: names resolved, defaults filled, units exact, every value with the span it came from.

`resolve` makes a `Model`; nothing below here reads the spec again. Spans never take part in comparison.
The rules half is a list of *actions* per rule, one for each field that the rule sets, each with its own
`on_conflict` and span: what a rule does is exactly its actions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from policygen.diagnostics import Span

OnConflict: TypeAlias = Literal["keep", "replace", "reject"]
Rollout: TypeAlias = Literal["enforce", "observe"]
FailurePolicy: TypeAlias = Literal["auto", "Fail", "Ignore"]
Operation: TypeAlias = Literal["CREATE", "UPDATE"]
LimitType: TypeAlias = Literal["Container", "Pod", "PersistentVolumeClaim"]
ScalarType: TypeAlias = Literal["string", "int", "bool", "version", "quantity"]
Operator: TypeAlias = Literal[
    "==", "!=", "<", "<=", ">", ">=", "in", "notIn", "contains", "startsWith", "endsWith", "exists", "absent"
]
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


@dataclass(frozen=True, slots=True)
class Text:
    """A text of the user, in which every code point knows its place in the source, also in block scalars."""

    value: str
    span: Span = field(compare=False, repr=False)
    offsets: tuple[int, ...] = field(compare=False, repr=False)
    """Source offset of each code point of `value`, and one more for its end."""

    def inner(self, start: int, end: int) -> Span:
        """The span of `value[start:end]` in the source."""
        last = len(self.offsets) - 1
        first = self.offsets[max(0, min(start, last))]
        behind = self.offsets[max(0, min(end - 1, last))] + 1 if end > start else first
        return Span(self.span.source, first, max(first, behind))


# --- selectors ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a label or node selector: `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`."""

    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]
    values: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StringMatch:
    """A test of one string: any of `values` equals it, or it has the prefix, suffix or part."""

    operator: Literal["equals", "startsWith", "endsWith", "contains"]
    values: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Uses:
    """A container uses the device when it has a limit of one of `resources`, **or** a claim: a pod-level
    entry from one of `templates` that it names in `resources.claims`. A pod uses it when a container does.

    Both halves are needed: another rule of the bundle may move the limit to a claim.
    """

    subject: str
    """What the user named: a device or a resource."""
    resources: tuple[str, ...]
    templates: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class NamespaceMatch:
    """Namespaces of a rule. `names` None = all but the exempt ones; requirements are on labels."""

    names: tuple[str, ...] | None
    requirements: tuple[Requirement, ...]
    exclude: tuple[str, ...]
    """Exempt namespaces and those that the rule excludes, sorted; never one of `names`."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Owner:
    """The pod's controller ownerReference: one of these kinds (of this group, when given), or none at all."""

    kinds: tuple[str, ...]
    """Empty = the pod has no controller."""
    group: str | None
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Match:
    """All parts must hold. Labels, images and uses speak of the pod, or of a workload's pod template."""

    workloads: tuple[str, ...]
    operations: tuple[Operation, ...]
    namespaces: NamespaceMatch
    uses: tuple[Uses, ...]
    """Each of them must be used (AND)."""
    labels: tuple[Requirement, ...]
    images: tuple[StringMatch, ...]
    """Some container's image satisfies one of these."""
    owner: Owner | None
    cel: tuple[Text, ...]
    """Boolean expressions on `object`, `oldObject` and `request`, all must be true."""
    span: Span = field(compare=False, repr=False)


# --- what a rule sets --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Containers:
    """Which containers of a pod an action is for."""

    names: tuple[str, ...] | None
    """None = any name."""
    uses: tuple[Uses, ...]
    """When not empty: only containers that use one of these (OR)."""
    init: bool
    """Whether init containers are meant as well."""


@dataclass(frozen=True, slots=True)
class SetUserNamespace:
    """`hostUsers: false` (or true); never on pods that share a host namespace or have block volumes."""

    enabled: bool
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetPriority:
    """The pod's priority class. `default_class` is the global default that the Priority plugin fills in."""

    class_name: str
    default_class: str | None
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ClaimRef:
    """A claim template as a rule uses it."""

    name: str
    """Name of the claim in the spec, and of the pod-level entry."""
    template: str
    """Name of the ResourceClaimTemplate."""
    count: int | None
    """Devices that one claim holds, None when that is not one number (all, or alternatives that differ)."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class InjectClaim:
    """Adds a pod-level claim entry, and names it in each of `containers`. One claim is shared by them."""

    claim: ClaimRef
    containers: Containers
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReplaceLimits:
    """Moves limits of a resource to claims: every container with such a limit gets a claim of its own.

    The limit's value picks the claim in `by_count`; a value that is not there is rejected with a message that
    lists what is.
    """

    resource: str
    by_count: tuple[tuple[int, ClaimRef], ...]
    init: bool
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class EnvLiteral:
    """A plain value."""

    value: str


@dataclass(frozen=True, slots=True)
class EnvField:
    """`fieldRef`."""

    path: str


@dataclass(frozen=True, slots=True)
class EnvResource:
    """`resourceFieldRef` of the container itself."""

    resource: str
    divisor: str | None
    container: str | None


@dataclass(frozen=True, slots=True)
class EnvConfig:
    """`configMapKeyRef`."""

    name: str
    key: str
    optional: bool | None


@dataclass(frozen=True, slots=True)
class EnvSecret:
    """`secretKeyRef`."""

    name: str
    key: str
    optional: bool | None


EnvSource: TypeAlias = EnvLiteral | EnvField | EnvResource | EnvConfig | EnvSecret


@dataclass(frozen=True, slots=True)
class SetEnv:
    """One environment variable in each of `containers`."""

    name: str
    source: EnvSource
    containers: Containers
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration; `key` None with operator `Exists` tolerates everything."""

    key: str | None
    operator: Literal["Exists", "Equal"]
    value: str | None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None
    seconds: int | None


@dataclass(frozen=True, slots=True)
class AddToleration:
    """One toleration, appended unless an equal one is there. It cannot conflict."""

    toleration: Toleration
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetNodeSelector:
    """One `nodeSelector` entry."""

    key: str
    value: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class RequireNodeAffinity:
    """Requirements that every required node selector term must contain (terms are alternatives)."""

    requirements: tuple[Requirement, ...]
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PreferNodeAffinity:
    """One preferred scheduling term."""

    weight: int
    requirements: tuple[Requirement, ...]
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class PodGrouping:
    """Pods that are counted together: those with the pod's own value of each `by` label, and `labels`."""

    by: tuple[str, ...]
    """A pod that lacks one of these labels is skipped and reported, never denied."""
    labels: tuple[tuple[str, str], ...]
    match_label_keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AddSpread:
    """One topology spread constraint."""

    over: str
    max_skew: int
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"]
    grouping: PodGrouping
    min_domains: int | None
    node_affinity_policy: Literal["Honor", "Ignore"] | None
    node_taints_policy: Literal["Honor", "Ignore"] | None
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AddPodAffinity:
    """One pod affinity term (`pack`, `together`) or anti-affinity term (`apart`)."""

    anti: bool
    over: str
    grouping: PodGrouping
    weight: int | None
    """None = required."""
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetLabel:
    """One label of the pod or pod template."""

    key: str
    value: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetAnnotation:
    """One annotation of the pod or pod template."""

    key: str
    value: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetSchedulerName:
    """`schedulerName`; the default `default-scheduler` counts as not set."""

    name: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetRuntimeClass:
    """`runtimeClassName`."""

    name: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AddSchedulingGate:
    """One scheduling gate; only when a pod is created."""

    name: str
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SetSecurityContext:
    """One leaf of the pod's security context, or of each container's."""

    path: tuple[str, ...]
    """Below `securityContext`: `("runAsNonRoot",)`, `("seccompProfile",)`, `("capabilities", "drop")`."""
    value: Json
    containers: Containers | None
    """None = the pod's own security context."""
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a volume is mounted, in each of `containers`."""

    path: str
    read_only: bool
    sub_path: str | None
    containers: Containers


@dataclass(frozen=True, slots=True)
class AddVolume:
    """A volume with its mounts. `source` is the volume without its name: one key, as Kubernetes spells it."""

    name: str
    source: dict[str, Json]
    mounts: tuple[Mount, ...]
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AddSharedMemory:
    """A memory volume at `/dev/shm`; a pod that mounts something there already has it."""

    size: str
    containers: Containers
    on_conflict: OnConflict
    span: Span = field(compare=False, repr=False)


Action: TypeAlias = (
    SetUserNamespace
    | SetPriority
    | InjectClaim
    | ReplaceLimits
    | SetEnv
    | AddToleration
    | SetNodeSelector
    | RequireNodeAffinity
    | PreferNodeAffinity
    | AddSpread
    | AddPodAffinity
    | SetLabel
    | SetAnnotation
    | SetSchedulerName
    | SetRuntimeClass
    | AddSchedulingGate
    | SetSecurityContext
    | AddVolume
    | AddSharedMemory
)


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: what it matches and what it sets, in the spec's order."""

    name: str
    description: str | None
    match: Match
    actions: tuple[Action, ...]
    rollout: Rollout
    failure_policy: FailurePolicy
    span: Span = field(compare=False, repr=False)
    """The rule's name."""


# --- objects -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Priority:
    """A PriorityClass. One that `exists` is on the cluster already and is not emitted."""

    name: str
    value: int
    preemption: Literal["PreemptLowerPriority", "Never"]
    is_default: bool
    description: str | None
    exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Condition:
    """A test of one attribute or capacity of a device, guarded when written as CEL."""

    kind: Literal["attribute", "capacity"]
    domain: str
    name: str
    type: ScalarType
    operator: Operator
    values: tuple[str | int | bool, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceConfig:
    """Opaque parameters for a driver; `requests` empty = all requests."""

    driver: str
    parameters: dict[str, Json]
    requests: tuple[str, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Device:
    """A kind of device, which becomes a DeviceClass. One that `exists` is on the cluster already."""

    name: str
    class_name: str
    driver: str
    release: str | None
    type: str
    """The driver's type of device (`gpu`, `mig`), empty when it is not known."""
    conditions: tuple[Condition, ...]
    cel: tuple[Text, ...]
    extended_resource: str | None
    configs: tuple[DeviceConfig, ...]
    exists: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Alternative:
    """One way to satisfy a request."""

    name: str
    """Name of the subrequest; unused when the request has one alternative."""
    device: Device
    count: int | None
    """None = all that match."""
    conditions: tuple[Condition, ...]
    cel: tuple[Text, ...]
    capacity: tuple[tuple[str, str], ...]
    tolerations: tuple[Toleration, ...]
    admin_access: bool
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A named request for devices: the first alternative that can be allocated."""

    name: str
    alternatives: tuple[Alternative, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constraint:
    """All devices of the named requests have the same value of an attribute, or all have different ones."""

    attribute: str
    """Qualified: `domain/name`."""
    distinct: bool
    requests: tuple[str, ...]
    """Empty = all; `request/subrequest` for one alternative."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim, which becomes a ResourceClaimTemplate in every namespace where a rule injects it."""

    name: str
    template: str
    requests: tuple[DeviceRequest, ...]
    constraints: tuple[Constraint, ...]
    configs: tuple[DeviceConfig, ...]
    replaces: str | None
    """The extended resource whose limits the claim stands for."""
    namespaces: tuple[str, ...]
    """Where the template is emitted: the namespaces of the rules that inject it, sorted."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quota:
    """One ResourceQuota in each of a tenant's namespaces."""

    name: str
    hard: tuple[tuple[str, str], ...]
    scopes: tuple[str, ...]
    scope_priorities: tuple[str, ...]
    """Priority classes that the quota is for (`scopeSelector`), empty = no such scope."""
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Limits:
    """One item of a LimitRange: for `Container`, `Pod` or `PersistentVolumeClaim`."""

    type: LimitType
    default: tuple[tuple[str, str], ...]
    default_request: tuple[tuple[str, str], ...]
    min: tuple[tuple[str, str], ...]
    max: tuple[tuple[str, str], ...]
    ratio: tuple[tuple[str, str], ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Tenant:
    """A tenant and what it may use."""

    name: str
    namespaces: tuple[str, ...]
    labels: tuple[tuple[str, str], ...]
    """Labels of its namespaces; when there are any, the Namespace objects are emitted."""
    annotations: tuple[tuple[str, str], ...]
    quotas: tuple[Quota, ...]
    limits: tuple[Limits, ...]
    span: Span = field(compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Safety:
    """What no rule may touch."""

    exempt_namespaces: tuple[str, ...]
    break_glass_label: str
    """An object with this label (value `true`) is left alone by every policy of the bundle."""


@dataclass(frozen=True, slots=True)
class Model:
    """The resolved meaning of one spec."""

    name: str
    kubernetes: str
    """`1.34` … `1.37`."""
    labels: tuple[tuple[str, str], ...]
    annotations: tuple[tuple[str, str], ...]
    priorities: tuple[Priority, ...]
    devices: tuple[Device, ...]
    claims: tuple[Claim, ...]
    rules: tuple[Rule, ...]
    tenants: tuple[Tenant, ...]
    safety: Safety
    span: Span = field(compare=False, repr=False)
    """The spec's `metadata.name`."""
