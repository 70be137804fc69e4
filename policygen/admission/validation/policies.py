"""Rules of admission policies and bindings, their expressions included.

Kubernetes `pkg/apis/admissionregistration/validation/validation.go`. What API defaulting fills in
(`matchPolicy`, selectors, `failurePolicy`) is taken as filled in. New expressions are compiled with the
libraries of the version before the server's, in the order in which the server compiles them: variables see
those before them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from policygen.admission.validation import content, metadata
from policygen.admission.validation.expressions import Compiler
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.names import byte_length

_FAILURE: Final = ("Fail", "Ignore")
_MATCH: Final = ("Equivalent", "Exact")
_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING_OPERATIONS: Final = ("*", "CONNECT", "CREATE", "UPDATE")
_REINVOCATION: Final = ("IfNeeded", "Never")
_SCOPES: Final = ("*", "Cluster", "Namespaced")
_PATCHES: Final = ("ApplyConfiguration", "JSONPatch")
_REASONS: Final = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_ACTIONS: Final = ("Audit", "Deny", "Warn")
_NOT_FOUND: Final = ("Deny", "Allow")
_MOST_CONDITIONS: Final = 64
_MOST_ANNOTATIONS: Final = 20
_LONGEST_ANNOTATION: Final = 5 * 1024
_IDENTIFIER: Final = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*")
_RESERVED: Final = frozenset(
    [
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"),
        *("if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)


def mutating_policy(found: FieldErrors, policy: Object, version: str) -> None:
    """`ValidateMutatingAdmissionPolicy`."""
    metadata.validate(found, policy.get("metadata") or {}, namespaced=False, core=False)
    spec = policy.get("spec") or {}
    compiler = Compiler(version, has_params=spec.get("paramKind") is not None)
    _head(found, spec, compiler, _MUTATING_OPERATIONS)
    mutations = spec.get("mutations") or []
    if not mutations:
        found.required("spec.mutations", "mutations must contain at least one item")
    for index, mutation in enumerate(mutations):
        _mutation(found, mutation, compiler, f"spec.mutations[{index}]")
    reinvocation = spec.get("reinvocationPolicy")
    if not reinvocation:
        found.required("spec.reinvocationPolicy")
    elif reinvocation not in _REINVOCATION:
        found.unsupported("spec.reinvocationPolicy", reinvocation, _REINVOCATION)


def validating_policy(found: FieldErrors, policy: Object, version: str) -> None:
    """`ValidateValidatingAdmissionPolicy`."""
    meta, spec = policy.get("metadata") or {}, policy.get("spec") or {}
    metadata.validate(found, meta, namespaced=False, core=False)
    compiler = Compiler(version, has_params=spec.get("paramKind") is not None)
    _head(found, spec, compiler, None)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        says = "validations or auditAnnotations must contain at least one item"
        found.required("spec.validations", says)
        found.required("spec.auditAnnotations", says)
    for index, validation in enumerate(validations):
        _validation(found, validation, compiler, f"spec.validations[{index}]")
    if len(annotations) > _MOST_ANNOTATIONS:
        says = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        found.invalid("spec.auditAnnotations", annotations, says)
    keys: set[str] = set()
    for index, annotation in enumerate(annotations):
        at = f"spec.auditAnnotations[{index}]"
        _audit_annotation(found, annotation, meta.get("name") or "", compiler, at)
        key = annotation.get("key") or ""
        if key in keys:
            found.duplicate(f"{at}.key", key)
        keys.add(key)


def mutating_binding(found: FieldErrors, binding: Object) -> None:
    """`ValidateMutatingAdmissionPolicyBinding`."""
    spec = _binding(found, binding)
    match = spec.get("matchResources")
    if match is not None:
        _operations(found, match, _MUTATING_OPERATIONS, "spec.matchResources.resourceRules.operations")


def validating_binding(found: FieldErrors, binding: Object) -> None:
    """`ValidateValidatingAdmissionPolicyBinding`."""
    spec = _binding(found, binding)
    actions = spec.get("validationActions") or []
    path = "spec.validationActions"
    seen: set[str] = set()
    for index, action in enumerate(actions):
        if action not in _ACTIONS:
            found.unsupported(f"{path}[{index}]", action, _ACTIONS)
        if action in seen:
            found.duplicate(f"{path}[{index}]", action)
        seen.add(action)
    if {"Deny", "Warn"} <= seen:
        says = "must not contain both Deny and Warn"
        why = "repeating the same validation failure information in the API response and headers"
        found.invalid(path, actions, f"{says} ({why} serves no purpose)")
    if not seen:
        found.required(path, "at least one validation action is required")


def _binding(found: FieldErrors, binding: Object) -> Object:
    metadata.validate(found, binding.get("metadata") or {}, namespaced=False, core=False)
    spec: Object = binding.get("spec") or {}
    name = spec.get("policyName")
    if not name:
        found.required("spec.policyName")
    else:
        found.messages("spec.policyName", name, content.subdomain(name))
    if spec.get("paramRef") is not None:
        _param_ref(found, spec["paramRef"], "spec.paramRef")
    if spec.get("matchResources") is not None:
        _match_resources(found, spec["matchResources"], "spec.matchResources")
    return spec


def _head(found: FieldErrors, spec: Object, compiler: Compiler, operations: tuple[str, ...] | None) -> None:
    """What both kinds of policy have: failure policy, parameters, matching, conditions, variables."""
    failure = spec.get("failurePolicy")
    if failure is not None and failure not in _FAILURE:
        found.unsupported("spec.failurePolicy", failure, _FAILURE)
    if spec.get("paramKind") is not None:
        _param_kind(found, spec["paramKind"], "spec.paramKind")
    match = spec.get("matchConstraints")
    if match is None:
        found.required("spec.matchConstraints")
    else:
        _match_resources(found, match, "spec.matchConstraints")
        if not match.get("resourceRules"):
            found.required("spec.matchConstraints.resourceRules")
        if operations is not None:
            _operations(found, match, operations, "spec.matchConstraints.resourceRules.operations")
    _conditions(found, spec.get("matchConditions") or [], compiler, "spec.matchConditions")
    for index, variable in enumerate(spec.get("variables") or ()):
        _variable(found, variable, compiler, f"spec.variables[{index}]")


def _param_kind(found: FieldErrors, kind: Object, path: str) -> None:
    version = kind.get("apiVersion") or ""
    at = f"{path}.apiVersion"
    if not version:
        found.required(at)
    elif version.count("/") > 1:
        found.invalid(at, version, f"unexpected GroupVersion string: {version}")
    else:
        group, slash, number = version.partition("/")
        if not slash:
            group, number = "", version
        messages = content.subdomain(group) if group else ()
        if messages:
            found.invalid(at, group, ",".join(messages))
        if not number:
            found.invalid(at, version, "version must be specified")
        elif content.label_1035(number):
            found.invalid(at, number, ",".join(content.label_1035(number)))
    name = kind.get("kind") or ""
    if not name:
        found.required(f"{path}.kind")
    elif content.label_1035(name.lower()):
        says = "may have mixed case, but should otherwise match: "
        found.invalid(f"{path}.kind", name, says + ",".join(content.label_1035(name.lower())))


def _param_ref(found: FieldErrors, reference: Object, path: str) -> None:
    name, selector = reference.get("name") or "", reference.get("selector")
    exclusive = "name and selector are mutually exclusive"
    if name:
        found.messages(f"{path}.name", name, content.path_segment(name))
        if selector is not None:
            found.forbidden(f"{path}.name", exclusive)
    if selector is not None:
        metadata.selector(found, selector, f"{path}.selector")
        if name:
            found.forbidden(f"{path}.selector", exclusive)
    if not name and selector is None:
        found.required(path, "one of name or selector must be specified")
    action = reference.get("parameterNotFoundAction")
    if not action:
        found.required(f"{path}.parameterNotFoundAction")
    elif action not in _NOT_FOUND:
        found.unsupported(f"{path}.parameterNotFoundAction", action, _NOT_FOUND)


def _match_resources(found: FieldErrors, match: Object, path: str) -> None:
    policy = match.get("matchPolicy")
    if policy is not None and policy not in _MATCH:
        found.unsupported(f"{path}.matchPolicy", policy, _MATCH)
    metadata.selector(found, match.get("namespaceSelector"), f"{path}.namespaceSelector")
    metadata.selector(found, match.get("objectSelector"), f"{path}.objectSelector")
    for field in ("resourceRules", "excludeResourceRules"):
        for index, rule in enumerate(match.get(field) or ()):
            _rule(found, rule, f"{path}.{field}[{index}]")


def _operations(found: FieldErrors, match: Object, choices: tuple[str, ...], path: str) -> None:
    """What a mutating policy may match: not DELETE."""
    for rule in match.get("resourceRules") or ():
        for operation in rule.get("operations") or ():
            if operation not in choices:
                found.unsupported(path, operation, choices)


def _rule(found: FieldErrors, rule: Object, path: str) -> None:
    names: set[str] = set()
    for index, name in enumerate(rule.get("resourceNames") or ()):
        at = f"{path}.resourceNames[{index}]"
        found.messages(at, name, content.path_segment(name))
        if name in names:
            found.duplicate(at, name)
        names.add(name)
    operations = rule.get("operations") or []
    _wildcard(found, operations, "operations", f"{path}.operations")
    for index, operation in enumerate(operations):
        if operation not in _OPERATIONS:
            found.unsupported(f"{path}.operations[{index}]", operation, _OPERATIONS)
    _wildcard(found, rule.get("apiGroups") or [], "API groups", f"{path}.apiGroups")
    versions = rule.get("apiVersions") or []
    _wildcard(found, versions, "API versions", f"{path}.apiVersions")
    for index, version in enumerate(versions):
        if not version:
            found.required(f"{path}.apiVersions[{index}]")
    _resources(found, rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        found.unsupported(f"{path}.scope", scope, _SCOPES)


def _wildcard(found: FieldErrors, values: list[str], noun: str, path: str) -> None:
    if not values:
        found.required(path)
    if len(values) > 1 and "*" in values:
        found.invalid(path, values, f"if '*' is present, must not specify other {noun}")


def _resources(found: FieldErrors, resources: list[str], path: str) -> None:
    """`validateResources`: what a wildcard covers may not be listed beside it."""
    if not resources:
        found.required(path)
    every_sub: set[str] = set()
    every_resource: set[str] = set()
    plain = False
    for index, resource in enumerate(resources):
        at = f"{path}[{index}]"
        if not resource:
            found.required(at)
            continue
        name, slash, sub = resource.partition("/")
        if not slash:
            plain = resource != "*"
            continue
        if name in every_sub:
            found.invalid(at, resource, f"if '{name}/*' is present, must not specify {resource}")
        if sub in every_resource:
            found.invalid(at, resource, f"if '*/{sub}' is present, must not specify {resource}")
        if sub == "*":
            every_sub.add(name)
        if name == "*":
            every_resource.add(sub)
    if len(resources) > 1 and "*/*" in resources:
        found.invalid(path, resources, "if '*/*' is present, must not specify other resources")
    if "*" in resources and plain:
        says = "if '*' is present, must not specify other resources without subresources"
        found.invalid(path, resources, says)


def _conditions(found: FieldErrors, conditions: list[Object], compiler: Compiler, path: str) -> None:
    if len(conditions) > _MOST_CONDITIONS:
        found.too_many(path, len(conditions), _MOST_CONDITIONS)
    names: set[str] = set()
    for index, condition in enumerate(conditions):
        at = f"{path}[{index}]"
        expression = (condition.get("expression") or "").strip()
        if not expression:
            found.required(f"{at}.expression")
        else:
            says = compiler.condition(expression)
            _expression(found, f"{at}.expression", expression, says)
        name = condition.get("name") or ""
        if not name:
            found.required(f"{at}.name")
            continue
        found.messages(f"{at}.name", name, content.qualified_name(name))
        if name in names:
            found.duplicate(f"{at}.name", name)
        names.add(name)


def _variable(found: FieldErrors, variable: Object, compiler: Compiler, path: str) -> None:
    name, expression = variable.get("name") or "", variable.get("expression") or ""
    if not name.strip():
        found.required(f"{path}.name", "name is not specified")
    elif not _IDENTIFIER.fullmatch(name) or name in _RESERVED:
        found.invalid(f"{path}.name", name, "name is not a valid CEL identifier")
    if not expression.strip():
        found.required(f"{path}.expression", "expression is not specified")
    else:
        _expression(found, f"{path}.expression", expression, compiler.variable(name, expression))


def _expression(found: FieldErrors, path: str, expression: str, says: str) -> None:
    if says:
        found.invalid(path, expression, says)


def _mutation(found: FieldErrors, mutation: Object, compiler: Compiler, path: str) -> None:
    kind = mutation.get("patchType")
    if not kind:
        found.required(f"{path}.patchType")
        return
    if kind not in _PATCHES:
        found.unsupported(f"{path}.patchType", kind, _PATCHES)
        return
    field, other = ("jsonPatch", "applyConfiguration")
    if kind == "ApplyConfiguration":
        field, other = other, field
    given: Mapping[str, Any] | None = mutation.get(field)
    if given is None:
        found.required(f"{path}.{field}", f"must be specified when patchType is {kind}")
    else:
        expression = (given.get("expression") or "").strip()
        if not expression:
            found.required(f"{path}.{field}.expression")
        else:
            _expression(found, f"{path}.{field}.expression", expression, compiler.patch(kind, expression))
    if mutation.get(other) is not None:
        found.invalid(f"{path}.{other}", f"{{{other}}}", f"must not be specified when patchType is {kind}")


def _validation(found: FieldErrors, validation: Object, compiler: Compiler, path: str) -> None:
    expression, message = validation.get("expression") or "", validation.get("message") or ""
    message_expression = validation.get("messageExpression") or ""
    if not expression.strip():
        found.required(f"{path}.expression", "expression is not specified")
    else:
        _expression(found, f"{path}.expression", expression, compiler.validation(expression))
    if message_expression and not message_expression.strip():
        found.invalid(f"{path}.messageExpression", message_expression, "must be non-empty if specified")
    elif message_expression:
        says = compiler.message(message_expression)
        _expression(found, f"{path}.messageExpression", message_expression, says)
    if message and not message.strip():
        found.invalid(f"{path}.message", message, "message must be non-empty if specified")
    elif any(char in message.strip() for char in "\r\n"):
        found.invalid(f"{path}.message", message, "message must not contain line breaks")
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        found.unsupported(f"{path}.reason", reason, _REASONS)


def _audit_annotation(
    found: FieldErrors, annotation: Object, name: str, compiler: Compiler, path: str
) -> None:
    key, expression = annotation.get("key") or "", annotation.get("valueExpression") or ""
    if name:
        full = f"{name}/{key}"
        found.messages(f"{path}.key", full, content.qualified_name(full))
    else:
        found.invalid(f"{path}.key", key, "requires metadata.name be non-empty")
    trimmed = expression.strip()
    if not trimmed:
        found.required(f"{path}.valueExpression", "valueExpression is not specified")
    elif byte_length(trimmed) > _LONGEST_ANNOTATION:
        says = f"must not exceed {_LONGEST_ANNOTATION} bytes in length"
        found.required(f"{path}.valueExpression", says)
    else:
        says = compiler.audit_annotation(trimmed)
        _expression(found, f"{path}.valueExpression", expression, says)
