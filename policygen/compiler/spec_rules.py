"""The spec language of rules: what they match, what they place and inject, and what they do on conflict."""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag

from policygen.compiler.spec_base import Block, by_shape

Workload = Literal[
    "Pod",
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "Job",
    "CronJob",
    "JobSet",
    "LeaderWorkerSet",
    "PyTorchJob",
    "TrainJob",
    "RayCluster",
    "RayJob",
]
Operation = Literal["CREATE", "UPDATE"]
Amount = int | float | str
OnConflict = Literal["keep", "replace", "reject"]


class LabelTestSpec(Block):
    """A test of one label."""

    in_: list[str] | None = Field(default=None, alias="in")
    """One of these values."""
    not_in: list[str] | None = None
    """None of these values, or no such label."""
    exists: bool | None = None
    """Whether the label is there."""


LabelTest = Annotated[
    Annotated[str, Tag("[scalar]")]
    | Annotated[list[str], Tag("[list]")]
    | Annotated[LabelTestSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[list]", "[mapping]"),
]
LabelTests = dict[str, LabelTest]
TextOrTexts = Annotated[
    Annotated[str, Tag("[scalar]")] | Annotated[list[str], Tag("[list]")], by_shape("[scalar]", "[list]")
]


class NamespacesSpec(Block):
    """Which namespaces a rule is for."""

    names: list[str] | None = None
    """By name."""
    tenants: list[str] | None = None
    """Those of these tenants."""
    labels: LabelTests = {}
    """Those with these labels."""
    exclude: list[str] = []
    """Not these."""


Namespaces = Annotated[
    Annotated[list[str], Tag("[list]")] | Annotated[NamespacesSpec, Tag("[mapping]")],
    by_shape("[list]", "[mapping]"),
]


class UsesSpec(Block):
    """What a container uses: a device of the spec, or a resource."""

    device: str | None = None
    """A device of the spec: a claim of this bundle, or a limit that stands for one."""
    resource: str | None = None
    """An extended resource, or a claim that replaces it."""


Uses = Annotated[
    Annotated[list[UsesSpec], Tag("[list]")] | Annotated[UsesSpec, Tag("[mapping]")],
    by_shape("[mapping]", "[list]"),
]


class ImageSpec(Block):
    """A test of container images; one key."""

    is_: TextOrTexts | None = Field(default=None, alias="is")
    """The exact reference."""
    starts_with: TextOrTexts | None = None
    """Such as a registry and a path."""
    ends_with: TextOrTexts | None = None
    """Such as a tag."""
    contains: TextOrTexts | None = None
    """Any part."""


class OwnerSpec(Block):
    """The controller that owns the pod."""

    kind: TextOrTexts | None = None
    """One of these kinds."""
    group: str | None = None
    """Of this API group."""
    none: bool = False
    """The pod has no controller."""


class MatchSpec(Block):
    """Which objects a rule is for; all parts must hold."""

    namespaces: Namespaces | None = None
    """By default all but the exempt ones."""
    workloads: list[Workload] = Field(default=["Pod"], min_length=1)
    """Pods, or the pod templates of these kinds."""
    operation: (
        Annotated[
            Annotated[Operation, Tag("[scalar]")]
            | Annotated[list[Operation], Field(min_length=1), Tag("[list]")],
            by_shape("[scalar]", "[list]"),
        ]
        | None
    ) = None
    """By default `CREATE`; without pods among `workloads` also `UPDATE`."""
    uses: Uses | None = None
    """Some container uses this."""
    labels: LabelTests = {}
    """Labels of the pod, or of the pod template."""
    image: ImageSpec | None = None
    """Some container has such an image."""
    owner: OwnerSpec | None = None
    """Who owns the pod."""
    cel: TextOrTexts | None = None
    """Further conditions in CEL, on `object`, `oldObject` and `request`."""


class ContainersSpec(Block):
    """Which containers of a pod are meant."""

    names: list[str] | None = None
    """Those with these names."""
    uses: Uses | None = None
    """Those that use this."""


Containers = Annotated[
    Annotated[Literal["all", "using"], Tag("[scalar]")]
    | Annotated[list[str], Tag("[list]")]
    | Annotated[ContainersSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[list]", "[mapping]"),
]
"""`all`, `using` (those that use what the rule matches), names, or a mapping."""


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


class EnvConfigSpec(Block):
    """A key of a ConfigMap or Secret of the pod's namespace."""

    name: str
    """The object."""
    key: str
    """Its key."""
    optional: bool | None = None
    """Whether the pod starts without it."""


class EnvSpec(Block):
    """An environment variable; exactly one source."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {"valueFrom": ("field", "resource", "config", "secret")}

    value: str | None = None
    """A plain text."""
    field: str | None = None
    """A field of the pod, such as `metadata.name`."""
    resource: str | None = None
    """A limit or request of the container, such as `limits.cpu`."""
    container: str | None = None
    """The container that `resource` speaks of, by default the variable's own."""
    divisor: str | None = None
    """The unit of `resource`."""
    config: EnvConfigSpec | None = None
    """A key of a ConfigMap."""
    secret: EnvConfigSpec | None = None
    """A key of a Secret."""
    containers: Containers | None = None
    """Which containers get it."""
    init_containers: bool | None = None
    """Whether init containers are meant as well."""


Env = Annotated[
    Annotated[str, Tag("[scalar]")] | Annotated[EnvSpec, Tag("[mapping]")], by_shape("[scalar]", "[mapping]")
]


class MountSpec(Block):
    """Where a volume is mounted."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {"mountPath": ("path",)}

    path: str
    """The path in the container."""
    read_only: bool = False
    """Whether it cannot be written."""
    sub_path: str | None = None
    """The part of the volume."""
    containers: Containers | None = None
    """Which containers get it."""
    init_containers: bool | None = None
    """Whether init containers are meant as well."""


Mount = Annotated[
    Annotated[str, Tag("[scalar]")] | Annotated[MountSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]
Mounts = Annotated[
    Annotated[str, Tag("[scalar]")]
    | Annotated[list[Mount], Tag("[list]")]
    | Annotated[MountSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[list]", "[mapping]"),
]


class VolumeSpec(Block):
    """A volume: exactly one source, as Kubernetes has it, and where it is mounted."""

    mount: Mounts | None = None
    """A path, a mount, or a list of them."""
    config_map: dict[str, Any] | None = None
    """A ConfigMap of the pod's namespace."""
    secret: dict[str, Any] | None = None
    """A Secret of the pod's namespace."""
    empty_dir: dict[str, Any] | None = None
    """A directory that lives as long as the pod."""
    host_path: dict[str, Any] | None = None
    """A path of the node."""
    persistent_volume_claim: dict[str, Any] | None = None
    """A PersistentVolumeClaim of the pod's namespace."""
    projected: dict[str, Any] | None = None
    """Several sources in one directory."""
    downward_api: dict[str, Any] | None = Field(default=None, alias="downwardAPI")
    """Fields of the pod as files."""
    ephemeral: dict[str, Any] | None = None
    """A volume that is made for the pod."""
    csi: dict[str, Any] | None = None
    """A volume of a CSI driver."""
    nfs: dict[str, Any] | None = None
    """A directory of an NFS server."""
    image: dict[str, Any] | None = None
    """An OCI image."""


class SharedMemorySpec(Block):
    """Shared memory of a container."""

    size: Amount
    """How much."""
    containers: Containers | None = None
    """Which containers get it."""
    init_containers: bool | None = None
    """Whether init containers are meant as well."""


SharedMemory = Annotated[
    Annotated[Amount, Tag("[scalar]")] | Annotated[SharedMemorySpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]


class SecurityContextSpec(Block):
    """Security contexts, as Kubernetes has them."""

    pod: dict[str, Any] = {}
    """That of the pod."""
    container: dict[str, Any] = {}
    """That of each container."""


class InjectSpec(Block):
    """What pods and their containers get."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {
        "hostUsers": ("userNamespace: true",),
        "volumeMounts": ("volumes",),
    }

    containers: Containers | None = None
    """Which containers; by default those that use what the rule matches, or all."""
    init_containers: bool = False
    """Whether init containers are meant as well."""
    user_namespace: bool | None = None
    """Own user namespace: root in the container is nobody on the node."""
    env: dict[str, Env] = {}
    """Environment variables by name."""
    shared_memory: SharedMemory | None = None
    """Memory at `/dev/shm`, for processes that exchange tensors."""
    volumes: dict[str, VolumeSpec] = {}
    """Volumes by name."""
    labels: dict[str, str] = {}
    """Labels of the pod."""
    annotations: dict[str, str] = {}
    """Annotations of the pod."""
    security_context: SecurityContextSpec | None = None
    """Security contexts of the pod and its containers."""


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
