"""Claim constraints while an allocation is searched: what has been added decides what may follow.

Follows dynamic-resource-allocation `structured/internal/incubating/{allocator_incubating,constraint}.go` of
1.36. There a distinct constraint remembers one value a request, the last: of a request for three devices the
first and the third may be equal (kubernetes#140438, mended in 1.37). The allocation is the server's, so this
does the same; `lint` warns.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from policygen.dra.model import AttributeValue, Constraint, Device, Request

_SCALARS = ("string", "int", "bool", "version")
_LISTS = {"strings": "string", "ints": "int", "bools": "bool", "versions": "version"}


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
    """What a constraint knows of the devices chosen so far."""

    constraint: Constraint
    lists: bool = False
    _first: AttributeValue | None = None
    _latest: dict[str, AttributeValue] = field(default_factory=dict)
    _count: int = 0
    _sets: list[frozenset[tuple[str, object]]] = field(default_factory=list)

    def add(self, request: Request, device: Device) -> bool:
        """Take a device in, if the constraint allows it; one without the attribute never is."""
        if not applies(self.constraint, request):
            return True
        value = device.attribute(self.constraint.attribute)
        if value is None:
            return False
        if self.lists:
            return self._add_set(value)
        if self._count and not self._allows(value):
            return False
        if self.constraint.kind == "distinct":
            self._latest[request.parent or request.name] = value
        elif not self._count:
            self._first = value
        self._count += 1
        return True

    def remove(self, request: Request) -> None:
        """Undo the last successful `add` of this request, as far as the server does."""
        if applies(self.constraint, request):
            if self.lists:
                self._sets.pop()
                return
            self._latest.pop(request.parent or request.name, None)
            self._count -= 1

    def _add_set(self, value: AttributeValue) -> bool:
        """With DRAListTypeAttributes values are sets: those that match share an element, the others none."""
        found = _elements(value)
        if self.constraint.kind == "distinct":
            allowed = bool(found) and all(found.isdisjoint(earlier) for earlier in self._sets)
        else:
            found = found & self._sets[-1] if self._sets else found
            allowed = bool(found)
        if allowed:
            self._sets.append(found)
        return allowed

    def _allows(self, value: AttributeValue) -> bool:
        """Values of a list type only compare behind a feature gate that is off: they never agree."""
        if self.constraint.kind == "distinct":
            return not self._latest or (value[0] in _SCALARS and value not in self._latest.values())
        return value[0] in _SCALARS and value == self._first


def _elements(value: AttributeValue) -> frozenset[tuple[str, object]]:
    kind, held = value
    if kind in _LISTS and isinstance(held, list):
        return frozenset((_LISTS[kind], each) for each in held)
    return frozenset(((kind, held),)) if kind in _SCALARS else frozenset()
