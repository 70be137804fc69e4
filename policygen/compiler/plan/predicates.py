"""What a rule matches, as CEL on one pod; and which containers of it are meant.

Match conditions may not use variables, and in them `namespaceObject` is null: namespaces are selectors.
"""

from __future__ import annotations

from dataclasses import dataclass

from policygen.compiler import ir
from policygen.compiler.model_actions import Containers
from policygen.compiler.model_match import Match, Owner, Requirement, StringMatch, Uses
from policygen.compiler.plan.targets import Target
from policygen.compiler.plan.text import all_of, any_of, call, camel, none_of, optional, string, strings
from policygen.compiler.plan.variables import Variables
from policygen.diagnostics import Span


@dataclass(frozen=True, slots=True)
class Condition:
    """A match condition."""

    name: str
    expression: str
    span: Span


def pod_parts(match: Match, target: Target, pod: str) -> list[tuple[str, str, Span]]:
    """The parts of a match that speak of one pod: name, expression, span. Cheap ones come first."""
    parts: list[tuple[str, str, Span]] = []
    if not target.is_pod:
        parts += [(f"label-{_slug(part.key)}", _label(part, target, pod), part.span) for part in match.labels]
    parts += [(f"uses-{_slug(uses.subject)}", pod_uses(uses, target, pod), uses.span) for uses in match.uses]
    if match.images:
        parts.append(("image", _image(match.images, target, pod), match.images[0].span))
    return parts


def conditions(match: Match, target: Target) -> list[Condition]:
    """The match conditions of a policy for a target, cheap ones first."""
    found: list[Condition] = []
    if target.is_pod:
        if match.owner is not None:
            found.append(Condition("owner", _owner(match.owner), match.owner.span))
    else:
        found.append(Condition("no-controller", _no_controller(), match.span))
        if "UPDATE" in target.operations:
            found.append(Condition("template-changed", _changed(target), match.span))
    if target.single is not None:
        found += [Condition(*part) for part in pod_parts(match, target, target.pod)]
    else:
        found.append(
            Condition("some-template", target.some_pod(lambda pod: holds(match, target, pod)), match.span)
        )
    found += [
        Condition(f"cel-{index}", text.value, text.span) for index, text in enumerate(match.cel, start=1)
    ]
    return _unique(found)


def holds(match: Match, target: Target, pod: str) -> str:
    """All parts that speak of one pod, in one expression."""
    return all_of(expression for _, expression, _ in pod_parts(match, target, pod))


def uses(found: Uses, target: Target, container: str, pod: str, variables: Variables | None = None) -> str:
    """Whether a container uses a device: by a limit that is not zero, **or** by a claim from a template of
    the bundle. Both, because another rule may move the limit to a claim.

    With variables at hand the names of such claims are one.
    """
    parts = [_limit(resource, target, container) for resource in found.resources]
    if found.templates:
        entries = target.listed(target.optional(("spec", "resourceClaims"), pod))
        template = f"entry.?resourceClaimTemplateName.orValue('') in {strings(found.templates)}"
        claims = target.items(("resources", "claims"), container)
        if variables is not None and target.single is not None:
            ours = call(entries, "filter", ("entry",), template)
            names = variables.add(f"{camel(found.subject)}Claims", f"{ours}.map(entry, entry.name)")
            parts.append(call(claims, "exists", ("claim",), f"claim.name in {names}"))
        else:
            named = call(entries, "exists", ("entry",), all_of(["entry.name == claim.name", template]))
            parts.append(call(claims, "exists", ("claim",), named))
    return any_of(parts) if parts else "false"


def _limit(resource: str, target: Target, container: str) -> str:
    value = optional(container, ("resources", "limits", resource))
    return f"string({value}.orValue(dyn('0'))) != '0'" if target.custom else f"{value}.orValue('0') != '0'"


def pod_uses(found: Uses, target: Target, pod: str) -> str:
    """Whether some container or init container of a pod uses a device."""
    return call(target.containers(pod), "exists", ("container",), uses(found, target, "container", pod))


