"""MutatingAdmissionPolicy: the order of invocations, budgets, failures, reinvocation.

Apiserver `generic/policy_dispatcher.go` chooses the invocations (policy × binding × parameter object),
`mutating/dispatcher.go` runs them. What each may do:

- a configuration or run-time error counts by the policy's `failurePolicy`; under `Fail` the request is
  refused, with the first error as its message, after all policies have run;
- an error that is a status (a result that does not decode) ends the request at once, whatever the
  failurePolicy;
- every mutation has a budget of its own, sees the object as the one before left it, and is followed by
  defaulting;
- a change asks for a second pass over the whole chain; in it run again those policies with `IfNeeded`
  that had run before the last change, their own included.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from policygen.admission import params, patch
from policygen.admission.activation import (
    ExpressionError,
    Round,
    Subject,
    in_version,
    namespace_data,
    shown,
    subject_of,
)
from policygen.admission.attributes import Attributes
from policygen.admission.authorizer import authorizer_for
from policygen.admission.cluster import Cluster
from policygen.admission.compilation import CompiledPolicy, Expression
from policygen.admission.conditions import check_conditions
from policygen.admission.matching import Match, MatchError, NoMatch, is_exempt, match
from policygen.admission.outcome import Denied, MutationError, Verdict, VerdictKind
from policygen.admission.params import ConfigurationError
from policygen.admission.policy import Binding, BoundPolicy, Policy
from policygen.admission.request import Object
from policygen.cel.budget import RUNTIME_CEL_COST_BUDGET, Budget, OutOfBudgetError
from policygen.kube.names import GroupVersionKind
from policygen.kube.schema import KindSchema
from policygen.merge.diff import diff

Key = tuple[str, str, str]
"""Policy, binding, parameter object: what is remembered between passes."""


@dataclass(frozen=True, slots=True)
class Invocation:
    """One policy under one binding with one parameter object, on a request that matches."""

    policy: Policy
    binding: Binding
    param: Object | None
    found: Match
    requested: GroupVersionKind
    """The kind that the client sent."""

    @property
    def key(self) -> Key:
        """Its identity across passes."""
        return self.policy.name, self.binding.name, params.param_name(self.param)


@dataclass(slots=True)
class Reinvocation:
    """What the second pass must repeat (apiserver `mutating/reinvocationcontext.go`)."""

    invoked: set[Key] = field(default_factory=set)
    again: set[Key] = field(default_factory=set)
    last_output: Object | None = None
    wanted: bool = False

    def require(self) -> None:
        """The object changed: repeat what ran before the change."""
        self.again |= self.invoked
        self.invoked = set()
        self.wanted = True


@dataclass(frozen=True, slots=True)
class PolicyFailure:
    """An error that `failurePolicy: Fail` turns into a refusal."""

    policy: Policy
    binding: Binding | None
    message: str
    reason: str

    def __str__(self) -> str:
        binding = f" with binding '{self.binding.name}'" if self.binding is not None else ""
        return f"policy '{self.policy.name}'{binding} denied request: {self.message}"


@dataclass(slots=True)
class Pass:
    """One pass over the mutating policies: what came of it."""

    explain: bool = False
    is_again: bool = False
    failures: list[PolicyFailure] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    finished: Object | None = None
    """The object as the last mutation left it."""

    def fail(self, policy: Policy, binding: Binding | None, message: str, reason: str) -> None:
        """Keep a failure if the policy's `failurePolicy` says so."""
        if policy.failure_policy == "Fail":
            self.failures.append(PolicyFailure(policy, binding, message, reason))

    def verdict(
        self, policy: Policy, binding: Binding | None, kind: VerdictKind, detail: str = "", **more: Any
    ) -> None:
        """Note what a policy did."""
        if self.is_again and kind in ("not-matched", "skipped"):
            return  # said in the first pass
        name = binding.name if binding is not None else ""
        ignored = kind == "failed" and policy.failure_policy == "Ignore"
        self.verdicts.append(
            Verdict(policy.name, name, kind, detail, mutating=policy.mutating, ignored=ignored, **more)
        )


