"""What expressions see, and how one is evaluated (apiserver `plugin/cel/activation.go`, `composition.go`).

Data stays plain JSON: the object is neither copied nor converted. Variables are evaluated on first use,
once per round of expressions; a round is the match conditions, one mutation, or all validations of a
policy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from policygen.admission.attributes import Attributes
from policygen.admission.compilation import Expression
from policygen.admission.matching import Match
from policygen.admission.native import check_size
from policygen.admission.request import AdmissionRequest, Object
from policygen.cel.budget import PER_CALL_LIMIT, Budget, OutOfBudgetError
from policygen.cel.errors import EvalError
from policygen.cel.values import to_json
from policygen.diagnostics import PolicygenError
from policygen.kube import catalog
from policygen.kube.decode_errors import DecodeError
from policygen.kube.names import GroupVersionKind, GroupVersionResource
from policygen.kube.roundtrip import round_trip

_MAX_SHOWN: Final = 10_000
"""Values inside one variable; more is nothing for people to read."""

_NAMESPACE_METADATA: Final = (
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
)


class ExpressionError(Exception):
    """An expression did not give a value; the text is the server's."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the expressions of one invocation are about."""

    object: Object | None
    old_object: Object | None
    request: Mapping[str, Any]
    namespace: Mapping[str, Any] | None = None
    params: Any = None
    authorizer: Mapping[str, Any] = field(default_factory=dict)
    """The variables `authorizer` and `authorizer.requestResource`."""


class Variables(Mapping[str, Any]):
    """The value of `variables`: every entry is evaluated when it is first read, errors are kept too."""

    __slots__ = ("_activation", "_budget", "_expressions", "known")
    cel_type_name = "kubernetes.variables"

    def __init__(
        self, expressions: Sequence[Expression], activation: Mapping[str, Any], budget: Budget
    ) -> None:
        self._expressions = {expression.name: expression for expression in expressions}
        self._activation = activation
        self._budget = budget
        self.known: dict[str, Any] = {}
        """What was read so far, an `EvalError` where it failed."""

    def __getitem__(self, name: str) -> Any:
        known = self.known
        if name not in known:
            known[name] = self._evaluate(self._expressions[name])
        value = known[name]
        if isinstance(value, EvalError):
            raise value
        return value

    def _evaluate(self, expression: Expression) -> Any:
        if expression.program is None:
            return EvalError(f'composited variable "{expression.name}" fails to compile: {expression.error}')
        try:
            return expression.program.evaluate(self._activation, limit=PER_CALL_LIMIT, budget=self._budget)
        except OutOfBudgetError as error:
            return error
        except EvalError as error:
            return EvalError(f'composited variable "{expression.name}" fails to evaluate: {error.message}')

    def __iter__(self) -> Iterator[str]:
        return iter(self._expressions)

    def __len__(self) -> int:
        return len(self._expressions)


@dataclass(slots=True)
class Round:
    """One round of expressions over one subject with one budget."""

    subject: Subject
    variables: Sequence[Expression]
    budget: Budget
    activation: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        subject = self.subject
        self.activation = {
            "object": subject.object,
            "oldObject": subject.old_object,
            "request": subject.request,
            "params": subject.params,
            "namespaceObject": subject.namespace,
            **subject.authorizer,
        }
        self.activation["variables"] = Variables(self.variables, self.activation, self.budget)

    def evaluate(self, expression: Expression) -> Any:
        """The value; `ExpressionError` when there is none, `OutOfBudgetError` when the round is over."""
        if expression.program is None:
            raise ExpressionError(expression.error)
        try:
            return expression.program.evaluate(self.activation, limit=PER_CALL_LIMIT, budget=self.budget)
        except OutOfBudgetError:
            raise
        except EvalError as error:
            text = f"expression '{expression.text}' resulted in error: {error.message}"
            raise ExpressionError(text) from error

    @property
    def values(self) -> Mapping[str, Any]:
        """The variables that were read."""
        variables: Variables = self.activation["variables"]
        return variables.known


def request_data(request: AdmissionRequest, found: Match) -> dict[str, Any]:
    """The variable `request`: an AdmissionReview's request without its objects (`CreateAdmissionRequest`)."""
    user: dict[str, Any] = {}
    if request.user_info.username:
        user["username"] = request.user_info.username
    if request.user_info.uid:
        user["uid"] = request.user_info.uid
    if request.user_info.groups:
        user["groups"] = list(request.user_info.groups)
    if request.user_info.extra:
        user["extra"] = {key: list(values) for key, values in request.user_info.extra.items()}
    data: dict[str, Any] = {
        "uid": "",
        "kind": _kind_data(found.kind),
        "resource": _resource_data(found.resource),
        "requestKind": _kind_data(request.kind),
        "requestResource": _resource_data(request.resource),
        "operation": request.operation,
        "userInfo": user,
        "dryRun": request.dry_run,
        "options": request.options,
    }
    if request.subresource:
        data["subResource"] = data["requestSubResource"] = request.subresource
    if request.name:
        data["name"] = request.name
    if request.namespace:
        data["namespace"] = request.namespace
    return data


def default_options(operation: str) -> Object:
    """The options of a request that sent none."""
    kind = {"CREATE": "CreateOptions", "UPDATE": "UpdateOptions", "DELETE": "DeleteOptions"}.get(operation)
    return {"kind": kind, "apiVersion": "meta.k8s.io/v1"} if kind else {}


def namespace_data(namespace: Object | None, version: str) -> Object | None:
    """The variable `namespaceObject`: what the server shows of a namespace (`CreateNamespaceObject`)."""
    if namespace is None:
        return None
    schema = catalog.load(version).get("v1", "Namespace")
    try:
        typed = namespace if schema is None else round_trip(namespace, schema)
    except DecodeError:
        typed = namespace
    metadata = typed.get("metadata") or {}
    shown = {key: metadata[key] for key in _NAMESPACE_METADATA if key in metadata}
    return {"metadata": shown, "spec": typed.get("spec") or {}, "status": typed.get("status") or {}}


def shown(variables: Mapping[str, Any]) -> dict[str, Any]:
    """Variables as JSON, for people; an error is its text."""
    found: dict[str, Any] = {}
    for name, value in variables.items():
        try:
            check_size(value, _MAX_SHOWN)
            found[name] = f"error: {value.message}" if isinstance(value, EvalError) else to_json(value)
        except PolicygenError as error:
            found[name] = f"error: {error.diagnostics[0].message}"
        except EvalError as error:
            found[name] = f"error: {error.message}"
    return found


def in_version(obj: Object | None, kind: GroupVersionKind) -> Object | None:
    """The object under another version of its kind. Only the name of the version changes."""
    if obj is None or obj.get("apiVersion") == kind.api_version:
        return obj
    return {**obj, "apiVersion": kind.api_version}


def subject_of(
    attributes: Attributes,
    found: Match,
    *,
    namespace: Object | None,
    params: Any,
    authorizer: Mapping[str, Any],
    request: Mapping[str, Any] | None = None,
) -> Subject:
    """The subject of an invocation that matched as this resource and kind.

    `request` is the variable of that name where it is known already.
    """
    return Subject(
        object=in_version(attributes.object, found.kind),
        old_object=in_version(attributes.request.old_object, found.kind),
        request=request_data(attributes.request, found) if request is None else request,
        namespace=namespace,
        params=params,
        authorizer=authorizer,
    )


def _kind_data(kind: GroupVersionKind) -> dict[str, str]:
    return {"group": kind.group, "version": kind.version, "kind": kind.kind}


def _resource_data(resource: GroupVersionResource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.resource}
