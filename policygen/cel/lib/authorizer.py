"""The authorizer of admission policies (apiserver `library/authz.go`), driven by a table of checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from policygen.cel import types
from policygen.cel.cost import LIST_COST, STRING_FACTOR, STRUCT_COST, size_of
from policygen.cel.decls import Binding, CallEstimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError, NoSuchOverloadError
from policygen.cel.types import Type
from policygen.cel.values import Value
from policygen.kube.names import dns_label, dns_subdomain

_CHECK_COST: Final = 350_000

AUTHORIZER_TYPE: Final = types.struct("kubernetes.authorization.Authorizer")
PATH_CHECK_TYPE: Final = types.struct("kubernetes.authorization.PathCheck")
GROUP_CHECK_TYPE: Final = types.struct("kubernetes.authorization.GroupCheck")
RESOURCE_CHECK_TYPE: Final = types.struct("kubernetes.authorization.ResourceCheck")
DECISION_TYPE: Final = types.struct("kubernetes.authorization.Decision")


class _ReceiverOnly:
    """A value that only takes calls: upstream refuses to compare it."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        raise NoSuchOverloadError

    def __hash__(self) -> int:
        return id(self)

    def __str__(self) -> str:
        return "no such overload"


@dataclass(frozen=True, slots=True, eq=False)
class Authorizer(_ReceiverOnly):
    """Answers for one user from a table.

    Keys are `user|verb|group|resource|subresource|namespace|name` and `user|verb|path`; true allows and
    false denies, what is absent gets no opinion.
    """

    cel_type_name: ClassVar[str] = "kubernetes.authorization.Authorizer"
    checks: Mapping[str, bool]
    user: str

    def decide(self, *parts: str) -> Decision:
        """The answer for a verb and what it is about."""
        return Decision(self.checks.get("|".join((self.user, *parts))))

    def resource_check(
        self, group: str, resource: str, subresource: str = "", namespace: str = "", name: str = ""
    ) -> ResourceCheck:
        """A check that is filled in, such as `authorizer.requestResource`."""
        return ResourceCheck(self, group, resource, subresource, namespace, name)


@dataclass(frozen=True, slots=True, eq=False)
class PathCheck(_ReceiverOnly):
    """A check of a path that is no resource."""

    cel_type_name: ClassVar[str] = "kubernetes.authorization.PathCheck"
    authorizer: Authorizer
    path: str


@dataclass(frozen=True, slots=True, eq=False)
class GroupCheck(_ReceiverOnly):
    """An API group whose resources can be checked."""

    cel_type_name: ClassVar[str] = "kubernetes.authorization.GroupCheck"
    authorizer: Authorizer
    group: str


@dataclass(frozen=True, slots=True, eq=False)
class ResourceCheck(_ReceiverOnly):
    """A check of a resource. Selectors are kept but the table does not know them."""

    cel_type_name: ClassVar[str] = "kubernetes.authorization.ResourceCheck"
    authorizer: Authorizer
    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Decision(_ReceiverOnly):
    """What an authorizer said: allowed, denied, or no opinion."""

    cel_type_name: ClassVar[str] = "kubernetes.authorization.Decision"
    allowed: bool | None

    @property
    def reason(self) -> str:
        """Why."""
        return {True: "rule", False: "denied", None: ""}[self.allowed]


def path(authorizer: Authorizer, text: str) -> PathCheck:
    """A check of a path."""
    if not text.strip():
        raise EvalError("path must not be empty")
    return PathCheck(authorizer, text)


def group(authorizer: Authorizer, name: str) -> GroupCheck:
    """An API group."""
    return GroupCheck(authorizer, name)


def service_account(authorizer: Authorizer, namespace: str, name: str) -> Authorizer:
    """The authorizer for a service account instead."""
    if dns_subdomain(name):
        raise EvalError("Invalid service account name")
    if dns_label(namespace):
        raise EvalError("Invalid service account namespace")
    return Authorizer(authorizer.checks, f"system:serviceaccount:{namespace}:{name}")


def resource(check: GroupCheck, name: str) -> ResourceCheck:
    """A check of a resource."""
    if not name.strip():
        raise EvalError("resource must not be empty")
    return ResourceCheck(check.authorizer, check.group, name)


def _set(attribute: str) -> Binding:
    def bind(check: ResourceCheck, text: str) -> ResourceCheck:
        changed: dict[str, Any] = {attribute: text}
        return replace(check, **changed)

    return bind


def check_path(check: PathCheck, verb: str) -> Decision:
    """The answer for a verb on a path."""
    return check.authorizer.decide(verb, check.path)


def check_resource(check: ResourceCheck, verb: str) -> Decision:
    """The answer for a verb on a resource."""
    return check.authorizer.decide(
        verb, check.group, check.resource, check.subresource, check.namespace, check.name
    )


def allowed(decision: Decision) -> bool:
    """Whether it is allowed."""
    return decision.allowed is True


def reason(decision: Decision) -> str:
    """Why, or the empty text."""
    return decision.reason


