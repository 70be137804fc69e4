"""The spec language of what pods and their containers get."""

# ruff: noqa: RUF012 - pydantic copies defaults

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field, Tag

from policygen.compiler.spec_base import Block, by_shape
from policygen.compiler.spec_match import Containers

Amount = int | float | str


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
