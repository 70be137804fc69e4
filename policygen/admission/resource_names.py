"""Which kinds of compute resource a name means (Kubernetes `pkg/apis/core/helper/helpers.go`)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from policygen.admission.validation import content

HUGE_PAGES: Final = "hugepages-"
REQUESTS: Final = "requests."
DEVICE_CLASS: Final = "deviceclass.resource.kubernetes.io/"
_OBJECT_COUNTS: Final = (
    "pods", "services", "replicationcontrollers", "resourcequotas", "secrets", "configmaps",
    "persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
)  # fmt: skip
_COMPUTE: Final = ("cpu", "memory", "ephemeral-storage")
INTEGERS: Final = frozenset(_OBJECT_COUNTS)
CONTAINER: Final = frozenset(_COMPUTE)
QUOTA: Final = frozenset(
    [*_COMPUTE, *_OBJECT_COUNTS, "requests.storage"]
    + [f"{prefix}.{name}" for prefix in ("requests", "limits") for name in _COMPUTE]
)
STANDARD: Final = QUOTA | {"storage"}


def is_native(name: str) -> bool:
    """A name without a domain, or with one of `kubernetes.io`."""
    return "/" not in name or "kubernetes.io/" in name


@lru_cache(maxsize=2048)
def is_extended(name: str) -> bool:
    """A name with a foreign domain, such as a device plugin's."""
    return (
        not is_native(name) and not name.startswith(REQUESTS) and not content.qualified_name(REQUESTS + name)
    )


def is_device(name: str) -> bool:
    """An extended resource, or a device class asked for as one."""
    return name.startswith(DEVICE_CLASS) or is_extended(name)


def is_huge_page(name: str) -> bool:
    """`hugepages-<size>`."""
    return name.startswith(HUGE_PAGES)


def is_quota_huge_page(name: str) -> bool:
    """Huge pages as a quota names them."""
    return name.startswith((HUGE_PAGES, REQUESTS + HUGE_PAGES))


def is_standard(name: str) -> bool:
    """A name that needs no domain."""
    return name in STANDARD or is_quota_huge_page(name)


def is_standard_quota(name: str) -> bool:
    """A name without a domain that a quota may limit."""
    return name in QUOTA or is_quota_huge_page(name)


def is_standard_container(name: str) -> bool:
    """A name without a domain that a container may ask for."""
    return name in CONTAINER or is_huge_page(name)


def is_integer(name: str) -> bool:
    """A resource that comes in wholes."""
    return name in INTEGERS or is_extended(name)


def overcommits(name: str) -> bool:
    """Whether limits may be above requests."""
    return is_native(name) and not is_huge_page(name)
