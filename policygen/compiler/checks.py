"""Rules about the model as a whole. `CHECKS` is the list; each looks at one question and adds diagnostics."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from policygen.compiler.checks_cel import check_conditions, check_selectors
from policygen.compiler.checks_devices import (
    check_classes,
    check_distinct,
    check_extended_resources,
    check_product_names,
    check_products,
    check_sizes,
    check_unused,
)
from policygen.compiler.checks_fragments import check_fragments
from policygen.compiler.checks_rules import (
    check_ambiguous_use,
    check_conflicts,
    check_double_booking,
    check_moves,
    check_namespaces,
    check_plain_counts,
    check_updates,
    check_writes_within_rule,
)
from policygen.compiler.checks_tenants import (
    check_admin_access,
    check_limits,
    check_names,
    check_qos,
    check_quotas,
)
from policygen.compiler.model import Model
from policygen.diagnostics import Diagnostics

Check: TypeAlias = Callable[[Model, Diagnostics], None]

CHECKS: tuple[Check, ...] = (
    check_classes,
    check_extended_resources,
    check_products,
    check_product_names,
    check_distinct,
    check_sizes,
    check_selectors,
    check_conditions,
    check_unused,
    check_limits,
    check_qos,
    check_names,
    check_quotas,
    check_admin_access,
    check_updates,
    check_writes_within_rule,
    check_ambiguous_use,
    check_conflicts,
    check_double_booking,
    check_moves,
    check_namespaces,
    check_plain_counts,
    check_fragments,
)


def check(model: Model, found: Diagnostics) -> None:
    """Apply every check."""
    for function in CHECKS:
        function(model, found)