def dispatch(attributes: Attributes, cluster: Cluster, again: Reinvocation, current: Pass) -> Object | None:
    """Run the mutating policies once over and return the object. Raises `Denied`."""
    if is_exempt(attributes):
        return attributes.object
    invocations = list(choose(cluster.mutating_policies, attributes, cluster, current))
    obj = attributes.object
    if invocations:
        obj = _run(invocations, attributes, cluster, again, current)
    if current.failures:
        raise refusal(current.failures)
    return obj


def refusal(failures: list[PolicyFailure]) -> Denied:
    """The first failure is the message, all of them are causes."""
    messages = tuple(map(str, failures))
    return Denied(403, failures[0].reason, messages[0], messages)


def choose(
    bound: tuple[BoundPolicy, ...], attributes: Attributes, cluster: Cluster, current: Pass
) -> Iterator[Invocation]:
    """The invocations of a request, in order."""
    for entry in bound:
        policy = entry.policy
        try:
            found = match(policy.match, attributes, cluster)
            if isinstance(found, NoMatch):
                current.verdict(policy, None, "not-matched", f"matchConstraints.{found.constraint}")
                continue
            params.check_param_kind(policy, cluster)
        except (MatchError, ConfigurationError) as error:
            message = f"failed to configure policy: {error}"
            current.fail(policy, None, message, "Forbidden")
            current.verdict(policy, None, "failed", message)
            continue
        if not entry.bindings:
            current.verdict(policy, None, "not-matched", "no binding")
        for binding in entry.bindings:
            yield from _bind(policy, binding, found, attributes=attributes, cluster=cluster, current=current)


def _bind(
    policy: Policy, binding: Binding, found: Match, *, attributes: Attributes, cluster: Cluster, current: Pass
) -> Iterator[Invocation]:
    try:
        if binding.match is not None:
            bound = match(binding.match, attributes, cluster)
            if isinstance(bound, NoMatch):
                detail = f"matchResources.{bound.constraint} of the binding"
                current.verdict(policy, binding, "not-matched", detail)
                return
        chosen = params.collect_params(policy, binding.param_ref, attributes.namespace, cluster)
    except (MatchError, ConfigurationError) as error:
        message = f"failed to configure binding: {error}"
        current.fail(policy, binding, message, "Forbidden")
        current.verdict(policy, binding, "failed", message)
        return
    if not chosen:
        current.verdict(policy, binding, "not-matched", "no parameter object")
    for param in chosen:
        yield Invocation(policy, binding, param, found, attributes.kind)


def request_namespace(attributes: Attributes, cluster: Cluster) -> Object | None:
    """The variable `namespaceObject`; `Denied` when the namespace does not exist."""
    request = attributes.request
    name = request.namespace
    if not name or (request.kind.kind == "Namespace" and not request.kind.group):
        return None
    views = cluster.namespace_views
    if name not in views:
        views[name] = namespace_data(cluster.namespace(name), cluster.version)
    found = views[name]
    if found is None:
        raise Denied(404, "NotFound", f'namespaces "{name}" not found')
    return found


def _run(
    invocations: list[Invocation],
    attributes: Attributes,
    cluster: Cluster,
    again: Reinvocation,
    current: Pass,
) -> Object | None:
    is_again = attributes.is_reinvocation
    if is_again and again.last_output != attributes.object:
        again.require()  # an in-tree plugin has changed the object since
    namespace = request_namespace(attributes, cluster)
    authorizer = authorizer_for(attributes, cluster)
    dirty = False
    known: dict[Match, Mapping[str, Any]] = {}
    for invocation in invocations:
        compiled = cluster.compiled(invocation.policy)
        subject = subject_of(
            attributes,
            invocation.found,
            namespace=namespace,
            params=invocation.param,
            authorizer=authorizer,
            request=known.get(invocation.found),
        )
        known[invocation.found] = subject.request
        result = invoke(
            compiled, subject, invocation, cluster, again=again if is_again else None, current=current
        )
        if result is None:
            continue
        if result.ran:
            dirty = True
        if result.object is not subject.object and result.object != subject.object:
            again.require()
        if result.ran:
            obj = in_version(result.object, attributes.kind)
            attributes = attributes.with_object(obj)
        if invocation.policy.reinvoke:
            again.invoked.add(invocation.key)
    if dirty:
        again.require()
    again.last_output = attributes.object
    return attributes.object


