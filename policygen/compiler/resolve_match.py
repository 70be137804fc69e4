"""What a rule matches: namespaces by name or tenant, use of devices by limit or claim, labels and so on."""

from __future__ import annotations

from dataclasses import dataclass

from policygen.compiler.model import Safety
from policygen.compiler.model_actions import Containers
from policygen.compiler.model_match import Match, NamespaceMatch, Operation, Owner, StringMatch, Uses
from policygen.compiler.places import Text
from policygen.compiler.resolve_devices import texts
from policygen.compiler.scope import Scope
from policygen.compiler.spec import ClaimSpec
from policygen.compiler.spec_base import Block
from policygen.compiler.spec_match import ContainersSpec, ImageSpec, MatchSpec, NamespacesSpec, UsesSpec
from policygen.diagnostics import Span
from policygen.dra import catalogue
from policygen.kube import names

IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"
"""Limits of this prefix and a class's name ask for devices of the class, from 1.36 on."""


def tenant_namespaces(scope: Scope, tenant: str) -> tuple[str, ...]:
    """The namespaces of a tenant."""
    return tuple(scope.spec.tenants[tenant].namespaces or (tenant,))


def named_namespaces(
    scope: Scope, block: Block, field: str, value: list[str] | NamespacesSpec
) -> set[str] | None:
    """The namespaces that are named, also by tenants; None when none are."""
    if isinstance(value, list):
        for index, name in enumerate(value):
            scope.name(names.dns_label, name, block.span_at(field, index), "the name of a namespace")
        return set(value)
    if value.names is None and value.tenants is None:
        return None
    result: set[str] = set()
    for index, name in enumerate(value.names or ()):
        result.add(
            scope.name(names.dns_label, name, value.span_at("names", index), "the name of a namespace")
        )
    for index, tenant in enumerate(value.tenants or ()):
        if scope.one_of(tenant, scope.spec.tenants, value.span_at("tenants", index), "tenant", "tenants"):
            result.update(tenant_namespaces(scope, tenant))
    return result


