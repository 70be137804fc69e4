"""Node affinity and priority: the two fields with rules of their own."""

from __future__ import annotations

from policygen.compiler import ir
from policygen.compiler.model_actions import Json
from policygen.compiler.plan import leaves
from policygen.compiler.plan.draft import Check, Draft, Op, any_pod, concatenated, no_pod, parents, pod_ops
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import all_of, any_of, call, literal, none_of, string, strings, ternary
from policygen.compiler.plan.variables import Variables
from policygen.kube.catalog import Catalog

_REQUIRED = ("spec", "affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")


def plan_terms(node: ir.NodeTerms, target: Target, variables: Variables, limit: str) -> Draft:
    """Requirements in every required term: terms are alternatives, so one without them would be a way around.

    A term without any expression matches no node and is left alone.
    """
    origins = tuple(item.origin for item in node.requirements)
    values: list[Json] = [item.value for item in node.requirements]
    wanted = variables.add("nodeRequirements", literal(values), origins)
    terms = target.items((*_REQUIRED, "nodeSelectorTerms"))
    if target.single is not None:
        terms = variables.add("nodeTerms", terms, origins)
    have = target.listed("term.?matchExpressions")
    same_key = f"{have}.exists(have, have.key == wanted.key)"
    kept, added, holds = have, f"{wanted}.filter(wanted, !{same_key})", same_key
    if node.on_conflict == "replace":
        kept = f"{have}.filter(have, !{wanted}.exists(wanted, have.key == wanted.key))"
        added = wanted
        holds = f"{have}.filter(have, have.key == wanted.key) == [wanted]"
    incomplete = f"size(term) > 0 && !{call(wanted, 'all', ('wanted',), holds)}"
    some = call(terms, "exists", ("term",), incomplete)
    none = f"{terms}.size() == 0"
    term = (
        f"dyn({{\n  'matchExpressions': dyn({kept}\n    + {added}),\n  ?'matchFields': term.?matchFields\n}})"
    )
    new_terms = call(terms, "map", ("term",), ternary(incomplete, term, "term"))
    fresh = f"{{'nodeSelectorTerms': [{{'matchExpressions': {wanted}}}]}}"
    ops = parents(target, _REQUIRED, all_of([limit, none]))
    ops.append(Op("add", _REQUIRED, fresh, all_of([limit, none])))
    ops.append(Op("add", (*_REQUIRED, "nodeSelectorTerms"), new_terms, all_of([limit, some])))
    rejects: tuple[Check, ...] = ()
    if node.on_conflict == "reject":
        other = f"{wanted}.exists(wanted, have.key == wanted.key && have != wanted)"
        conflict = call(terms, "exists", ("term",), call(have, "exists", ("have",), other))
        words = ", ".join(origin.text for origin in origins)
        rejects = (Check(no_pod(target, all_of([limit, conflict])), f"the pod has another {words}", origins),)
    changes = any_pod(target, all_of([limit, any_of([none, some])]))
    return Draft("JSONPatch", concatenated(pod_ops(target, ops)), changes, origins, rejects)


def plan_priority(
    node: ir.PriorityClass, target: Target, variables: Variables, catalog: Catalog, limit: str
) -> Draft:
    """The class by name, with what the Priority plugin computed removed, so that it computes it anew.

    The plugin runs before policies and again after them; setting the name alone is refused for the numbers
    that it wrote the first time. On a template nothing has been computed yet.
    """
    if not target.is_pod:
        path = ("spec", "priorityClassName")
        leaf = ir.Leaf(ir.InPod(), path, node.name, node.on_conflict, node.origin)
        return leaves.plan([leaf], target, variables, catalog, limit)
    name = "object.spec.?priorityClassName.orValue('')"
    unset = [""] if node.default_class in {None, node.name} else ["", str(node.default_class)]
    free = f"{name} == ''" if len(unset) == 1 else f"{name} in {strings(unset)}"
    test = all_of([limit, f"{name} != {string(node.name)}" if node.on_conflict == "replace" else free])
    patches = [f"[{Op('add', ('spec', 'priorityClassName'), string(node.name)).text(string(''))}]"]
    for field in ("priority", "preemptionPolicy"):
        remove = Op("remove", ("spec", field)).text(string(""))
        patches.append(f"(has(object.spec.{field}) ? [{remove}] : [])")
    rejects: tuple[Check, ...] = ()
    if node.on_conflict == "reject":
        fine = f"{name} in {strings([*unset, node.name])}"
        message = f"the pod has another priority class than `{node.name}`"
        rejects = (Check(none_of(all_of([limit, none_of(fine)])), message, (node.origin,)),)
    expression = ternary(test, "\n+ ".join(patches), "[]")
    summary = f"{node.origin.text} to `{node.name}`"
    return Draft("JSONPatch", expression, test, (node.origin,), rejects, summary=summary)
