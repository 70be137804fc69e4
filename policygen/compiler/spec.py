"""The spec language: one class a block. The attribute texts are the descriptions in the JSON Schema.

Only shapes are checked here; `resolve` gives texts their meaning. Rules are in `spec_rules`, with
`spec_match` and `spec_inject`.
"""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, Tag

from policygen.compiler.spec_base import Block, by_shape
from policygen.compiler.spec_inject import Amount
from policygen.compiler.spec_match import Namespaces, TextOrTexts
from policygen.compiler.spec_rules import ConflictSpec, RuleSpec, TolerationSpec

API_VERSION = "policygen.dev/v1alpha1"
KIND = "PlacementPolicy"

Amounts = dict[str, Amount]


class MetadataSpec(Block):
    """Names the bundle."""

    name: str
    """Prefix of the names of admission policies and value of the origin label."""
    labels: dict[str, str] = {}
    """Labels of every object of the bundle."""
    annotations: dict[str, str] = {}
    """Annotations of every object of the bundle."""


class SafetySpec(Block):
    """What no rule may touch, and how rules fail."""

    exempt_namespaces: list[str] = ["kube-node-lease", "kube-public", "kube-system"]
    """Namespaces that no rule applies to."""
    break_glass_label: str = "policygen.dev/break-glass"
    """Objects with this label and the value `true` are left alone."""
    rollout: Literal["enforce", "observe"] = "enforce"
    """`observe` changes nothing and tells what would be changed, by warnings and audit annotations."""
    failure_policy: Literal["auto", "Fail", "Ignore"] = "auto"
    """What a failing policy means for the request; `auto` chooses by what the rule does."""


class PrioritySpec(Block):
    """A PriorityClass."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {
        "globalDefault": ("default: true",),
        "preemptionPolicy": ("preemption",),
    }

    value: int = Field(ge=-(2**31), le=2**31 - 1)
    """Pods with a higher value are scheduled first, and may preempt those with a lower one."""
    preemption: Literal["PreemptLowerPriority", "Never"] = "PreemptLowerPriority"
    """`Never`: pods wait in front of the queue but evict nobody."""
    default: bool = False
    """For pods that name no class; at most one class of a cluster."""
    description: str | None = None
    """For people who read the class."""
    exists: bool = False
    """The class is on the cluster already and is not part of the bundle."""


class TestSpec(Block):
    """A test of an attribute or capacity."""

    is_: Amount | bool | None = Field(default=None, alias="is")
    """The exact value."""
    not_: Amount | bool | None = Field(default=None, alias="not")
    """Any other value."""
    in_: list[Amount] | None = Field(default=None, alias="in")
    """One of these values."""
    not_in: list[Amount] | None = None
    """None of these values."""
    contains: str | None = None
    """A text that contains this."""
    starts_with: str | None = None
    """A text that begins with this."""
    ends_with: str | None = None
    """A text that ends with this."""
    exists: bool | None = None
    """Whether the device has it at all."""


Test = Annotated[
    Annotated[Amount | bool, Tag("[scalar]")]
    | Annotated[list[Amount], Tag("[list]")]
    | Annotated[TestSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[list]", "[mapping]"),
]
"""A value, a comparison such as `">= 40Gi"`, a list of values, or a mapping that names the test."""


class ConfigSpec(Block):
    """Parameters for a driver, passed on as they are."""

    driver: str | None = None
    """The driver's name; by default that of the device."""
    requests: list[str] = []
    """Requests of the claim that it is for; by default all."""
    parameters: dict[str, Any]
    """The driver's own object, with `apiVersion` and `kind`."""


class DeviceSpec(Block):
    """A kind of device, which becomes a DeviceClass."""

    driver: str
    """The DRA driver, such as `gpu.nvidia.com`."""
    release: str | None = None
    """The driver's release, where attribute names differ; by default the newest that is known."""
    type: str | None = None
    """The type of device, where a driver has several (`gpu`, `mig`, `vfio`); by default what fits `where`."""
    class_: str | None = Field(default=None, alias="class")
    """Name of the DeviceClass, by default the device's."""
    where: dict[str, Test] = {}
    """Tests of attributes and capacities; all must hold. A device that lacks one does not match."""
    cel: TextOrTexts | None = None
    """Further selectors in CEL, on `device`."""
    extended_resource: str | None = None
    """Plain limits of this resource are served from the class, without claims."""
    config: list[ConfigSpec] = []
    """Driver parameters for every claim of the class."""
    exists: bool = False
    """The class is on the cluster already and is not part of the bundle."""


class AlternativeSpec(Block):
    """One way to satisfy a request."""

    name: str | None = None
    """Name of the subrequest, by default the device's."""
    device: str
    """A device of this spec."""
    count: int | Literal["all"] = 1
    """How many, or `all` that match on the node."""
    where: dict[str, Test] = {}
    """Further tests."""
    cel: TextOrTexts | None = None
    """Further selectors in CEL."""
    capacity: Amounts = {}
    """What each device must have left of a capacity that can be shared."""
    tolerate: list[TolerationSpec] = []
    """Device taints that do not matter."""


class RequestSpec(Block):
    """A request for devices: a device and a count, or `anyOf`."""

    device: str | None = None
    """A device of this spec."""
    any_of: list[AlternativeSpec] | None = Field(default=None, min_length=1)
    """Alternatives; the first that can be allocated counts."""
    count: int | Literal["all"] | None = None
    """How many, or `all` that match on the node; 1 by default."""
    where: dict[str, Test] = {}
    """Further tests."""
    cel: TextOrTexts | None = None
    """Further selectors in CEL."""
    capacity: Amounts = {}
    """What each device must have left of a capacity that can be shared."""
    tolerate: list[TolerationSpec] = []
    """Device taints that do not matter."""
    admin_access: bool = False
    """For monitoring: also devices in use. The namespace needs the label for it."""