@dataclass(frozen=True, slots=True)
class Matching:
    """Resolves what rules match, in one spec."""

    scope: Scope
    safety: Safety

    def match(self, spec: MatchSpec | None, rule_span: Span) -> Match:
        """Everything that must hold for a rule to apply."""
        if spec is None:
            namespaces = NamespaceMatch(None, (), self.safety.exempt_namespaces, rule_span)
            return Match(("Pod",), ("CREATE",), namespaces, (), (), (), None, (), rule_span)
        workloads = tuple(dict.fromkeys(spec.workloads))
        return Match(
            workloads=workloads,
            operations=self._operations(spec, workloads),
            namespaces=self._namespaces(spec),
            uses=self.uses(spec, spec.uses),
            labels=self.scope.requirements(spec, "labels", spec.labels),
            images=self._images(spec.image),
            owner=self._owner(spec),
            cel=self._cel(spec),
            span=spec.block_span,
        )

    def _operations(self, spec: MatchSpec, workloads: tuple[str, ...]) -> tuple[Operation, ...]:
        if isinstance(spec.operation, str):
            return (spec.operation,)
        if spec.operation is not None:
            return tuple(sorted(set(spec.operation)))
        return ("CREATE",) if "Pod" in workloads else ("CREATE", "UPDATE")

    def _namespaces(self, spec: MatchSpec) -> NamespaceMatch:
        exempt = self.safety.exempt_namespaces
        value = spec.namespaces
        if value is None:
            return NamespaceMatch(None, (), exempt, spec.block_span)
        span = spec.span_at("namespaces")
        if isinstance(value, NamespacesSpec) and not value.model_fields_set:
            self.scope.found.error(
                "empty-test",
                "`namespaces` says nothing",
                span,
                help=["use `names`, `tenants`, `labels` or `exclude`, or leave it out"],
            )
        found = named_namespaces(self.scope, spec, "namespaces", value)
        exclude = set() if isinstance(value, list) else set(value.exclude)
        requirements = (
            () if isinstance(value, list) else self.scope.requirements(value, "labels", value.labels)
        )
        if found is None:
            return NamespaceMatch(None, requirements, tuple(sorted({*exempt, *exclude})), span)
        for name in sorted(found & set(exempt)):
            self.scope.found.error(
                "exempt-namespace",
                f"namespace `{name}` is exempt from all rules",
                span,
                help=["take it out of the rule, or out of `spec.safety.exemptNamespaces`"],
            )
        kept = found - exclude
        if not kept:
            self.scope.found.error("empty-value", "the rule is for no namespace at all", span)
        return NamespaceMatch(tuple(sorted(kept)), requirements, (), span)

    # --- use of devices ------------------------------------------------------------------------------------

    def uses(self, block: Block, value: UsesSpec | list[UsesSpec] | None) -> tuple[Uses, ...]:
        """What containers use, by limit or by claim."""
        items = value if isinstance(value, list) else [value] if value is not None else []
        if value is not None and not items:
            self.scope.found.error("empty-value", "`uses` must not be empty", block.span_at("uses"))
        result = []
        for item in items:
            if (item.device is None) == (item.resource is None):
                self.scope.found.error(
                    "one-of", "`uses` needs either `device` or `resource`", item.block_span
                )
            elif item.device is not None:
                span = item.span_at("device")
                if self.scope.one_of(item.device, self.scope.spec.devices, span, "device", "devices"):
                    result.append(self._uses_device(item.device, span))
            elif item.resource is not None:
                result.append(self._uses_resource(item.resource, item.span_at("resource")))
        return tuple(result)

    def _uses_device(self, name: str, span: Span) -> Uses:
        spec = self.scope.spec.devices[name]
        class_name = spec.class_ or name
        claims = [(key, claim) for key, claim in self.scope.spec.claims.items() if name in _devices_of(claim)]
        resources = {claim.replaces for _, claim in claims if claim.replaces}
        if spec.extended_resource:
            resources.add(spec.extended_resource)
        elif spec.exists and (found := catalogue.find_class(class_name)) and found[1].extended_resource:
            resources.add(found[1].extended_resource)
        elif not resources and (plain := self._plain_resource(spec.driver)):
            resources.add(plain)
        if self.scope.has("DRAExtendedResource"):
            resources.add(IMPLICIT_PREFIX + class_name)
        templates = {claim.template or key for key, claim in claims}
        return Uses(name, tuple(sorted(resources)), tuple(sorted(templates)), span)

    def _plain_resource(self, driver: str) -> str | None:
        """The resource of the driver's device plugin, when nothing in the spec stands for it."""
        devices = self.scope.spec.devices
        taken = {spec.extended_resource for spec in devices.values()}
        taken |= {claim.replaces for claim in self.scope.spec.claims.values()}
        plain = catalogue.extended_resource(driver)
        return None if not plain or plain in taken else plain

    def _uses_resource(self, resource: str, span: Span) -> Uses:
        self.scope.name(names.qualified_name, resource, span, "a resource name")
        if "/" not in resource:
            self.scope.found.error(
                "bad-name",
                f"`{resource}` is no extended resource",
                span,
                help=["write it in full, such as `nvidia.com/gpu`"],
            )
        templates = {
            claim.template or key
            for key, claim in self.scope.spec.claims.items()
            if claim.replaces == resource or resource in self._resources_of(claim)
        }
        resources = {resource}
        if self.scope.has("DRAExtendedResource"):
            resources |= {
                IMPLICIT_PREFIX + (spec.class_ or name)
                for name, spec in self.scope.spec.devices.items()
                if spec.extended_resource == resource
            }
        return Uses(resource, tuple(sorted(resources)), tuple(sorted(templates)), span)

    def _resources_of(self, claim: ClaimSpec) -> set[str]:
        devices = self.scope.spec.devices
        found = (devices[name].extended_resource for name in _devices_of(claim) if name in devices)
        return {resource for resource in found if resource}

    # --- the rest ------------------------------------------------------------------------------------------

    def containers(
        self,
        block: Block,
        value: str | list[str] | ContainersSpec | None,
        *,
        init: bool,
        default: tuple[Uses, ...],
    ) -> Containers:
        """Which containers are meant; `default` is what the rule matches by."""
        span = block.span_at("containers")
        match value:
            case None:
                return Containers(None, default, init)
            case "all":
                return Containers(None, (), init)
            case "using" | str():
                if not default:
                    self.scope.found.error(
                        "using-nothing",
                        "`using` means the containers that use what the rule matches: it matches no use",
                        span,
                        help=["add `match.uses`, or write `containers: {uses: …}`"],
                    )
                return Containers(None, default, init)
            case list():
                return Containers(self._container_names(value, span), (), init)
            case ContainersSpec():
                chosen = (
                    None
                    if value.names is None
                    else self._container_names(value.names, value.span_at("names"))
                )
                return Containers(chosen, self.uses(value, value.uses), init)

    def _container_names(self, values: list[str], span: Span) -> tuple[str, ...]:
        if not values:
            self.scope.found.error("empty-value", "a list of containers must not be empty", span)
        for name in values:
            self.scope.name(names.dns_label, name, span, "the name of a container")
        return tuple(sorted(set(values)))

    def _images(self, spec: ImageSpec | None) -> tuple[StringMatch, ...]:
        if spec is None:
            return ()
        result = []
        if found := texts(spec, "is"):
            result.append(StringMatch("equals", _values(found), spec.span_at("is")))
        if found := texts(spec, "startsWith"):
            result.append(StringMatch("startsWith", _values(found), spec.span_at("startsWith")))
        if found := texts(spec, "endsWith"):
            result.append(StringMatch("endsWith", _values(found), spec.span_at("endsWith")))
        if found := texts(spec, "contains"):
            result.append(StringMatch("contains", _values(found), spec.span_at("contains")))
        if not result:
            self.scope.found.error("empty-test", "the test of `image` says nothing", spec.block_span)
        return tuple(result)

    def _owner(self, spec: MatchSpec) -> Owner | None:
        owner = spec.owner
        if owner is None:
            return None
        kinds = tuple(text.value for text in texts(owner, "kind"))
        if owner.none and (kinds or owner.group is not None):
            self.scope.found.error(
                "one-of",
                "`none` stands beside a kind of owner",
                owner.block_span,
                help=["keep one of the two"],
            )
        elif not owner.none and not kinds:
            self.scope.found.error(
                "empty-test",
                "the test of `owner` says nothing",
                owner.block_span,
                help=["use `kind` or `none`"],
            )
        return Owner(tuple(sorted(kinds)), owner.group, owner.block_span)

    def _cel(self, spec: MatchSpec) -> tuple[Text, ...]:
        found = texts(spec, "cel")
        if spec.cel is not None and not any(text.value.strip() for text in found):
            self.scope.found.error("empty-value", "`cel` must not be empty", spec.span_at("cel"))
        return found


def _devices_of(claim: ClaimSpec) -> set[str]:
    result: set[str] = set()
    for request in claim.devices.values():
        if request.device is not None:
            result.add(request.device)
        result.update(item.device for item in request.any_of or ())
    return result


def _values(found: tuple[Text, ...]) -> tuple[str, ...]:
    return tuple(sorted({text.value for text in found}))
