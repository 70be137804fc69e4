"""The variable `authorizer`: what the requesting user may do, by a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.cel.lib.authorizer import Authorizer


class _Everything(Mapping[str, bool]):
    """A table that allows every check."""

    __slots__ = ()

    def __getitem__(self, check: str) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


def authorizer_for(attributes: Attributes, cluster: Cluster) -> dict[str, Any]:
    """The variables `authorizer` and `authorizer.requestResource` of a request."""
    request = attributes.request
    checks = _Everything() if cluster.authorizer is None else cluster.authorizer
    authorizer = Authorizer(checks, request.user_info.username)
    about = authorizer.resource_check(
        request.resource.group,
        request.resource.resource,
        request.subresource,
        request.namespace,
        request.name,
    )
    return {"authorizer": authorizer, "authorizer.requestResource": about}
