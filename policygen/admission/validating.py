"""ValidatingAdmissionPolicy: validations, messages, audit annotations and what a binding does with a failure.

Apiserver `validating/dispatcher.go` and `validating/validator.go`. Under `failurePolicy: Fail` an error
counts as a failed validation. The first denial gives the response its message, reason and code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from policygen.admission import params
from policygen.admission.activation import ExpressionError, Round, Subject, shown, subject_of
from policygen.admission.attributes import Attributes
from policygen.admission.authorizer import authorizer_for
from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy
from policygen.admission.conditions import check_conditions
from policygen.admission.dispatcher import Invocation, Pass, choose, request_namespace
from policygen.admission.matching import is_exempt
from policygen.admission.outcome import Denied, VerdictKind
from policygen.admission.plugins import refusal
from policygen.admission.policy import Binding, Policy
from policygen.cel.budget import RUNTIME_CEL_COST_BUDGET, Budget, OutOfBudgetError

MAX_MESSAGE: Final = 5 * 1024
"""A longer result of a messageExpression is ignored (apiserver `apis/cel/config.go`)."""

MAX_ANNOTATION: Final = 10 * 1024
"""Longer audit annotation values are cut."""

_CODES: Final = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413, "Invalid": 422}


@dataclass(frozen=True, slots=True)
class Decision:
    """One failed validation, or an error that counts as one."""

    message: str
    reason: str = ""


@dataclass(slots=True)
class Validated:
    """What one invocation decided."""

    decisions: list[Decision] = field(default_factory=list)
    annotations: dict[str, str] = field(default_factory=dict)
    annotation_errors: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    """Errors, also those that `failurePolicy: Ignore` forgives."""
    skipped: str = ""
    """The match condition that was false."""
    variables: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Denial:
    policy: Policy
    binding: Binding | None
    decision: Decision

    def __str__(self) -> str:
        binding = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        return (
            f"ValidatingAdmissionPolicy '{self.policy.name}'{binding} denied request: {self.decision.message}"
        )


def dispatch(attributes: Attributes, cluster: Cluster, current: Pass) -> None:
    """Run the validating policies. Raises `Denied`; warnings and annotations go into the attributes."""
    if is_exempt(attributes):
        return
    denials: list[_Denial] = []
    invocations = list(choose(cluster.validating_policies, attributes, cluster, current))
    denials.extend(_Denial(each.policy, each.binding, Decision(each.message)) for each in current.failures)
    current.failures.clear()
    if invocations:
        namespace = request_namespace(attributes, cluster)
        authorizer = authorizer_for(attributes, cluster)
        annotations: dict[str, dict[str, list[str]]] = {}
        for invocation in invocations:
            compiled = cluster.compiled(invocation.policy)
            subject = subject_of(
                attributes,
                invocation.found,
                namespace=namespace,
                params=invocation.param,
                authorizer=authorizer,
            )
            result = validate(compiled, subject)
            denials.extend(_enforce(result, invocation, attributes))
            _note(result, invocation, current)
            collected = annotations.setdefault(invocation.policy.name, {})
            for key, value in result.annotations.items():
                values = collected.setdefault(key, [])
                if value not in values:
                    values.append(value)
        for policy, collected in annotations.items():
            for key, values in collected.items():
                attributes.audit_annotations[f"{policy}/{key}"] = ", ".join(values)
    if denials:
        message = str(denials[0])
        reason = denials[0].decision.reason or "Invalid"
        says = refusal.message(attributes.resource, refusal.object_name(attributes), message)
        raise Denied(_CODES.get(reason, 422), reason, says, (message,))


def validate(compiled: CompiledPolicy, subject: Subject) -> Validated:
    """Evaluate one policy on one subject (`validator.go`)."""
    policy = compiled.policy
    result = Validated()
    conditions = check_conditions(compiled, subject)
    result.variables = conditions.variables
    if conditions.error:
        result.errors.append(conditions.error)
        result.decisions.append(Decision(conditions.error))
        return result
    if not conditions.matches:
        result.skipped = conditions.failed
        if conditions.ignored:
            result.errors.append(conditions.ignored)
        return result
    current = Round(subject, compiled.variables, Budget(RUNTIME_CEL_COST_BUDGET))
    try:
        values = [_evaluate(current, expression) for expression in compiled.validations]
    except OutOfBudgetError as error:
        _count(result, policy, error.message)
        return result
    result.variables = current.values
    messages = _messages(compiled, subject, values, current.budget)
    for index, (value, validation) in enumerate(zip(values, policy.validations, strict=True)):
        if isinstance(value, ExpressionError):
            _count(result, policy, str(value))
        elif isinstance(messages, str):
            _count(result, policy, f"failed messageExpression: {messages}")
        elif value is not True:
            message = messages.get(index) or validation.message.strip()
            message = message or f"failed expression: {validation.expression.strip()}"
            result.decisions.append(Decision(message, validation.reason))
    _annotate(compiled, subject, result)
    return result


def _evaluate(current: Round, expression: Any) -> Any:
    if expression.error:
        return ExpressionError(f"compilation error: {expression.error}")
    try:
        return current.evaluate(expression)
    except ExpressionError as error:
        return error


def _count(result: Validated, policy: Policy, message: str) -> None:
    """An error: a denial under `Fail`, forgiven under `Ignore`."""
    result.errors.append(message)
    if policy.failure_policy == "Fail":
        result.decisions.append(Decision(message))


def _messages(
    compiled: CompiledPolicy, subject: Subject, values: list[Any], budget: Budget
) -> dict[int, str] | str:
    """The usable results of messageExpressions by index, or the error that the budget is used up.

    The server evaluates them all; here only those of failed validations count.
    """
    current = Round(subject, compiled.variables, budget)
    found: dict[int, str] = {}
    for index, expression in enumerate(compiled.messages):
        if expression is None or values[index] is True:
            continue
        try:
            message = _evaluate(current, expression)
        except OutOfBudgetError as error:
            return error.message
        if isinstance(message, str):
            message = message.strip()
            if len(message.encode()) <= MAX_MESSAGE and "\n" not in message:
                found[index] = message
    return found


def _annotate(compiled: CompiledPolicy, subject: Subject, result: Validated) -> None:
    policy = compiled.policy
    current = Round(subject, compiled.variables, Budget(RUNTIME_CEL_COST_BUDGET))
    for expression in compiled.audit_annotations:
        try:
            value = _evaluate(current, expression)
        except OutOfBudgetError as error:
            _count(result, policy, error.message)
            return
        if isinstance(value, ExpressionError):
            result.errors.append(str(value))
            if policy.failure_policy == "Fail":
                result.annotation_errors.append(str(value))
        elif isinstance(value, str) and value.strip():
            result.annotations[expression.name] = value.strip()[:MAX_ANNOTATION]


def _enforce(result: Validated, invocation: Invocation, attributes: Attributes) -> list[_Denial]:
    """What the binding's `validationActions` make of the failed validations."""
    policy, binding = invocation.policy, invocation.binding
    denials: list[_Denial] = []
    for index, decision in enumerate(result.decisions):
        for action in binding.actions:
            match action:
                case "Deny":
                    denials.append(_Denial(policy, binding, decision))
                case "Warn":
                    attributes.warn(
                        f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' "
                        f"with binding '{binding.name}': {decision.message}"
                    )
                case "Audit":
                    _audit(attributes, policy, binding, index, decision)
                case _:
                    pass
    denials.extend(_Denial(policy, binding, Decision(error)) for error in result.annotation_errors)
    return denials


def _audit(attributes: Attributes, policy: Policy, binding: Binding, index: int, decision: Decision) -> None:
    key = "validation.policy.admission.k8s.io/validation_failure"
    entry = {
        "message": decision.message,
        "policy": policy.name,
        "binding": binding.name,
        "expressionIndex": index,
        "validationActions": list(binding.actions),
    }
    # the server does not overwrite an annotation: the first failure stays
    attributes.audit_annotations.setdefault(key, json.dumps([entry], separators=(",", ":")))


def _note(result: Validated, invocation: Invocation, current: Pass) -> None:
    policy, binding = invocation.policy, invocation.binding
    kind: VerdictKind
    detail = ""
    if result.skipped:
        kind, detail = "skipped", f"matchConditions `{result.skipped}`"
    elif result.errors:
        kind, detail = "failed", result.errors[0]
    elif result.decisions:
        kind = "denied" if "Deny" in binding.actions else "warned"
        detail = result.decisions[0].message
    else:
        kind = "passed"
    current.verdict(
        policy,
        binding,
        kind,
        detail,
        param=params.param_name(invocation.param),
        errors=tuple(decision.message for decision in result.decisions),
        variables=shown(result.variables) if current.explain else {},
    )