class AlignSpec(Block):
    """An alignment of some of the requests."""

    mode: Literal["required", "preferred"] = "required"
    """`preferred` falls back to devices that are not aligned; possible for one request."""
    requests: list[str] = []
    """The requests; by default all."""


class ConstraintSpec(Block):
    """A constraint in the driver's own words."""

    match: str | None = None
    """An attribute that all devices must have in common: a word of the catalogue, or `domain/name`."""
    distinct: str | None = None
    """An attribute that must differ between all devices."""
    requests: list[str] = []
    """The requests; by default all."""


class ClaimMemorySpec(Block):
    """Memory over all devices of the claim."""

    total: Amount
    """The smallest count of devices whose lower bounds reach it."""


Align = Annotated[
    Annotated[Literal["required", "preferred"], Tag("[scalar]")] | Annotated[AlignSpec, Tag("[mapping]")],
    by_shape("[scalar]", "[mapping]"),
]


class ClaimSpec(Block):
    """A claim, which becomes a ResourceClaimTemplate in every namespace where a rule injects it."""

    template: str | None = None
    """Name of the ResourceClaimTemplate, by default the claim's."""
    devices: dict[str, RequestSpec] = Field(min_length=1)
    """Requests by name."""
    align: dict[str, Align] = {}
    """What the devices have in common: `numaNode`, `pcieRoot`, `parent` (MIG slices of one GPU)."""
    constraints: list[ConstraintSpec] = []
    """Constraints on any attribute."""
    memory: ClaimMemorySpec | None = None
    """Chooses the count of the one request."""
    config: list[ConfigSpec] = []
    """Driver parameters."""
    replaces: str | None = None
    """Limits of this extended resource are moved to the claim by rules that use it."""
    namespaces: Namespaces | None = None
    """Where else the template is wanted, for pods that name it themselves."""


class LimitsSpec(Block):
    """One kind of limits in a LimitRange."""

    later: ClassVar[dict[str, tuple[str, ...]]] = {
        "limits": ("default",),
        "requests": ("defaultRequest",),
        "maxLimitRequestRatio": ("ratio",),
    }

    default: Amounts = {}
    """Limits of containers that have none."""
    default_request: Amounts = {}
    """Requests of containers that have none."""
    min: Amounts = {}
    """The least that may be asked for."""
    max: Amounts = {}
    """The most that may be asked for."""
    ratio: Amounts = {}
    """The largest allowed limit ÷ request."""


class QuotaSpec(Block):
    """A further quota of a tenant, for some of its pods."""

    hard: Amounts = {}
    """Resource -> most of it."""
    devices: dict[str, int] = {}
    """Device -> most of it; not together with scopes, which claims do not have."""
    scopes: list[
        Literal["Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "CrossNamespacePodAffinity"]
    ] = []
    """Which pods count."""
    priorities: list[str] = []
    """Only pods of these priority classes count."""


class TenantSpec(Block):
    """A tenant: its namespaces, and what it may use in each of them."""

    namespaces: list[str] | None = Field(default=None, min_length=1)
    """By default one with the tenant's name."""
    labels: dict[str, str] = {}
    """Labels of its namespaces; the bundle then contains the namespaces."""
    annotations: dict[str, str] = {}
    """Annotations of its namespaces."""
    devices: dict[str, int] = {}
    """Device -> most of it, however it is claimed."""
    other_devices: Literal["deny", "allow"] = "deny"
    """Whether devices that are not listed may be claimed, where `devices` lists any."""
    hard: Amounts = {}
    """Resource -> most of it, as in a ResourceQuota."""
    quotas: dict[str, QuotaSpec] = {}
    """Further quotas by name."""
    container: LimitsSpec | None = None
    """Limits of each container."""
    pod: LimitsSpec | None = None
    """Limits of each pod."""
    volume_claim: LimitsSpec | None = None
    """Limits of each PersistentVolumeClaim."""


class BodySpec(Block):
    """Everything that is wanted of the cluster."""

    kubernetes: Literal["1.34", "1.35", "1.36", "1.37"]
    """The version of the cluster: which APIs, fields and CEL functions exist."""
    safety: SafetySpec | None = None
    """What no rule may touch, and how rules fail."""
    on_conflict: ConflictSpec = "keep"
    """What rules do with a value that is there already, unless they say it themselves."""
    priorities: dict[str, PrioritySpec] = {}
    """Priority classes by name."""
    devices: dict[str, DeviceSpec] = {}
    """Kinds of devices by name."""
    claims: dict[str, ClaimSpec] = {}
    """Claims by name."""
    rules: list[RuleSpec] = []
    """What happens to pods."""
    tenants: dict[str, TenantSpec] = {}
    """Tenants by name."""


class PlacementPolicySpec(Block):
    """GPU placement and quota policy for one cluster."""

    api_version: Literal["policygen.dev/v1alpha1"]
    """Version of the spec language."""
    kind: Literal["PlacementPolicy"]
    """Always `PlacementPolicy`."""
    metadata: MetadataSpec
    """Names the bundle."""
    spec: BodySpec
    """Everything that is wanted of the cluster."""
