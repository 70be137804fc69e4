"""Why claims do not fit a node, in numbers: how many devices match, are free, agree with each other.

The allocator only says no. This looks at each request alone, then at each constraint, and names the first
thing that cannot be met; if none can be named, it is the requests together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from policygen.dra import consumable
from policygen.dra.allocation import AllocatedState, SelectorError
from policygen.dra.allocator import Allocator
from policygen.dra.constraints import applies
from policygen.dra.model import Claim, Constraint, Device, Node, Request


@dataclass(frozen=True, slots=True)
class RequestCount:
    """How a node's devices stand to a request."""

    request: Request
    devices: int
    matching: tuple[Device, ...]
    usable: tuple[Device, ...]
    in_use: int
    tainted: int
    too_small: int
    errors: tuple[str, ...] = ()

    @property
    def needed(self) -> int:
        """How many devices the request wants; all that match count as at least one."""
        return self.request.count if self.request.mode == "ExactCount" else max(1, len(self.matching))

    @property
    def enough(self) -> bool:
        """Whether enough devices could be used if nothing else were asked."""
        return len(self.usable) >= self.needed

    def text(self) -> str:
        """`request `gpu` needs 4: 8 devices, 6 match, 4 of them in use`."""
        parts = [
            f"{len(self.matching)} of {self.devices} {_noun(self.devices)} "
            f"{'matches' if len(self.matching) == 1 else 'match'}"
        ]
        if self.errors:
            parts.append(f"the selector fails on {len(self.errors)} (`{self.errors[0]}`)")
        if self.in_use:
            parts.append(f"{self.in_use} in use")
        if self.tainted:
            parts.append(f"{self.tainted} tainted")
        if self.too_small:
            parts.append(f"{self.too_small} without the capacity asked for")
        return f"request `{self.request.full_name}` needs {self.needed}: {', '.join(parts)}"


def _noun(number: int) -> str:
    return "device" if number == 1 else "devices"


def count_request(
    allocator: Allocator, node: Node, request: Request, state: AllocatedState | None = None
) -> RequestCount:
    """Look at every device of the node for one request."""
    state = allocator.state if state is None else state
    device_class = allocator.classes.get(request.class_name)
    selectors = [*(device_class.selectors if device_class else ()), *request.selectors]
    devices = allocator.inventory.devices(node)
    matching, usable, errors = [], [], []
    in_use = tainted = too_small = 0
    for device in devices:
        try:
            if not all(allocator.matcher.matches(each or "", device) for each in selectors):
                continue
        except SelectorError as error:
            errors.append(error.text)
            continue
        matching.append(device)
        if device.id in state.devices and not request.admin_access:
            in_use += 1
        elif not _tolerated(device, request):
            tainted += 1
        elif not consumable.fits(device, request.capacity, state.capacity.get(device.id)):
            too_small += 1
        else:
            usable.append(device)
    return RequestCount(
        request, len(devices), tuple(matching), tuple(usable), in_use, tainted, too_small, tuple(errors)
    )


def _tolerated(device: Device, request: Request) -> bool:
    return all(
        taint.effect not in ("NoSchedule", "NoExecute")
        or any(toleration.tolerates(taint) for toleration in request.tolerations)
        for taint in device.taints
    )


@dataclass(frozen=True, slots=True)
class ConstraintCount:
    """How many devices agree on a constraint's attribute."""

    constraint: Constraint
    needed: int
    groups: tuple[tuple[str, int], ...]
    lacking: int

    @property
    def largest(self) -> int:
        """The most devices that agree (match), or the number of different values (distinct)."""
        if self.constraint.kind == "distinct":
            return len(self.groups)
        return max((count for _, count in self.groups), default=0)

    def text(self) -> str:
        """`constraint matchAttribute `…` needs 4 alike: at most 2 (…)`."""
        alike = "alike" if self.constraint.kind == "match" else "different"
        shown = ", ".join(f"{value}: {count}" for value, count in self.groups[:6])
        more = ", …" if len(self.groups) > 6 else ""
        found = f"at most {self.largest} ({shown}{more})" if self.groups else "none has it"
        lacking = f"; missing on {self.lacking}" if self.lacking and self.groups else ""
        return (
            f"constraint {self.constraint.kind}Attribute `{self.constraint.attribute}` "
            f"needs {self.needed} {alike}: {found}{lacking}"
        )


def count_constraint(
    constraint: Constraint, counts: Sequence[RequestCount], *, empty: bool = False
) -> ConstraintCount:
    """How the devices that the constrained requests could use agree; each device counts once."""
    needed = 0
    devices: dict[Device, None] = {}
    for count in counts:
        if applies(constraint, count.request):
            needed += count.needed
            devices.update(dict.fromkeys(count.matching if empty else count.usable))
    values = [device.attribute(constraint.attribute) for device in devices]
    groups = Counter(str(value[1]) for value in values if value is not None)
    return ConstraintCount(
        constraint,
        needed,
        tuple(sorted(groups.items(), key=lambda group: (-group[1], group[0]))),
        sum(value is None for value in values),
    )


def reasons(allocator: Allocator, node: Node, claims: Sequence[Claim]) -> list[str]:
    """Why the claims do not fit; at least one reason."""
    found: list[str] = []
    multiple = len(claims) > 1
    for claim in claims:
        where = f"claim `{claim}`: " if multiple else ""
        chosen: list[RequestCount] = []
        for slot in claim.slots:
            counts = [count_request(allocator, node, request) for request in slot.alternatives]
            fitting = [count for count in counts if count.enough]
            if not fitting:
                found.extend(where + count.text() for count in counts)
            else:
                chosen.append(fitting[-1] if slot.is_list else fitting[0])
        for constraint in claim.constraints:
            count = count_constraint(constraint, chosen)
            if count.needed > count.largest:
                found.append(where + count.text())
    return found or ["each request could be met alone, but not all of them together"]
