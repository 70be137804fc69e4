"""Rules of compute resources (Kubernetes `pkg/apis/core/validation/validation.go`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Any, Final

from policygen.admission import resource_names as names
from policygen.admission.validation import content
from policygen.admission.validation.field import FieldErrors, Object
from policygen.kube.quantity import Quantity

NOT_INTEGER: Final = "must be an integer"
NameRule = Callable[[FieldErrors, str, str], None]
_POD_LEVEL: Final = re.compile(r"cpu|memory|hugepages-.*")


@lru_cache(maxsize=1024)
def _is_plain(name: str, text: str) -> bool:
    """Whether a container's amount needs no second look: the usual case."""
    if not (names.is_standard_container(name) or names.is_extended(name)) or names.is_huge_page(name):
        return False
    value = Quantity.parse(text)
    return value.sign >= 0 and not (names.is_integer(name) and value.milli_value() % 1000)


def requirements(found: FieldErrors, given: Object, path: str, claims: Collection[str] = ()) -> None:
    """`ValidateContainerResourceRequirements`: names, amounts, requests against limits, claims."""
    limits: Mapping[str, Any] = given.get("limits") or {}
    requests: Mapping[str, Any] = given.get("requests") or {}
    if limits or requests:
        _amounts(found, limits, f"{path}.limits", container_name)
        _requests(found, requests, limits, path, container_name)
        _huge_pages_alone(found, {*limits, *requests}, path)
    if given.get("claims"):
        claim_names(found, given["claims"], claims, f"{path}.claims")


def pod_requirements(found: FieldErrors, given: Object, path: str) -> None:
    """`validatePodResourceRequirements`."""
    limits: Mapping[str, Any] = given.get("limits") or {}
    requests: Mapping[str, Any] = given.get("requests") or {}
    _amounts(found, limits, f"{path}.limits", _pod_name)
    _requests(found, requests, limits, path, _pod_name)
    _huge_pages_alone(found, {*limits, *requests}, path)


def _amounts(found: FieldErrors, given: Mapping[str, Any], path: str, name_rule: NameRule) -> None:
    for name, text in given.items():
        if name_rule is container_name and _is_plain(name, str(text)):
            continue
        at = f"{path}[{name}]"
        name_rule(found, name, at)
        amount(found, name, text, at)
        if names.is_huge_page(name):
            _huge_page(found, name, Quantity.parse(str(text)), at)


def _requests(
    found: FieldErrors, requests: Mapping[str, Any], limits: Mapping[str, Any], path: str, name_rule: NameRule
) -> None:
    for name, text in requests.items():
        at = f"{path}.requests[{name}]"
        plain = name_rule is container_name and _is_plain(name, str(text))
        if not plain:
            name_rule(found, name, at)
            amount(found, name, text, at)
        limit = limits.get(name)
        if limit is None:
            if not names.overcommits(name):
                found.required(f"{path}.limits", "Limit must be set for non overcommitable resources")
        elif limit != text:
            _against_limit(found, name, Quantity.parse(str(text)), Quantity.parse(str(limit)), path)
        if not plain and names.is_huge_page(name):
            _huge_page(found, name, Quantity.parse(str(text)), at)


def _against_limit(found: FieldErrors, name: str, request: Quantity, limit: Quantity, path: str) -> None:
    if request != limit and not names.overcommits(name):
        found.invalid(f"{path}.requests", str(request), f"must be equal to {name} limit of {limit}")
    elif request > limit:
        says = f"must be less than or equal to {name} limit of {limit}"
        found.invalid(f"{path}.requests", str(request), says)


def _huge_pages_alone(found: FieldErrors, used: set[str], path: str) -> None:
    if not used & {"cpu", "memory"} and any(map(names.is_huge_page, used)):
        found.forbidden(path, "HugePages require cpu or memory")


def _huge_page(found: FieldErrors, name: str, value: Quantity, path: str) -> None:
    size = Quantity.parse(name.removeprefix(names.HUGE_PAGES)).value()
    if size <= 0 or value.value() % size:
        found.invalid(path, str(value), f"{value} is not positive integer multiple of {name}")


def amount(found: FieldErrors, name: str, text: Any, path: str) -> None:
    """`ValidateResourceQuantityValue`."""
    value = Quantity.parse(str(text))
    if value.sign < 0:
        found.invalid(path, str(value), content.NEGATIVE)
    if names.is_integer(name) and value.milli_value() % 1000:
        found.invalid(path, str(value), NOT_INTEGER)


def resource_name(found: FieldErrors, name: str, path: str) -> bool:
    """`validateResourceName`; False where the form itself is wrong."""
    messages = content.qualified_name(name)
    if messages:
        found.messages(path, name, messages)
        return False
    if "/" not in name and not names.is_standard(name):
        found.invalid(path, name, "must be a standard resource type or fully qualified")
    return True


def container_name(found: FieldErrors, name: str, path: str) -> None:
    """`validateContainerResourceName`."""
    resource_name(found, name, path)
    if "/" not in name:
        if not names.is_standard_container(name):
            found.invalid(path, name, "must be a standard resource for containers")
    elif not names.is_native(name) and not names.is_extended(name):
        found.invalid(path, name, "doesn't follow extended resource name standard")


def quota_name(found: FieldErrors, name: str, path: str) -> None:
    """`ValidateResourceQuotaResourceName`."""
    resource_name(found, name, path)
    if "/" not in name and not names.is_standard_quota(name):
        found.invalid(path, name, "must be a standard resource for quota")


def _pod_name(found: FieldErrors, name: str, path: str) -> None:
    before = len(found)
    resource_name(found, name, path)
    if len(found) == before and not _POD_LEVEL.fullmatch(name):
        found.unsupported(path, name, ("cpu", "hugepages-", "memory"))


def claim_names(found: FieldErrors, claims: list[Object], known: Collection[str], path: str) -> None:
    """`validateResourceClaimNames`: each entry names a claim of the pod, once."""
    seen: set[str] = set()
    for index, claim in enumerate(claims):
        at, name, request = f"{path}[{index}]", claim.get("name") or "", claim.get("request") or ""
        if not name:
            found.required(at)
            continue
        if name in seen:
            found.duplicate(at, name)
        else:
            if request:
                found.messages(f"{at}.request", request, content.label(request))
            key = f"{name}/{request}" if request else name
            if key in seen:
                found.duplicate(at, key)
            elif not request:
                for other in seen:
                    if other.startswith(name + "/"):
                        found.duplicate(at, name)
            seen.add(key)
        if name not in known:
            says = "must be one of the names in pod.spec.resourceClaims"
            listed = f": {', '.join(sorted(known))}" if known else " which is empty"
            found.not_found(at, name, says + listed)
