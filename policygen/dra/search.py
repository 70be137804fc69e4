"""The search for devices: exhaustive, first fit, claim by claim, request by request, with backtracking.

Follows dynamic-resource-allocation `structured/internal/incubating/allocator_incubating.go`, which a stock
1.36 uses. Candidates are tried pool by pool, slice by slice, in the order of the devices; within a request
each next device lies behind the last one. Where upstream leaves something behind when it backtracks (the
counters of a device that a taint or constraint refuses), so does this.

The search is bounded by a number of steps (the server stops a filter after ten seconds instead). A request
that no state of the search can satisfy ends it when it is first met: that changes how long a "no" takes, not
the answer, and it is not done where trying on could end in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from policygen.cel.recursion import room_for
from policygen.dra.allocation import (
    Allocation,
    AllocationError,
    Chosen,
    Matcher,
    Placed,
    SearchLimitError,
    SelectorError,
)
from policygen.dra.constraints import Tracker, applies
from policygen.dra.ledger import Ledger
from policygen.dra.model import (
    RESULTS_MAX,
    Claim,
    Constraint,
    Device,
    DeviceClass,
    Node,
    Request,
    RequestSlot,
)
from policygen.dra.nodes import reaches
from policygen.dra.pools import Pool


@dataclass(slots=True)
class _RequestData:
    """What is known about a request or alternative: before the search, and learned on the way."""

    request: Request
    device_class: DeviceClass
    count: int
    all_devices: list[Placed] = field(default_factory=list)
    matches: dict[Device, bool] = field(default_factory=dict)
    judged: bool = False
    hopeless: bool = False


class _NoSolutionError(Exception):
    """A request fails in every state of the search, and nothing on the way there is an error."""


class _TooManyResultsError(Exception):
    """No solution from here on: the claim would hold more devices than a result may."""


@dataclass(frozen=True, slots=True)
class _At:
    """Where the search stands: claim, request, alternative, device of the request."""

    claim: int
    request: int = 0
    alternative: int = 0
    device: int = 0


class Search:
    """One search for one node. `run` once."""

    def __init__(
        self,
        node: Node,
        claims: Sequence[Claim],
        *,
        pools: Sequence[Pool],
        classes: Mapping[str, DeviceClass],
        matcher: Matcher,
        ledger: Ledger,
        max_steps: int,
    ) -> None:
        self._node = node
        self._claims = claims
        self._pools = pools
        self._classes = classes
        self._matcher = matcher
        self._ledger = ledger
        self._max_steps = max_steps
        self._steps = 0
        self._candidates = [
            Placed(device, entry, pool)
            for pool in pools
            if pool.usable
            for entry in pool.slices
            for device in entry.devices
        ]
        self._data: dict[tuple[int, int], list[_RequestData]] = {}
        self._selected: dict[tuple[int, int], int] = {}
        self._trackers: list[list[Tracker]] = []
        self._results: list[list[Chosen]] = [[] for _ in claims]

    def run(self) -> tuple[Allocation, ...] | None:
        """The first solution for all claims, or nothing; `AllocationError` in the server's words."""
        for index, claim in enumerate(self._claims):
            self._prepare(index, claim)
        try:
            with room_for(self._depth()):
                done = self._allocate(_At(0))
        except (_TooManyResultsError, _NoSolutionError):
            done = False
        if done:
            return tuple(self._allocation(index, claim) for index, claim in enumerate(self._claims))
        if any(pool.invalid for pool in self._pools):
            raise AllocationError("invalid resource pools were encountered")
        return None

    def _depth(self) -> int:
        """How many steps may stand on each other: one a device, and one or two a request and claim."""
        most = sum(max(entry.count for entry in entries) + 2 for entries in self._data.values())
        return min(most, self._max_steps) + len(self._claims)

    def _allocation(self, index: int, claim: Claim) -> Allocation:
        selected = []
        for number in range(len(claim.slots)):
            data = self._data[index, number][self._selected.get((index, number), 0)]
            selected.append((data.request, data.device_class))
        return Allocation(claim, tuple(self._results[index]), tuple(selected))

    # What each request needs, before anything is tried.

    def _prepare(self, index: int, claim: Claim) -> None:
        total = 0
        for number, slot in enumerate(claim.slots):
            self._check_gates(claim, slot)
            entries = [self._request_data(claim, request) for request in slot.alternatives]
            self._data[index, number] = entries
            total += min(entry.count for entry in entries)
        if total > RESULTS_MAX:
            raise AllocationError(
                f"claim {claim}: number of requested devices {total} exceeds the claim limit of {RESULTS_MAX}"
            )
        for number, constraint in enumerate(claim.constraints):
            if constraint.kind == "unknown":
                raise AllocationError(
                    f"claim {claim}, constraint #{number}: empty constraint (unsupported constraint type?)"
                )
        lists = self._ledger.gates.list_attributes
        self._trackers.append([Tracker(constraint, lists) for constraint in claim.constraints])

    def _check_gates(self, claim: Claim, slot: RequestSlot) -> None:
        gates = self._ledger.gates
        if slot.is_list and not gates.prioritized_list:
            raise AllocationError(
                f"claim {claim}, request {slot.name}: has subrequests, "
                "but the DRAPrioritizedList feature is disabled"
            )
        for request in slot.alternatives:
            if request.has_capacity and not gates.consumable_capacity:
                what = "subrequest" if slot.is_list else "request"
                raise AllocationError(
                    f"claim {claim}, {what} {request.name}: has capacity requests, "
                    "but the DRAConsumableCapacity feature is disabled"
                )

    def _request_data(self, claim: Claim, request: Request) -> _RequestData:
        where = f"claim {claim}, request {request.name}"
        for number, selector in enumerate(request.selectors):
            if selector is None:
                raise AllocationError(
                    f"{where}, selector #{number}: CEL expression empty (unsupported selector type?)"
                )
        if request.admin_access is not None and not self._ledger.gates.admin_access:
            raise AllocationError(f"{where}: admin access is requested, but the feature is disabled")
        if not request.class_name:
            raise AllocationError(f"{where}: missing device class name (unsupported request type?)")
        device_class = self._classes.get(request.class_name)
        if device_class is None:
            raise AllocationError(
                f"{where}: could not retrieve device class {request.class_name}: "
                f'deviceclass.resource.k8s.io "{request.class_name}" not found'
            )
        data = _RequestData(request, device_class, request.count)
        match request.mode:
            case "ExactCount":
                return data
            case "All":
                data.all_devices = self._all_devices(claim, data, where)
                data.count = len(data.all_devices)
                return data
            case mode:
                raise AllocationError(f"{where}: unsupported count mode {mode}")

    def _all_devices(self, claim: Claim, data: _RequestData, where: str) -> list[Placed]:
        found = []
        for pool in self._pools:
            if not pool.usable:
                state = "being updated" if pool.incomplete else "invalid"
                raise AllocationError(
                    f"{where}: asks for all devices, but resource pool {pool} is currently {state}"
                )
            for entry in pool.slices:
                for device in entry.devices:
                    placed = Placed(device, entry, pool)
                    if self._selectable(claim, data, placed) and self._ledger.fits(data.request, device):
                        found.append(placed)
        return found

    # The search.

    def _allocate(self, at: _At, start: int = 0, inside: bool = False) -> bool:
        """Place everything from here on. `inside` an alternative, its siblings are not tried again."""
        self._steps += 1
        if self._steps > self._max_steps:
            raise SearchLimitError(
                f"gave up after {self._max_steps} attempts; the scheduler gives up after 10s"
            )
        if at.claim >= len(self._claims):
            return True
        claim = self._claims[at.claim]
        if at.request >= len(claim.slots):
            try:
                return self._allocate(_At(at.claim + 1))
            except _TooManyResultsError:
                return False
        entries = self._data[at.claim, at.request]
        if claim.slots[at.request].is_list and not inside:
            return self._alternatives(at, len(entries))
        data = entries[at.alternative]
        wants_all = data.request.mode == "All"
        if wants_all and not data.all_devices:
            return False
        if at.device >= data.count:
            return self._allocate(_At(at.claim, at.request + 1))
        if len(self._results[at.claim]) + data.count - at.device > RESULTS_MAX:
            raise _TooManyResultsError
        if wants_all:
            return self._try(at, data, data.all_devices[at.device], 0)
        return self._first_fit(at, data, start)

    def _alternatives(self, at: _At, count: int) -> bool:
        """One alternative after the other; when each holds too many devices, so does what came before."""
        exceeded = True
        for alternative in range(count):
            try:
                done = self._allocate(_At(at.claim, at.request, alternative), inside=True)
            except _TooManyResultsError:
                continue
            exceeded = False
            if done:
                self._selected[at.claim, at.request] = alternative
                return True
        if exceeded:
            raise _TooManyResultsError
        return False

    def _first_fit(self, at: _At, data: _RequestData, start: int) -> bool:
        request, claim, ledger = data.request, self._claims[at.claim], self._ledger
        for position in range(start, len(self._candidates)):
            placed = self._candidates[position]
            device = placed.device
            if (
                ledger.is_free(device.id, request, at.claim)
                and self._selectable(claim, data, placed)
                and ledger.fits(request, device)
                and self._try(at, data, placed, position + 1)
            ):
                return True
        if at.device == 0 and not data.judged:
            data.judged = True
            data.hopeless = self._is_hopeless(at, data)
            siblings = self._data[at.claim, at.request]
            if all(each.hopeless for each in siblings) and self._is_free_of_errors(at):
                raise _NoSolutionError
        return False

    def _try(self, at: _At, data: _RequestData, placed: Placed, next_start: int) -> bool:
        """Use a device and go on; put it back when that leads nowhere."""
        request, device, ledger = data.request, placed.device, self._ledger
        if not self._use(at, data, placed):
            return False
        amounts = ledger.hold_capacity(device, request.capacity) if ledger.is_shareable(device) else {}
        results = self._results[at.claim]
        results.append(Chosen(request, placed, amounts))
        done = False
        try:
            following = _At(at.claim, at.request, at.alternative, at.device + 1)
            done = self._allocate(following, next_start, inside=True)
        finally:
            if not done:
                results.pop()
                for tracker in self._trackers[at.claim]:
                    tracker.remove(request)
                if ledger.is_shareable(device):
                    ledger.release_capacity(device.id, amounts)
                else:
                    ledger.release(placed, at.claim)
        return done

    def _use(self, at: _At, data: _RequestData, placed: Placed) -> bool:
        """Mark the device as used by the request, unless something speaks against it."""
        request, device, ledger = data.request, placed.device, self._ledger
        shareable = ledger.is_shareable(device)
        if not (shareable and request.admin_access) and not ledger.is_free(device.id, request, at.claim):
            return False
        if not ledger.take_counters(placed):
            return False
        if ledger.gates.device_taints and _taint_prevents(device, request):
            return False
        trackers = self._trackers[at.claim]
        for number, tracker in enumerate(trackers):
            if not tracker.add(request, device):
                if request.mode == "All":
                    raise AllocationError(
                        f"claim {self._claims[at.claim]}, request {request.name}: cannot add device "
                        f"{device.id} because a claim constraint would not be satisfied"
                    )
                for earlier in trackers[:number]:
                    earlier.remove(request)
                return False
        if not shareable:
            ledger.hold(device.id, at.claim)
        return ledger.fits(request, device)

    def _is_hopeless(self, at: _At, data: _RequestData) -> bool:
        """Whether the request fails in every state: too few devices match, or agree, were all of them free.

        Shared devices and partitions are left to the search.
        """
        claim = self._claims[at.claim]
        matching = self._matching(claim, data)
        if matching is None or data.request.admin_access:
            return False
        needed, union = data.count, set(matching)
        for claim_index, number in self._before(at):
            (earlier, *others) = self._data[claim_index, number]
            found = self._matching(self._claims[claim_index], earlier)
            if not others and found is not None and not earlier.request.admin_access:
                needed += earlier.count
                union |= set(found)
        if needed > len(union):
            return True
        most = len(matching)
        lists = self._ledger.gates.list_attributes
        for constraint in claim.constraints:
            if not lists and applies(constraint, data.request):
                most = min(most, _most_that_agree(constraint, matching))
        return most < data.count

    def _matching(self, claim: Claim, data: _RequestData) -> list[Device] | None:
        """The devices that match and are not held by earlier claims; nothing when one of them is shared,
        a partition, or makes a selector fail.
        """
        held = self._ledger.state.devices
        free = [placed for placed in self._candidates if placed.device.id not in held]
        try:
            found = [placed.device for placed in free if self._selectable(claim, data, placed)]
        except AllocationError:
            return None
        return None if any(device.shareable or device.consumes for device in found) else found

    def _before(self, at: _At) -> list[tuple[int, int]]:
        """The requests that are placed when the search stands at one."""
        return [key for key in self._data if key < (at.claim, at.request)]

    def _is_free_of_errors(self, at: _At) -> bool:
        """Whether trying the requests before in other ways could end in an error instead of a no."""
        for claim_index, number in self._before(at):
            for data in self._data[claim_index, number]:
                if data.request.mode == "All" or self._matching(self._claims[claim_index], data) is None:
                    return False
        return True

    def _selectable(self, claim: Claim, data: _RequestData, placed: Placed) -> bool:
        """Class selectors, then the request's, then the device's own nodes; once per device and request."""
        device = placed.device
        if device.binding_conditions and not self._ledger.gates.device_binding:
            return False
        known = data.matches.get(device)
        if known is None:
            known = data.matches[device] = (
                self._match_all(f"class {data.device_class.name}", data.device_class.selectors, device)
                and self._match_all(f"claim {claim}", data.request.selectors, device)
                and (not placed.slice.nodes.per_device or reaches(device.nodes, self._node))
            )
        return known

    def _match_all(self, where: str, selectors: Sequence[str | None], device: Device) -> bool:
        for number, selector in enumerate(selectors):
            try:
                if not self._matcher.matches(selector or "", device):
                    return False
            except SelectorError as error:
                raise AllocationError(
                    f"{where}: selector #{number}: CEL {error.stage} error: {error.text}"
                ) from error
        return True


def _most_that_agree(constraint: Constraint, devices: list[Device]) -> int:
    """The most devices that one request can get: the largest group, or one where all values are the same."""
    groups: dict[str, int] = {}
    for device in devices:
        value = device.attribute(constraint.attribute)
        if value is not None:
            groups[repr(value)] = groups.get(repr(value), 0) + 1
    if constraint.kind == "match":
        return max(groups.values(), default=0)
    return len(groups) if len(groups) < 2 else sum(groups.values())


def _taint_prevents(device: Device, request: Request) -> bool:
    """`NoSchedule` and `NoExecute` keep a device from those who do not tolerate them; others do not."""
    return any(
        taint.effect in ("NoSchedule", "NoExecute")
        and not any(toleration.tolerates(taint) for toleration in request.tolerations)
        for taint in device.taints
    )
