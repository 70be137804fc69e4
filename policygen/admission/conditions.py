"""matchConditions and what becomes of their errors (apiserver `matchconditions/matcher.go`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from policygen.admission.activation import ExpressionError, Round, Subject
from policygen.admission.compilation import CompiledPolicy
from policygen.cel.budget import MATCH_CONDITION_BUDGET, Budget, OutOfBudgetError


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """Whether the policy goes on. At most one of `failed` and `error` is set."""

    matches: bool
    failed: str = ""
    """The first condition that was false; it wins over errors of others."""
    error: str = ""
    """Under `Fail`: the server's words. Under `Ignore` an error reads as no match, and this is empty."""
    ignored: str = ""
    """The error that `Ignore` swallowed, for `explain`."""
    variables: Mapping[str, Any] = field(default_factory=dict)


def check_conditions(compiled: CompiledPolicy, subject: Subject) -> ConditionResult:
    """Evaluate all conditions. They do not see the namespace: `namespaceObject` is null in them."""
    if not compiled.conditions:
        return ConditionResult(matches=True)
    unseen = Subject(
        subject.object, subject.old_object, subject.request, None, subject.params, subject.authorizer
    )
    current = Round(unseen, compiled.variables, Budget(MATCH_CONDITION_BUDGET))
    errors: list[str] = []
    failed = None
    try:
        for condition in compiled.conditions:
            if condition.error:
                errors.append(f"compilation error: {condition.error}")
                continue
            try:
                value = current.evaluate(condition)
            except ExpressionError as error:
                errors.append(str(error))
                continue
            if value is False and failed is None:
                failed = condition.name
    except OutOfBudgetError as error:
        failed, errors = None, [error.message]
    if failed is not None:
        return ConditionResult(matches=False, failed=failed, variables=current.values)
    if not errors:
        return ConditionResult(matches=True, variables=current.values)
    text = aggregate(errors)
    if compiled.policy.failure_policy == "Ignore":
        return ConditionResult(matches=False, ignored=text, variables=current.values)
    return ConditionResult(matches=False, error=text, variables=current.values)


def aggregate(errors: list[str]) -> str:
    """Several errors as one text, each once (apimachinery `util/errors`)."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"
