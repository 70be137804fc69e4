"""The spec language of rules: what they place, what they do on conflict, and the rule itself."""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import Field, Tag

from policygen.compiler.spec_base import Block, by_shape
from policygen.compiler.spec_inject import InjectSpec
from policygen.compiler.spec_match import Containers, MatchSpec

OnConflict = Literal["keep", "replace", "reject"]


class ClaimUseSpec(Block):
    """How a rule uses claims."""

    name: str | None = None
    """A claim of the spec."""
    per_count: dict[str, str] | None = Field(default=None, min_length=1)
    """Value of the replaced limit -> claim."""
    containers: Containers | None = None
    """Which containers get the claim."""
    init_containers: bool = False
    """Whether init containers are meant as well."""


ClaimUse = Annotated[
    Annotated[str, Tag("[scalar]")] | Annotated[ClaimUseSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]


class FullTolerationSpec(Block):
    """A toleration as Kubernetes has it."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {"tolerationSeconds": ("seconds",)}

    key: str | None = None
    """The taint's key; none = all taints."""
    operator: Literal["Exists", "Equal"] | None = None
    """By default `Equal` with a value, else `Exists`."""
    value: str | None = None
    """The taint's value."""
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = None
    """The taint's effect; none = all effects."""
    seconds: int | None = None
    """How long a `NoExecute` taint is tolerated."""


TolerationSpec = Annotated[
    Annotated[str, Tag("[scalar]")] | Annotated[FullTolerationSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]
"""`key`, `key:Effect`, `key=value`, `key=value:Effect`, or a mapping."""


class GroupingSpec(Block):
    """Which pods are counted together."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {
        "topologyKey": ("over",),
        "labelSelector": ("by", "labels"),
    }

    over: str
    """The node label that makes a domain, such as `topology.kubernetes.io/zone`."""
    by: list[str] = []
    """Pods with the same value of these labels; a pod that lacks one is skipped and reported."""
    labels: dict[str, str] = {}
    """Pods with these labels."""
    match_label_keys: list[str] = []
    """Labels whose value the scheduler takes from the pod, such as `pod-template-hash`."""


class SpreadSpec(GroupingSpec):
    """Pods in even numbers over the domains."""

    max_skew: int = Field(default=1, ge=1)
    """How much the numbers may differ."""
    when_unsatisfiable: Literal["DoNotSchedule", "ScheduleAnyway"] = "DoNotSchedule"
    """Whether a pod waits when it cannot be placed evenly."""
    min_domains: int | None = Field(default=None, ge=1)
    """The least number of domains; only with `DoNotSchedule`."""
    node_affinity_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes that the pod's affinity excludes are counted."""
    node_taints_policy: Literal["Honor", "Ignore"] | None = None
    """Whether nodes with taints that the pod does not tolerate are counted."""


class TogetherSpec(GroupingSpec):
    """Pods near each other, or apart."""

    required: bool | None = None
    """Whether a pod waits when it cannot be placed so; the default, except for `pack`."""
    weight: int | None = Field(default=None, ge=1, le=100)
    """How much it counts where it is not required; 100 by default."""


class NodeTestSpec(Block):
    """A test of one node label."""

    in_: list[str] | None = Field(default=None, alias="in")
    """One of these values."""
    not_in: list[str] | None = None
    """None of these values, or no such label."""
    exists: bool | None = None
    """Whether the label is there."""
    gt: int | None = None
    """A larger whole number."""
    lt: int | None = None
    """A smaller whole number."""


NodeTests = dict[
    str,
    Annotated[
        Annotated[str, Tag("[scalar]")]
        | Annotated[list[str], Tag("[list]")]
        | Annotated[NodeTestSpec, Tag("[mapping]")],
        by_shape("[scalar]", "[list]", "[mapping]"),
    ],
]


class PreferredNodeSpec(Block):
    """A preference for nodes."""

    weight: int = Field(default=100, ge=1, le=100)
    """How much it counts."""
    labels: NodeTests = Field(min_length=1)
    """Tests of node labels."""


class NodeAffinitySpec(Block):
    """Which nodes."""

    required: NodeTests = {}
    """Tests of node labels; all must hold."""
    preferred: list[PreferredNodeSpec] = []
    """Preferences."""


class PlaceSpec(Block):
    """Where pods land and which devices they get."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {
        "priorityClassName": ("priority",),
        "tolerations": ("tolerate",),
        "topologySpreadConstraints": ("spread",),
        "podAffinity": ("together", "pack"),
        "podAntiAffinity": ("apart",),
        "affinity": ("nodeAffinity", "together", "apart"),
        "resourceClaims": ("claim",),
        "runtimeClassName": ("runtimeClass",),
    }

    priority: str | None = None
    """A priority class."""
    claim: ClaimUse | None = None
    """A claim of the spec, or claims by count."""
    node_selector: dict[str, str] = {}
    """Node labels that must have these values."""
    node_affinity: NodeAffinitySpec | None = None
    """Further tests of node labels."""
    tolerate: list[TolerationSpec] = []
    """Node taints that do not matter."""
    spread: list[SpreadSpec] = []
    """Even numbers over domains."""
    together: list[TogetherSpec] = []
    """In the same domain as other pods of the group."""
    apart: list[TogetherSpec] = []
    """Not in the same domain as other pods of the group."""
    pack: list[TogetherSpec] = []
    """Preferably in the same domain as other pods of the group."""
    scheduler_name: str | None = None
    """Which scheduler places the pod."""
    runtime_class: str | None = None
    """The RuntimeClass."""
    scheduling_gates: list[str] = []
    """Gates that hold the pod back until somebody removes them."""


class FullConflictSpec(Block):
    """What to do with a value that is there already, by field."""

    default: OnConflict | None = None
    """All other fields."""
    priority: OnConflict | None = None
    claim: OnConflict | None = None
    node_selector: OnConflict | None = None
    node_affinity: OnConflict | None = None
    tolerate: OnConflict | None = None
    spread: OnConflict | None = None
    together: OnConflict | None = None
    apart: OnConflict | None = None
    pack: OnConflict | None = None
    scheduler_name: OnConflict | None = None
    runtime_class: OnConflict | None = None
    scheduling_gates: OnConflict | None = None
    user_namespace: OnConflict | None = None
    env: (
        Annotated[
            Annotated[OnConflict, Tag("[scalar]")] | Annotated[dict[str, OnConflict], Tag("[mapping]")],
            by_shape("[scalar]", "[mapping]"),
        ]
        | None
    ) = None
    """One word, or by variable."""
    shared_memory: OnConflict | None = None
    volumes: OnConflict | None = None
    labels: OnConflict | None = None
    annotations: OnConflict | None = None
    security_context: OnConflict | None = None


ConflictSpec = Annotated[
    Annotated[OnConflict, Tag("[scalar]")] | Annotated[FullConflictSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]
"""`keep` what is there, `replace` it, `reject` the object; or by field."""


class RuleSpec(Block):
    """What happens to some pods."""

    name: str
    """Names the rule's policies."""
    description: str | None = None
    """For people who read the policies."""
    match: MatchSpec | None = None
    """Which objects; by default all pods."""
    place: PlaceSpec | None = None
    """Where they land and which devices they get."""
    inject: InjectSpec | None = None
    """What they get."""
    on_conflict: ConflictSpec | None = None
    """What to do with values that are there already."""
    rollout: Literal["enforce", "observe"] | None = None
    """`observe` changes nothing and tells what would be changed."""
    failure_policy: Literal["auto", "Fail", "Ignore"] | None = None
    """What a failing policy means for the request."""