def chosen(
    containers: Containers, target: Target, container: str, pod: str, variables: Variables | None = None
) -> str:
    """Whether a container is one of those that an action is for."""
    parts = []
    if containers.names is not None:
        parts.append(f"{container}.name in {strings(containers.names)}")
    if containers.uses:
        parts.append(any_of(uses(found, target, container, pod, variables) for found in containers.uses))
    return all_of(parts)


def guard(found: ir.Guard | None, target: Target, variables: Variables | None = None) -> str:
    """A node's own condition on the pod."""
    pod = target.pod
    match found:
        case None:
            return "true"
        case ir.SharesNoHostNamespace():
            shared = [
                f"!{target.optional(('spec', field))}.orValue(false)"
                for field in ("hostNetwork", "hostPID", "hostIPC")
            ]
            block = target.items(("volumeDevices",), "container")
            blocks = call(target.containers(), "exists", ("container",), f"{block}.size() > 0")
            return all_of([*shared, none_of(blocks)])
        case ir.HasLabels(keys):
            return all_of(f"{target.optional(('metadata', 'labels', key))}.hasValue()" for key in keys)
        case ir.SomeContainer(selections, path):
            parts = []
            for selection in selections:
                tests = [chosen(selection, target, "container", pod, variables)]
                if path is not None:
                    mounts = target.items(("volumeMounts",), "container")
                    at = "mount.?mountPath.orValue('')" if target.custom else "mount.mountPath"
                    tests.append(f"!{mounts}.exists(mount, {at} == {string(path)})")
                body = all_of(tests)
                if body == "true":
                    return "true"
                values = target.containers(init=selection.init)
                parts.append(call(values, "exists", ("container",), body))
            return any_of(parts)


def _label(found: Requirement, target: Target, pod: str) -> str:
    value = target.optional(("metadata", "labels", found.key), pod)
    match found.operator:
        case "Exists":
            return f"{value}.hasValue()"
        case "DoesNotExist":
            return f"!{value}.hasValue()"
        case "In":
            return f"{value}.hasValue() && {value}.value() in {strings(found.values)}"
        case "NotIn":
            return f"!({value}.hasValue() && {value}.value() in {strings(found.values)})"
        case "Gt" | "Lt":
            raise AssertionError("label selectors have no numeric operators")


def _image(found: tuple[StringMatch, ...], target: Target, pod: str) -> str:
    image = "container.?image.orValue('')"
    tests = []
    for part in found:
        if part.operator == "equals":
            tests.append(f"{image} in {strings(part.values)}")
        else:
            tests += [f"{image}.{part.operator}({string(value)})" for value in part.values]
    return call(target.containers(pod), "exists", ("container",), any_of(tests))


def _owner(found: Owner) -> str:
    owners = "object.metadata.?ownerReferences.orValue([])"
    if not found.kinds:
        return _no_controller()
    tests = ["owner.?controller.orValue(false)", f"owner.kind in {strings(found.kinds)}"]
    if found.group:
        tests.append(f"owner.apiVersion.startsWith({string(found.group + '/')})")
    elif found.group == "":
        tests.append("!owner.apiVersion.contains('/')")
    return call(owners, "exists", ("owner",), all_of(tests))


def _no_controller() -> str:
    return "!object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false))"


def _changed(target: Target) -> str:
    """On an update only when pods change too: otherwise any small update would roll a workload out anew."""
    if target.single is not None:
        at = ".".join(target.single)
        return f"request.operation == 'CREATE' || object.{at} != oldObject.{at}"
    return "request.operation == 'CREATE' || object.spec != oldObject.spec"


def _slug(text: str) -> str:
    slug = "".join(char if char.isalnum() or char in "-_." else "-" for char in text)
    return slug.strip("-_.")[:50].rstrip("-_.")


def _unique(found: list[Condition]) -> list[Condition]:
    """Names of match conditions must differ."""
    seen: dict[str, int] = {}
    out = []
    for condition in found:
        count = seen.get(condition.name, 0) + 1
        seen[condition.name] = count
        name = condition.name if count == 1 else f"{condition.name}-{count}"
        out.append(Condition(name, condition.expression, condition.span))
    return out
