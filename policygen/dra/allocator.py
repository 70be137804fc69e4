"""The scheduler's structured allocator: which devices a node's claims get, in the server's own order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from policygen.dra.allocation import AllocatedState, Allocation, Matcher
from policygen.dra.ledger import Counters, Ledger
from policygen.dra.model import Claim, DeviceClass, Node
from policygen.dra.pools import Inventory
from policygen.dra.search import Search

MAX_STEPS = 100_000
"""Attempts to place a device before the search gives up; the scheduler gives up after ten seconds."""


class Allocator:
    """Allocates claims on nodes of one inventory; each call stands alone, nothing is kept as allocated."""

    def __init__(
        self,
        inventory: Inventory,
        classes: Mapping[str, DeviceClass],
        matcher: Matcher,
        state: AllocatedState | None = None,
        max_steps: int = MAX_STEPS,
    ) -> None:
        self.inventory = inventory
        self.classes = classes
        self.matcher = matcher
        self.state = state or AllocatedState()
        self.max_steps = max_steps
        self._available: dict[str, Counters] = {}

    def allocate(self, node: Node, claims: Sequence[Claim]) -> tuple[Allocation, ...] | None:
        """The first solution for all claims together; nothing when there is none; `AllocationError`."""
        ledger = Ledger(self.inventory.gates, self.state, self._available)
        search = Search(
            node,
            claims,
            pools=self.inventory.pools(node),
            classes=self.classes,
            matcher=self.matcher,
            ledger=ledger,
            max_steps=self.max_steps,
        )
        return search.run()
