"""Consumable capacity: what a request takes from a shared device, rounded by the request policy.

Follows dynamic-resource-allocation `structured/internal/incubating/consumable_capacity.go`. Amounts are
quantities, so that results read as the server writes them.
"""

from __future__ import annotations

from collections.abc import Mapping

from policygen.dra.model import Capacity, Device, RequestPolicy
from policygen.kube.quantity import Quantity

Amounts = dict[str, Quantity]


def fits(device: Device, requested: Mapping[str, Quantity], used: Mapping[str, Quantity] | None) -> bool:
    """Whether the device can serve the request on top of what is used of it.

    A capacity that the device lacks, a value that the policy does not allow, or too little left: no.
    """
    if any(name not in device.capacity for name in requested):
        return False
    for name, capacity in device.capacity.items():
        amount = consumed(requested.get(name), capacity)
        if violates(amount, capacity.policy):
            return False
        if used and name in used:
            amount = amount + used[name]
        if amount > capacity.value:
            return False
    return True


def consumption(device: Device, requested: Mapping[str, Quantity]) -> Amounts:
    """What the request takes of every capacity of the device."""
    return {name: consumed(requested.get(name), capacity) for name, capacity in device.capacity.items()}


def consumed(requested: Quantity | None, capacity: Capacity) -> Quantity:
    """Nothing requested takes the policy's default, or all; a request is rounded up as the policy says."""
    policy = capacity.policy
    if requested is None:
        return policy.default if policy is not None and policy.default is not None else capacity.value
    if policy is None:
        return requested
    if policy.has_range and policy.minimum is not None:
        return _round_to_range(requested, policy, policy.minimum)
    if policy.values:
        return next((value for value in policy.values if requested <= value), requested)
    return requested


def _round_to_range(requested: Quantity, policy: RequestPolicy, minimum: Quantity) -> Quantity:
    if requested < minimum:
        return minimum
    if policy.step is None:
        return requested
    least, step = minimum.value(), policy.step.value()
    steps = -((requested.value() - least) // -step) if step else 0
    return Quantity.of(least + steps * step, policy.step.format)


def violates(amount: Quantity, policy: RequestPolicy | None) -> bool:
    """Whether the policy forbids the amount; its default is always allowed."""
    if policy is None or (policy.default is not None and amount == policy.default):
        return False
    if policy.has_range:
        if policy.maximum is not None and amount > policy.maximum:
            return True
        if policy.step is None:
            return False
        least = policy.minimum.value() if policy.minimum is not None else 0
        step = policy.step.value()
        return step != 0 and (amount.value() - least) % step != 0
    return bool(policy.values) and amount not in policy.values


def add(total: Amounts | None, amounts: Mapping[str, Quantity]) -> Amounts:
    """A new sum."""
    result = dict(total or {})
    for name, amount in amounts.items():
        result[name] = result[name] + amount if name in result else amount
    return result
