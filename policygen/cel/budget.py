"""Cost limits: one per call, and a budget that calls share (apiserver `apis/cel/config.go`)."""

from __future__ import annotations

from dataclasses import dataclass

from policygen.cel.errors import EvalError

PER_CALL_LIMIT = 1_000_000
"""One evaluation of one expression."""

RUNTIME_CEL_COST_BUDGET = 10_000_000
"""All expressions of one mutation or policy on one request."""

MATCH_CONDITION_BUDGET = 2_500_000
"""All match conditions of one policy or webhook on one request."""

OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudgetError(EvalError):
    """The budget that calls share is used up."""

    def __init__(self, message: str = OUT_OF_BUDGET) -> None:
        super().__init__(message)


@dataclass(slots=True)
class Budget:
    """What is left for several evaluations together."""

    remaining: int

    def spend(self, cost: int) -> None:
        """Take the cost of one evaluation; when more was spent than was left, that is an error."""
        if cost > self.remaining:
            self.remaining = 0
            raise OutOfBudgetError
        self.remaining -= cost
