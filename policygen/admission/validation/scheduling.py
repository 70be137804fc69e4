"""Rules of what decides where a pod runs: selectors, affinity, tolerations, spread, gates, claims.

Kubernetes `pkg/apis/core/validation/validation.go`.
"""

from __future__ import annotations

from typing import Final

from policygen.admission.validation import content, internal, metadata
from policygen.admission.validation.field import FieldErrors, Object

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_WEIGHT: Final = "must be in the range 1-100"


def affinity(found: FieldErrors, given: Object, path: str) -> None:
    """`validateAffinity`."""
    node = given.get("nodeAffinity")
    if node is not None:
        if node.get(_REQUIRED) is not None:
            node_selector(found, node[_REQUIRED], f"{path}.nodeAffinity.{_REQUIRED}")
        for index, term in enumerate(node.get(_PREFERRED) or ()):
            at = f"{path}.nodeAffinity.{_PREFERRED}[{index}]"
            _weight(found, term, at)
            _node_term(found, term.get("preference") or {}, f"{at}.preference", strict_values=False)
    for kind in ("podAffinity", "podAntiAffinity"):
        terms = given.get(kind) or {}
        for index, term in enumerate(terms.get(_REQUIRED) or ()):
            _pod_term(found, term, f"{path}.{kind}.{_REQUIRED}[{index}]")
        for index, term in enumerate(terms.get(_PREFERRED) or ()):
            at = f"{path}.{kind}.{_PREFERRED}[{index}]"
            _weight(found, term, at)
            _pod_term(found, term.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")


def _weight(found: FieldErrors, term: Object, path: str) -> None:
    weight = term.get("weight") or 0
    if not 1 <= weight <= 100:
        found.invalid(f"{path}.weight", weight, _WEIGHT)


def node_selector(found: FieldErrors, given: Object, path: str) -> None:
    """`ValidateNodeSelector`."""
    terms = given.get("nodeSelectorTerms") or []
    if not terms:
        found.required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")
    for index, term in enumerate(terms):
        _node_term(found, term, f"{path}.nodeSelectorTerms[{index}]", strict_values=True)


def _node_term(found: FieldErrors, term: Object, path: str, *, strict_values: bool) -> None:
    for index, requirement in enumerate(term.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        _node_requirement(found, requirement, at, strict_values=strict_values)
    for index, requirement in enumerate(term.get("matchFields") or ()):
        _node_field(found, requirement, f"{path}.matchFields[{index}]")


def _node_requirement(found: FieldErrors, given: Object, path: str, *, strict_values: bool) -> None:
    values = given.get("values") or []
    match given.get("operator"):
        case "In" | "NotIn":
            if not values:
                found.required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'")
        case "Exists" | "DoesNotExist":
            if values:
                says = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.forbidden(f"{path}.values", says)
        case "Gt" | "Lt":
            if len(values) != 1:
                says = "must be specified single value when `operator` is 'Lt' or 'Gt'"
                found.required(f"{path}.values", says)
        case other:
            found.invalid(f"{path}.operator", other or "", "not a valid selector operator")
    metadata.label_name(found, given.get("key") or "", f"{path}.key")
    if strict_values:
        for index, value in enumerate(values):
            found.messages(f"{path}.values[{index}]", value, content.label_value(value))


def _node_field(found: FieldErrors, given: Object, path: str) -> None:
    values = given.get("values") or []
    if given.get("operator") in ("In", "NotIn"):
        if len(values) != 1:
            says = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
            found.required(f"{path}.values", says)
    else:
        found.invalid(f"{path}.operator", given.get("operator") or "", "not a valid selector operator")
    if given.get("key") != "metadata.name":
        found.invalid(f"{path}.key", given.get("key") or "", "not a valid field selector key")
        return
    for index, value in enumerate(values):
        found.messages(f"{path}.values[{index}]", value, content.subdomain(value))


def _pod_term(found: FieldErrors, term: Object, path: str) -> None:
    metadata.selector(found, term.get("labelSelector"), f"{path}.labelSelector")
    metadata.selector(found, term.get("namespaceSelector"), f"{path}.namespaceSelector")
    for name in term.get("namespaces") or ():
        found.messages(f"{path}.namespace", name, content.label(name))
    _label_keys(found, term, path)
    key = term.get("topologyKey") or ""
    if not key:
        found.required(f"{path}.topologyKey", "can not be empty")
    metadata.label_name(found, key, f"{path}.topologyKey")


def _label_keys(found: FieldErrors, term: Object, path: str) -> None:
    """`validateMatchLabelKeysAndMismatchLabelKeys`."""
    match, mismatch = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    selector = term.get("labelSelector")
    for field, keys in (("matchLabelKeys", match), ("mismatchLabelKeys", mismatch)):
        if keys and selector is None:
            found.forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set")
            continue
        for index, key in enumerate(keys):
            metadata.label_name(found, key, f"{path}.{field}[{index}]")
    if selector is not None and match:
        taken = set(selector.get("matchLabels") or ())
        for requirement in selector.get("matchExpressions") or ():
            key = requirement.get("key")
            if key in match and key in taken:
                says = "exists in both matchLabelKeys and labelSelector"
                found.invalid(f"{path}[{len(match) - 1 - match[::-1].index(key)}]", key, says)
            taken.add(key)
    for index, key in enumerate(match):
        if key in mismatch:
            says = "exists in both matchLabelKeys and mismatchLabelKeys"
            found.invalid(f"{path}.matchLabelKeys[{index}]", key, says)


def tolerations(found: FieldErrors, given: list[Object], path: str) -> None:
    """`ValidateTolerations`."""
    for index, toleration in enumerate(given):
        key, effect = toleration.get("key"), toleration.get("effect")
        operator, value = toleration.get("operator") or "", toleration.get("value") or ""
        at = f"{path}[{index}]"
        if key:
            metadata.label_name(found, key, f"{at}.key")
        elif operator != "Exists":
            says = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            found.invalid(f"{at}.operator", operator, says)
        if toleration.get("tolerationSeconds") is not None and effect != "NoExecute":
            says = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            found.invalid(f"{at}.effect", effect or "", says)
        match operator:
            case "" | "Equal":
                messages = content.label_value(value)
                if messages:
                    found.invalid(f"{at}.operator", value, ";".join(messages))
            case "Exists":
                if value:
                    says = "value must be empty when `operator` is 'Exists'"
                    found.invalid(f"{at}.operator", internal.shown(toleration, internal.TOLERATION), says)
            case _:
                found.unsupported(f"{at}.operator", operator, ("Equal", "Exists"))
        if effect and effect not in _EFFECTS:
            found.unsupported(f"{at}.effect", effect, _EFFECTS)


def spread_constraints(found: FieldErrors, given: list[Object], path: str) -> None:
    """`validateTopologySpreadConstraints`."""
    for index, constraint in enumerate(given):
        _spread(found, constraint, given[index + 1 :], f"{path}[{index}]")


def _spread(found: FieldErrors, constraint: Object, later: list[Object], path: str) -> None:
    skew, key = constraint.get("maxSkew") or 0, constraint.get("topologyKey") or ""
    action = constraint.get("whenUnsatisfiable") or ""
    if skew <= 0:
        found.invalid(f"{path}.maxSkew", skew, content.NOT_POSITIVE)
    if not key:
        found.required(f"{path}.topologyKey", "can not be empty")
    if action not in ("DoNotSchedule", "ScheduleAnyway"):
        found.unsupported(f"{path}.whenUnsatisfiable", action, ("DoNotSchedule", "ScheduleAnyway"))
    if any(
        (other.get("topologyKey") or "", other.get("whenUnsatisfiable") or "") == (key, action)
        for other in later
    ):
        found.duplicate(f"{path}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}")
    domains = constraint.get("minDomains")
    if domains is not None:
        if domains <= 0:
            found.invalid(f"{path}.minDomains", domains, content.NOT_POSITIVE)
        if action != "DoNotSchedule":
            says = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
            found.invalid(f"{path}.minDomains", domains, says)
    for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
        policy = constraint.get(field)
        if policy is not None and policy not in ("Honor", "Ignore"):
            found.unsupported(f"{path}.{field}", policy, ("Honor", "Ignore"))
    _label_keys(found, constraint, path)  # the strategy has merged the keys into the selector, from 1.34 on
    metadata.selector(found, constraint.get("labelSelector"), f"{path}.labelSelector")


def gates(found: FieldErrors, given: list[Object], path: str) -> None:
    """`validateSchedulingGates`."""
    seen: set[str] = set()
    for index, gate in enumerate(given):
        name = gate.get("name") or ""
        metadata.label_name(found, name, f"{path}[{index}]")
        if name in seen:
            found.duplicate(f"{path}[{index}]", name)
        seen.add(name)


def claims(found: FieldErrors, given: list[Object], path: str) -> None:
    """`validatePodResourceClaims`: each has a name of its own and exactly one source."""
    seen: set[str] = set()
    for index, claim in enumerate(given):
        at, name = f"{path}[{index}]", claim.get("name") or ""
        if not name:
            found.required(f"{at}.name")
        elif name in seen:
            found.duplicate(f"{at}.name", name)
        else:
            found.messages(f"{at}.name", name, content.label(name))
            seen.add(name)
        direct, template = claim.get("resourceClaimName"), claim.get("resourceClaimTemplateName")
        shown = internal.shown(claim, internal.POD_RESOURCE_CLAIM)
        if direct is not None and template is not None:
            says = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            found.invalid(at, shown, says)
        if direct is None and template is None:
            says = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            found.invalid(at, shown, says)
        if direct is not None:
            found.messages(f"{at}.resourceClaimName", direct, content.subdomain(direct))
        if template is not None:
            found.messages(f"{at}.resourceClaimTemplateName", template, content.subdomain(template))
