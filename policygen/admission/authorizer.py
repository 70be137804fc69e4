"""The variable `authorizer`: what the requesting user may do, by a table."""

from __future__ import annotations

from typing import Any

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster


def authorizer_for(attributes: Attributes, cluster: Cluster) -> Any:
    """The authorizer of a request."""
    _ = attributes, cluster
    return None
