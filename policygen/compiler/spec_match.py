"""The spec language of matches: which objects a rule is for, and which of their containers are meant."""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Literal

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
