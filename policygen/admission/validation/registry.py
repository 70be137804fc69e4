"""Which rules hold for which kind, and how their faults become a response.

`check` has the shape of a validating plugin; the chain calls it once after the mutating plugins.
"""

from __future__ import annotations

from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.outcome import Denied
from policygen.admission.validation.field import FieldErrors, aggregate


def check(attributes: Attributes, cluster: Cluster) -> None:
    """Refuse an object that the server's own rules refuse, with all faults told together."""
    found = errors(attributes, cluster)
    if found:
        raise invalid(attributes, found)


def errors(attributes: Attributes, cluster: Cluster) -> FieldErrors:
    """The faults of the object in a request."""
    raise SystemExit((attributes, cluster))


def invalid(attributes: Attributes, found: FieldErrors) -> Denied:
    """`apierrors.NewInvalid`."""
    kind = attributes.kind
    qualified = f"{kind.kind}.{kind.group}" if kind.group else kind.kind
    metadata = (attributes.object or {}).get("metadata") or {}
    name = attributes.name or metadata.get("name") or ""
    message = f'{qualified} "{name}" is invalid: {aggregate(map(str, found.items))}'
    return Denied(422, "Invalid", message, tuple(item.body for item in found.items))