def errored(_decision: Decision) -> bool:
    """Whether the authorizer failed; a table never does."""
    return False


def error(_decision: Decision) -> str:
    """How it failed, or the empty text."""
    return ""


def _selector_size(size: Range) -> Range:
    requirements = size.scaled(0.5).scaled(LIST_COST + STRUCT_COST)
    return Range(LIST_COST, LIST_COST) + size.scaled(STRING_FACTOR) + requirements


def _selector_cost(args: Sequence[Value], _result: Value) -> int:
    size = size_of(args[1])
    return _selector_size(Range(size, size)).greatest


def _estimate_selector(args: Sequence[Estimated]) -> CallEstimate:
    return CallEstimate(_selector_size(args[1].size_or_any))


def _member(
    name: str, overload: str, params: tuple[Type, ...], result: Type, bind: Binding, *, doc: str, example: str
) -> FunctionDecl:
    return FunctionDecl(
        name,
        (Overload(overload, params, result, bind, member=True, doc=doc, examples=(Example(example),)),),
    )


_S: Final = types.STRING
_R: Final = RESOURCE_CHECK_TYPE
_POD: Final = "authorizer.group('').resource('pods')"


def _part(name: str, attribute: str, doc: str) -> FunctionDecl:
    return _member(
        name,
        f"resourcecheck_{name}",
        (_R, _S),
        _R,
        _set(attribute),
        doc=doc,
        example=f"!{_POD}.{name}('x').check('nothing').allowed()",
    )


def _selector(name: str, attribute: str, doc: str) -> FunctionDecl:
    return FunctionDecl(
        name,
        (
            Overload(
                f"authorizer_{name.lower()}",
                (_R, _S),
                _R,
                _set(attribute),
                member=True,
                cost=_selector_cost,
                estimate=_estimate_selector,
                doc=doc,
                examples=(Example(f"!{_POD}.{name}('a=b').check('nothing').allowed()"),),
            ),
        ),
    )


FUNCTIONS: Final = (
    _member(
        "path",
        "authorizer_path",
        (AUTHORIZER_TYPE, _S),
        PATH_CHECK_TYPE,
        path,
        doc="a check of a path that is no resource",
        example="!authorizer.path('/nowhere').check('get').allowed()",
    ),
    _member(
        "group",
        "authorizer_group",
        (AUTHORIZER_TYPE, _S),
        GROUP_CHECK_TYPE,
        group,
        doc="an API group; the core group is the empty text",
        example="!authorizer.group('apps').resource('deployments').check('nothing').allowed()",
    ),
    _member(
        "serviceAccount",
        "authorizer_serviceaccount",
        (AUTHORIZER_TYPE, _S, _S),
        AUTHORIZER_TYPE,
        service_account,
        doc="the authorizer for a service account, by namespace and name, instead of the user",
        example="!authorizer.serviceAccount('a', 'b').path('/nowhere').check('get').allowed()",
    ),
    _member(
        "resource",
        "groupcheck_resource",
        (GROUP_CHECK_TYPE, _S),
        _R,
        resource,
        doc="a check of a resource",
        example=f"!{_POD}.check('nothing').allowed()",
    ),
    _part("subresource", "subresource", "the check for a subresource"),
    _part("namespace", "namespace", "the check in a namespace"),
    _part("name", "name", "the check for one object"),
    FunctionDecl(
        "check",
        (
            Overload(
                "pathcheck_check",
                (PATH_CHECK_TYPE, _S),
                DECISION_TYPE,
                check_path,
                member=True,
                cost=_CHECK_COST,
                doc="the decision for a verb",
                examples=(Example(f"{_POD}.check('nothing').reason() == ''"),),
            ),
            Overload(
                "resourcecheck_check", (_R, _S), DECISION_TYPE, check_resource, member=True, cost=_CHECK_COST
            ),
        ),
    ),
    _member(
        "errored",
        "decision_errored",
        (DECISION_TYPE,),
        types.BOOL,
        errored,
        doc="whether the authorizer failed",
        example=f"!{_POD}.check('nothing').errored()",
    ),
    _member(
        "error",
        "decision_error",
        (DECISION_TYPE,),
        _S,
        error,
        doc="how the authorizer failed, or the empty text",
        example=f"{_POD}.check('nothing').error() == ''",
    ),
    _member(
        "allowed",
        "decision_allowed",
        (DECISION_TYPE,),
        types.BOOL,
        allowed,
        doc="whether it is allowed; no opinion is not",
        example=f"!{_POD}.check('nothing').allowed()",
    ),
    _member(
        "reason",
        "decision_reason",
        (DECISION_TYPE,),
        _S,
        reason,
        doc="why the authorizer decided so, or the empty text",
        example=f"{_POD}.check('nothing').reason() == ''",
    ),
    _selector(
        "fieldSelector",
        "field_selector",
        "the check with a field selector; one that does not parse counts as none",
    ),
    _selector(
        "labelSelector",
        "label_selector",
        "the check with a label selector; one that does not parse counts as none",
    ),
)
