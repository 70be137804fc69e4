"""What rules set: a list of *actions* per rule, one for each field, each with its own `on_conflict` and span.

What a rule does is exactly its actions. Spans never take part in comparison.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from policygen.compiler.model_match import Match, Requirement, Uses
from policygen.diagnostics import Span

OnConflict: TypeAlias = Literal["keep", "replace", "reject"]
Rollout: TypeAlias = Literal["enforce", "observe"]
FailurePolicy: TypeAlias = Literal["auto", "Fail", "Ignore"]
Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


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