@dataclass(frozen=True, slots=True)
class Result:
    """What the mutations of one invocation left."""

    object: Object | None
    ran: bool
    """Whether at least one mutation was applied, changing anything or not."""


def invoke(
    compiled: CompiledPolicy,
    subject: Subject,
    invocation: Invocation,
    cluster: Cluster,
    *,
    again: Reinvocation | None,
    current: Pass,
) -> Result | None:
    """One invocation: conditions, then mutations. None when it did not get as far as its mutations."""
    policy, binding = invocation.policy, invocation.binding
    about = {"param": params.param_name(invocation.param), "reinvocation": again is not None}
    conditions = check_conditions(compiled, subject)
    if not conditions.matches:
        read = shown(conditions.variables) if current.explain else {}
        if conditions.error or conditions.ignored:
            message = conditions.error or conditions.ignored
            if conditions.error:
                current.fail(policy, binding, message, "Invalid")
            current.verdict(policy, binding, "failed", message, variables=read, **about)
        else:
            detail = f"matchConditions `{conditions.failed}`"
            current.verdict(policy, binding, "skipped", detail, variables=read, **about)
        return None
    if again is not None and invocation.key not in again.again:
        return None
    run = MutationRun(
        compiled,
        subject,
        cluster,
        invocation.found,
        invocation.requested,
        explain=current.explain,
        finished=current.finished,
    )
    if subject.object is not None:
        run.all()
    for error in run.errors:
        current.fail(policy, binding, error, "Invalid")
    kind: VerdictKind = "failed" if run.errors else "mutated" if run.changed else "unchanged"
    current.verdict(
        policy,
        binding,
        kind,
        run.errors[0] if run.errors else "",
        errors=tuple(run.errors),
        variables=run.variables,
        changes=tuple(diff(subject.object, run.object)) if current.explain and run.changed else (),
        **about,
    )
    current.finished = run.finished
    return Result(run.object, run.ran)


@dataclass(slots=True)
class MutationRun:
    """The mutations of one invocation, in order. A failing one is noted and the next goes on."""

    compiled: CompiledPolicy
    subject: Subject
    cluster: Cluster
    found: Match
    requested: GroupVersionKind
    default: bool = True
    explain: bool = False
    finished: Object | None = None
    """The object that the mutation before this one left, if there was one."""
    object: Object | None = None
    errors: list[str] = field(default_factory=list)
    ran: bool = False
    variables: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.object = self.subject.object

    @property
    def changed(self) -> bool:
        """Whether the object is another one now."""
        return self.object is not self.subject.object and self.object != self.subject.object

    def all(self, *, stop_at_status: bool = True) -> None:
        """Run them all. An error that is a status (`Denied`) ends it, or is noted like the others."""
        assert self.object is not None, "there is an object to patch"
        schema = self.cluster.schema(self.found.kind)
        for expression, mutation in zip(self.compiled.mutations, self.compiled.policy.mutations, strict=True):
            try:
                self.object = self._one(expression, mutation.patch_type, self.object, schema)
                self.ran = True
            except (ExpressionError, MutationError) as error:
                self.errors.append(str(error))
            except OutOfBudgetError as error:
                self.errors.append(error.message)
            except Denied as denied:
                if stop_at_status or denied.reason == "ServerPanic":
                    raise
                self.errors.append(denied.message)

    def _one(self, expression: Expression, patch_type: str, obj: Object, schema: KindSchema | None) -> Object:
        given = self.subject
        subject = Subject(
            obj, given.old_object, given.request, given.namespace, given.params, given.authorizer
        )
        current = Round(subject, self.compiled.variables, Budget(RUNTIME_CEL_COST_BUDGET))
        try:
            value = current.evaluate(expression)
        finally:
            if self.explain:
                self.variables.update(shown(current.values))
        data = (obj, given.old_object, given.params, given.namespace, given.request)
        if patch_type == "JSONPatch":
            schema = schema or patch.FREE
            patched = patch.json_patch(value, data, obj, schema)
        else:
            if schema is None:
                raise patch.unknown_kind(self.found.kind)
            patched = patch.apply_configuration(value, data, obj, schema)
        if patched is obj and obj is self.finished:
            return obj  # unchanged, and it has been through the round trip and defaulting
        self.finished = patch.finish(patched, schema, self.requested, with_defaults=self.default)
        return self.finished
