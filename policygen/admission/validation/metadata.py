"""Rules of `metadata` (apimachinery `pkg/api/validation/objectmeta.go`, `apis/meta/v1/validation`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from policygen.admission.validation import content
from policygen.admission.validation.content import Messages
from policygen.admission.validation.field import FieldErrors, Object, mapping
from policygen.kube.names import byte_length

IMMUTABLE: Final = "field is immutable"
_ANNOTATIONS_LIMIT: Final = 256 * 1024
_STANDARD_FINALIZERS: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})

NameRule = Callable[[str], Messages]


def validate(
    found: FieldErrors,
    metadata: Mapping[str, Any],
    name_rule: NameRule = content.subdomain,
    *,
    namespaced: bool,
    path: str = "metadata",
    core: bool = True,
) -> None:
    """`ValidateObjectMeta`; with `core` also what the core group asks of finalizers."""
    generate, name = metadata.get("generateName"), metadata.get("name")
    if generate:
        found.messages(f"{path}.generateName", generate, name_rule(content.masked(generate)))
    if not name:
        if not generate:
            found.required(f"{path}.name", "name or generateName is required")
    else:
        found.messages(f"{path}.name", name, name_rule(name))
    namespace = metadata.get("namespace")
    if namespaced:
        if not namespace:
            found.required(f"{path}.namespace")
        else:
            found.messages(f"{path}.namespace", namespace, content.label(namespace))
    elif namespace:
        found.forbidden(f"{path}.namespace", "not allowed on this type")
    generation = metadata.get("generation")
    if generation is not None and generation < 0:
        found.invalid(f"{path}.generation", generation, content.NEGATIVE)
    _common(found, metadata, path)
    finalizers = metadata.get("finalizers")
    if finalizers:
        _finalizers(found, finalizers, f"{path}.finalizers", core=core)


def validate_update(
    found: FieldErrors, metadata: Mapping[str, Any], old: Mapping[str, Any], path: str = "metadata"
) -> None:
    """`ValidateObjectMetaUpdate`; the resource version, which is not ours to know, is not asked for."""
    for field in ("name", "namespace"):
        if (metadata.get(field) or "") != (old.get(field) or ""):
            found.invalid(f"{path}.{field}", metadata.get(field) or "", IMMUTABLE)
    _common(found, metadata, path)


def _common(found: FieldErrors, metadata: Mapping[str, Any], path: str) -> None:
    if metadata.get("labels"):
        labels(found, metadata["labels"], f"{path}.labels")
    if metadata.get("annotations"):
        annotation_map(found, metadata["annotations"], f"{path}.annotations")
    if metadata.get("ownerReferences"):
        _owners(found, metadata["ownerReferences"], f"{path}.ownerReferences")


_NOT_IN_TEMPLATES: Final = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "ownerReferences", "finalizers",
    "managedFields",
)  # fmt: skip


def template(found: FieldErrors, metadata: Mapping[str, Any], path: str) -> None:
    """`ValidateTemplateObjectMeta`: nothing but labels and annotations may be set."""
    annotation_map(found, metadata.get("annotations") or {}, f"{path}.annotations")
    labels(found, metadata.get("labels") or {}, f"{path}.labels")
    for field in _NOT_IN_TEMPLATES:
        if metadata.get(field):
            found.forbidden(f"{path}.{field}", "cannot be set")


def labels(found: FieldErrors, given: Mapping[str, str], path: str) -> None:
    """`ValidateLabels`."""
    for key, value in given.items():
        label_name(found, key, path)
        messages = content.label_value(value)
        if messages:
            found.messages(path, value, messages)


def label_name(found: FieldErrors, name: str, path: str) -> None:
    """`ValidateLabelName`."""
    messages = content.qualified_name(name)
    if messages:
        found.messages(path, name, messages)


def annotation_map(found: FieldErrors, given: Mapping[str, str], path: str) -> None:
    """`ValidateAnnotations`."""
    size = 0
    for key, value in given.items():
        messages = content.qualified_name(key.lower())
        if messages:
            found.messages(path, key, messages)
        size += len(key) + len(value)
    if size * 4 > _ANNOTATIONS_LIMIT:
        size = sum(byte_length(key) + byte_length(value) for key, value in given.items())
        if size > _ANNOTATIONS_LIMIT:
            found.too_long(path, _ANNOTATIONS_LIMIT)


def _owners(found: FieldErrors, owners: list[Object], path: str) -> None:
    controller = ""
    for index, owner in enumerate(owners):
        at = f"{path}[{index}]"
        version = (owner.get("apiVersion") or "").rpartition("/")[2]
        if not version:
            found.invalid(f"{at}.apiVersion", owner.get("apiVersion") or "", "version must not be empty")
        for field in ("kind", "name", "uid"):
            if not owner.get(field):
                found.invalid(f"{at}.{field}", "", "must not be empty")
        if owner.get("controller"):
            if controller:
                pair = f"{controller} and {owner.get('name', '')}"
                says = 'Only one reference can have Controller set to true. Found "true" in references for '
                found.invalid(path, owners, says + pair)
            controller = owner.get("name", "")


def _finalizers(found: FieldErrors, finalizers: list[str], path: str, *, core: bool) -> None:
    for name in finalizers:
        label_name(found, name, path)
    if {"orphan", "foregroundDeletion"} <= set(finalizers):
        says = "finalizer orphan and foregroundDeletion cannot be both set"
        found.invalid(path, finalizers, says)
    if core:
        for index, name in enumerate(finalizers):
            kube_finalizer(found, name, f"{path}[{index}]")


def kube_finalizer(found: FieldErrors, name: str, path: str) -> None:
    """`validateKubeFinalizerName`: a name without a domain must be one of the server's own."""
    if "/" not in name and name not in _STANDARD_FINALIZERS:
        found.invalid(path, name, "name is neither a standard finalizer name nor is it fully qualified")


def selector(found: FieldErrors, given: Any, path: str, *, strict_values: bool = True) -> None:
    """`ValidateLabelSelector`."""
    if given is None:
        return
    labels(found, mapping(given.get("matchLabels")), f"{path}.matchLabels")
    for index, requirement in enumerate(given.get("matchExpressions") or ()):
        _requirement(found, requirement, f"{path}.matchExpressions[{index}]", strict_values=strict_values)


def _requirement(found: FieldErrors, requirement: Object, path: str, *, strict_values: bool) -> None:
    values = requirement.get("values") or []
    match requirement.get("operator"):
        case "In" | "NotIn":
            if not values:
                says = "must be specified when `operator` is 'In' or 'NotIn'"
                found.required(f"{path}.values", says)
        case "Exists" | "DoesNotExist":
            if values:
                says = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
                found.forbidden(f"{path}.values", says)
        case other:
            found.invalid(f"{path}.operator", other or "", "not a valid selector operator")
    label_name(found, requirement.get("key") or "", f"{path}.key")
    if strict_values:
        for index, value in enumerate(values):
            found.messages(f"{path}.values[{index}]", value, content.label_value(value))


def shown_selector(given: Object | None) -> Object | None:
    """A label selector as Go prints it: fields in the order of its type, labels by name."""
    if given is None:
        return None
    shown: Object = {}
    if given.get("matchLabels"):
        shown["matchLabels"] = dict(sorted(given["matchLabels"].items()))
    if given.get("matchExpressions"):
        order = ("key", "operator", "values")
        shown["matchExpressions"] = [
            {name: term[name] for name in order if name in term} for term in given["matchExpressions"]
        ]
    return shown
