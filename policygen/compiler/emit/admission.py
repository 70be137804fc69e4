"""Rules → MutatingAdmissionPolicy with binding, and ValidatingAdmissionPolicy for what is rejected, reported
or, under `rollout: observe`, only told.

One policy a rule and shape of workload: pods, the built-in kinds with `spec.template`, CronJobs, and one for
each custom kind. Names are `<spec>.<rule>` with a suffix behind a dot, which cannot occur in either.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from policygen.compiler import ir
from policygen.compiler.bundle import Manifest, Trace
from policygen.compiler.emit.admission_choices import Choice, failure_policy, reinvocation_policy
from policygen.compiler.ir_checks import check_rules, operations
from policygen.compiler.ir_rules import lower_rules
from policygen.compiler.model import Model
from policygen.compiler.model_actions import Rule
from policygen.compiler.model_match import NamespaceMatch, Requirement
from policygen.compiler.plan import predicates
from policygen.compiler.plan.draft import Check, Draft
from policygen.compiler.plan.planner import plan
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import none_of, string
from policygen.compiler.plan.variables import Variable, Variables
from policygen.compiler.workloads import WORKLOADS, Workload
from policygen.diagnostics import Diagnostics
from policygen.kube.catalog import Catalog, load

GROUP = "admissionregistration.k8s.io"
NAMESPACE_LABEL = "kubernetes.io/metadata.name"
_VERSIONS = ("v1", "v1beta1", "v1alpha1")
_REFERENCE = re.compile(r"\bvariables\.([A-Za-z_][A-Za-z0-9_]*)")


def emit_rules(model: Model, found: Diagnostics) -> tuple[Manifest, ...]:
    """The admission policies of a spec, in the order of its rules."""
    catalog = load(model.kubernetes)
    nodes = lower_rules(model.rules)
    check_rules(model, nodes, found)
    return tuple(item for rule in model.rules for item in _rule(model, rule, nodes[rule.name], catalog))


def targets(rule: Rule) -> list[Target]:
    """The workloads of a rule, grouped by where their pods stand."""
    groups: dict[tuple[object, ...], list[Workload]] = {}
    for kind in rule.match.workloads:
        workload = WORKLOADS[kind]
        groups.setdefault((workload.builtin or kind, workload.templates), []).append(workload)
    found = []
    for group in groups.values():
        handled = {operation for workload in group for operation in operations(rule, workload)}
        if handled:
            found.append(Target(tuple(group), tuple(sorted(handled))))
    return found


@dataclass(frozen=True, slots=True)
class _Planned:
    """A rule for one target, ready to be written down."""

    model: Model
    rule: Rule
    target: Target
    catalog: Catalog
    conditions: tuple[predicates.Condition, ...]
    variables: tuple[Variable, ...]
    drafts: tuple[Draft, ...]
    failure: Choice
    reinvocation: Choice

    @property
    def name(self) -> str:
        """The name of the mutating policy, to which validating ones add a suffix."""
        base = f"{self.model.name}.{self.rule.name}"
        if self.target.is_pod:
            return base
        kinds = self.target.workloads
        template = kinds[0].single == ("spec", "template")
        return f"{base}.{'templates' if template else kinds[0].plural}"


def _rule(model: Model, rule: Rule, nodes: Sequence[ir.Node], catalog: Catalog) -> Iterable[Manifest]:
    failure, again = failure_policy(rule, nodes), reinvocation_policy(rule.match, nodes)
    for target in targets(rule):
        variables = Variables()
        if target.single is None:
            origin = ir.Origin("match", rule.match.span)
            test = target.templates(lambda pod, target=target: predicates.holds(rule.match, target, pod))  # type: ignore[misc]
            variables.add("templates", test, (origin,))
        drafts = plan(nodes, target, variables, catalog)
        conditions = predicates.conditions(rule.match, target)
        planned = _Planned(
            model,
            rule,
            target,
            catalog,
            tuple(conditions),
            tuple(variables.items),
            tuple(drafts),
            failure,
            again,
        )
        yield from _observed(planned) if rule.rollout == "observe" else _enforced(planned)


def _enforced(planned: _Planned) -> Iterable[Manifest]:
    if planned.drafts:
        yield _mutating(planned)
        yield _binding(planned, "MutatingAdmissionPolicyBinding", planned.name, None)
    rejects = [check for draft in planned.drafts for check in draft.rejects]
    if rejects:
        yield _validating(planned, "reject", rejects, planned.failure.value)
        yield _binding(planned, "ValidatingAdmissionPolicyBinding", f"{planned.name}.reject", ["Deny"])
    reports = [check for draft in planned.drafts for check in draft.reports]
    if reports:
        yield _validating(planned, "report", reports, "Ignore")
        yield _binding(
            planned, "ValidatingAdmissionPolicyBinding", f"{planned.name}.report", ["Warn", "Audit"]
        )


def _observed(planned: _Planned) -> Iterable[Manifest]:
    """The twin that changes nothing: one validation for what each mutation would change or reject."""
    checks: list[Check] = []
    for draft in planned.drafts:
        checks.append(Check(none_of(draft.changes), f"would set {draft.words}", draft.origins))
        for check in draft.rejects:
            said = f"would be rejected: {check.message}"
            checks.append(Check(check.unmutated or check.expression, said, check.origins))
        checks += draft.reports
    if checks:
        yield _validating(planned, "observe", checks, "Ignore")
        name = f"{planned.name}.observe"
        yield _binding(planned, "ValidatingAdmissionPolicyBinding", name, ["Warn", "Audit"])


# --- objects -----------------------------------------------------------------------------------------------


def _mutating(planned: _Planned) -> Manifest:
    mutations = []
    traces = []
    for index, draft in enumerate(planned.drafts):
        field = "applyConfiguration" if draft.form == "ApplyConfiguration" else "jsonPatch"
        mutations.append({"patchType": draft.form, field: {"expression": draft.expression}})
        traces += _traces(("spec", "mutations", index), draft.origins)
    spec, more = _spec(planned, [draft.expression for draft in planned.drafts])
    spec["failurePolicy"] = planned.failure.value
    spec["reinvocationPolicy"] = planned.reinvocation.value
    spec["mutations"] = mutations
    manifest = _object(
        planned,
        "MutatingAdmissionPolicy",
        planned.name,
        _ordered(spec),
        {
            "policygen.dev/failure-policy": f"{planned.failure.value}: {planned.failure.reason}",
            "policygen.dev/reinvocation-policy": (
                f"{planned.reinvocation.value}: {planned.reinvocation.reason}"
            ),
        },
    )
    return _manifest(planned, manifest, (*more, *traces))


def _validating(planned: _Planned, suffix: str, checks: Sequence[Check], failure: str) -> Manifest:
    validations = []
    traces = []
    texts = []
    for index, check in enumerate(checks):
        validation = {
            "expression": check.expression,
            "message": f"rule `{planned.rule.name}`: {check.message}",
        }
        texts.append(check.expression)
        if check.message_expression is not None:
            said = string(f"rule `{planned.rule.name}`: ")
            validation["messageExpression"] = f"{said} + {check.message_expression}"
            texts.append(check.message_expression)
        validations.append(validation)
        traces += _traces(("spec", "validations", index), check.origins)
    spec, more = _spec(planned, texts)
    spec["failurePolicy"] = failure
    spec["validations"] = validations
    name = f"{planned.name}.{suffix}"
    manifest = _object(planned, "ValidatingAdmissionPolicy", name, _ordered(spec), {})
    return _manifest(planned, manifest, (*more, *traces))


def _binding(planned: _Planned, kind: str, name: str, actions: list[str] | None) -> Manifest:
    spec: dict[str, Any] = {"policyName": name}
    if actions is not None:
        spec["validationActions"] = actions
    trace = Trace((), planned.rule.span, f"rule `{planned.rule.name}`")
    return _manifest(planned, _object(planned, kind, name, spec, {}), (trace,))


def _manifest(planned: _Planned, manifest: dict[str, Any], traces: tuple[Trace, ...]) -> Manifest:
    return Manifest(manifest, f"rules/{planned.rule.name}", planned.rule.span, traces)


def _object(
    planned: _Planned, kind: str, name: str, spec: dict[str, Any], annotations: dict[str, str]
) -> dict[str, Any]:
    version = next(version for version in _VERSIONS if planned.catalog.has(f"{GROUP}/{version}", kind))
    told = {"policygen.dev/description": planned.rule.description} if planned.rule.description else {}
    return {
        "apiVersion": f"{GROUP}/{version}",
        "kind": kind,
        "metadata": {"name": name, "annotations": told | annotations},
        "spec": spec,
    }


_FIELD_ORDER = (
    "failurePolicy",
    "reinvocationPolicy",
    "matchConstraints",
    "matchConditions",
    "variables",
    "mutations",
    "validations",
)


def _ordered(spec: dict[str, Any]) -> dict[str, Any]:
    return {key: spec[key] for key in _FIELD_ORDER if key in spec}


def _spec(planned: _Planned, texts: Sequence[str]) -> tuple[dict[str, Any], list[Trace]]:
    """What mutating and validating policies share: constraints, conditions, and the variables in use."""
    traces = [Trace((), planned.rule.span, f"rule `{planned.rule.name}`")]
    spec: dict[str, Any] = {"matchConstraints": _constraints(planned)}
    traces.append(Trace(("spec", "matchConstraints"), planned.rule.match.span, "match"))
    if planned.conditions:
        spec["matchConditions"] = [
            {"name": condition.name, "expression": condition.expression} for condition in planned.conditions
        ]
        traces += [
            Trace(("spec", "matchConditions", index), condition.span, f"condition `{condition.name}`")
            for index, condition in enumerate(planned.conditions)
        ]
    variables = _in_use(planned.variables, texts)
    if variables:
        spec["variables"] = [
            {"name": variable.name, "expression": variable.expression} for variable in variables
        ]
        for index, variable in enumerate(variables):
            traces += _traces(("spec", "variables", index), variable.origins)
    return spec, traces


def _in_use(variables: Sequence[Variable], texts: Sequence[str]) -> list[Variable]:
    """The variables that expressions name, and those that these name, in their order."""
    by_name = {variable.name: variable for variable in variables}
    wanted: set[str] = set()
    queue = list(texts)
    while queue:
        for name in _REFERENCE.findall(queue.pop()):
            if name in by_name and name not in wanted:
                wanted.add(name)
                queue.append(by_name[name].expression)
    return [variable for variable in variables if variable.name in wanted]


def _traces(path: tuple[str | int, ...], origins: Iterable[ir.Origin]) -> list[Trace]:
    return [Trace(path, origin.span, origin.text) for origin in origins]


# --- what is matched ---------------------------------------------------------------------------------------


def _constraints(planned: _Planned) -> dict[str, Any]:
    match = planned.rule.match
    constraints: dict[str, Any] = {
        "namespaceSelector": {"matchExpressions": _namespaces(match.namespaces)},
        "objectSelector": {"matchExpressions": _objects(planned)},
        "resourceRules": _resource_rules(planned.rule, planned.target),
    }
    return {key: value for key, value in constraints.items() if value != {"matchExpressions": []}}


def _namespaces(match: NamespaceMatch) -> list[dict[str, Any]]:
    expressions: list[dict[str, Any]] = []
    if match.names is not None:
        expressions.append({"key": NAMESPACE_LABEL, "operator": "In", "values": list(match.names)})
    elif match.exclude:
        expressions.append({"key": NAMESPACE_LABEL, "operator": "NotIn", "values": list(match.exclude)})
    return expressions + [_selector(requirement) for requirement in match.requirements]


def _objects(planned: _Planned) -> list[dict[str, Any]]:
    """A pod's labels are selected here, before anything is evaluated; the break-glass label leaves out any
    object."""
    key = planned.model.safety.break_glass_label
    expressions: list[dict[str, Any]] = [{"key": key, "operator": "NotIn", "values": ["true"]}]
    if planned.target.is_pod:
        expressions += [_selector(requirement) for requirement in planned.rule.match.labels]
    return expressions


def _selector(requirement: Requirement) -> dict[str, Any]:
    selector: dict[str, Any] = {"key": requirement.key, "operator": requirement.operator}
    if requirement.values:
        selector["values"] = list(requirement.values)
    return selector


def _resource_rules(rule: Rule, target: Target) -> list[dict[str, Any]]:
    """Every served version of each kind, kinds of one group in one rule."""
    groups: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for workload in target.workloads:
        handled = operations(rule, workload)
        if handled:
            groups.setdefault((workload.group, workload.versions, handled), []).append(workload.plural)
    return [
        {
            "apiGroups": [group],
            "apiVersions": list(versions),
            "operations": list(handled),
            "resources": sorted(resources),
            "scope": "Namespaced",
        }
        for (group, versions, handled), resources in groups.items()
    ]
