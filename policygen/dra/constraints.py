"""Claim constraints while an allocation is searched: what has been added decides what may follow.

Follows dynamic-resource-allocation `structured/internal/incubating/{allocator_incubating,constraint}.go`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from policygen.dra.model import AttributeValue, Constraint, Device, Request


def applies(constraint: Constraint, request: Request) -> bool:
    """A constraint names requests, or alternatives as `request/alternative`; without names it is for all."""
    names = constraint.requests
    if not names:
        return True
    if request.parent:
        return request.parent in names or request.full_name in names
    return request.name in names


@dataclass(slots=True)
class Tracker:
    """The devices that a constraint has seen: their values, in order."""

    constraint: Constraint
    values: list[AttributeValue] = field(default_factory=list)

    def add(self, request: Request, device: Device) -> bool:
        """Take a device in, if the constraint allows it; one without the attribute never is."""
        if not applies(self.constraint, request):
            return True
        value = device.attribute(self.constraint.attribute)
        if value is None or not self._allows(value):
            return False
        self.values.append(value)
        return True

    def remove(self, request: Request) -> None:
        """Undo the last successful `add` of this request."""
        if applies(self.constraint, request):
            self.values.pop()

    def _allows(self, value: AttributeValue) -> bool:
        if self.constraint.kind == "match":
            return not self.values or value == self.values[0]
        return value not in self.values
