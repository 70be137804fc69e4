"""Devices: words of the catalogue -> conditions on attributes and capacities of one driver."""

from __future__ import annotations

import re

from policygen.compiler.model import Condition, Device, DeviceConfig
from policygen.compiler.places import Text
from policygen.compiler.resolve_where import DriverView, resolve_where
from policygen.compiler.scope import Scope
from policygen.compiler.spec import ConfigSpec, DeviceSpec
from policygen.compiler.spec_base import Block
from policygen.compiler.yaml import Scalar, Sequence
from policygen.diagnostics import Span
from policygen.dra import catalogue
from policygen.kube import names


def resolve_devices(scope: Scope) -> tuple[Device, ...]:
    """All devices, sorted by name."""
    return tuple(_device(scope, name, spec) for name, spec in sorted(scope.spec.devices.items()))


def _device(scope: Scope, name: str, spec: DeviceSpec) -> Device:
    span = scope.spec.key_span_at("devices", name)
    scope.name(names.dns_label, name, span, "the name of a device")
    scope.name(names.dns_subdomain, spec.driver, spec.span_at("driver"), "the name of a driver")
    class_name = spec.class_ or name
    if spec.class_:
        scope.name(names.dns_subdomain, class_name, spec.span_at("class"), "the name of a DeviceClass")
    view = _view(scope, spec)
    conditions = resolve_where(scope, view, spec, spec.where)
    if view.type and not spec.exists:
        conditions = _with_type(view, conditions, spec.span_at("driver"))
    if spec.extended_resource is not None:
        _check_extended_resource(scope, spec)
    if spec.exists:
        _check_existing(scope, name, spec)
    elif found := catalogue.find_class(class_name):
        scope.found.error(
            "class-of-driver",
            f"DeviceClass `{class_name}` is installed by the {found[0].title} driver",
            spec.span_at("class") if spec.class_ else span,
            help=["choose another name, or say `exists: true` to use the driver's class"],
        )
    return Device(
        name=name,
        class_name=class_name,
        driver=spec.driver,
        release=spec.release,
        type=view.type,
        conditions=conditions,
        cel=texts(spec, "cel"),
        extended_resource=spec.extended_resource or _existing_resource(spec, class_name),
        configs=resolve_configs(scope, spec, spec.config, spec.driver),
        exists=spec.exists,
        span=span,
    )


def _existing_resource(spec: DeviceSpec, class_name: str) -> str | None:
    """The extended resource that the driver's own chart gives a class that exists."""
    found = catalogue.find_class(class_name) if spec.exists else None
    return found[1].extended_resource or None if found else None


def _view(scope: Scope, spec: DeviceSpec) -> DriverView:
    driver = catalogue.find_driver(spec.driver)
    if driver is None:
        close = catalogue.suggest_driver(spec.driver) or _driver_of(spec.driver)
        if close:
            scope.found.warning(
                "unknown-driver",
                f"no driver `{spec.driver}` is known",
                spec.span_at("driver"),
                help=[f"did you mean `{close}`?"],
            )
        return DriverView(spec.driver, "", "")
    release = spec.release or ""
    if spec.release is not None and spec.release not in driver.releases:
        scope.found.error(
            "unknown-release",
            f"no release `{spec.release}` of the {driver.title} driver is known",
            spec.span_at("release"),
            help=["known are " + ", ".join(f"`{known}`" for known in driver.releases)],
        )
        release = ""
    return DriverView(spec.driver, release, _type(scope, spec, release))


def _driver_of(vendor: str) -> str | None:
    """The first known driver of a vendor, or of a plain resource such as `nvidia.com/gpu`."""
    words = {part for part in re.split(r"[./]", vendor) if part not in {"", "com", "gpu", "io"}}
    known = catalogue.driver_names()
    return next((name for name in known if words & set(name.split("."))), None) if words else None


def _type(scope: Scope, spec: DeviceSpec, release: str) -> str:
    driver = catalogue.find_driver(spec.driver)
    assert driver is not None
    if spec.type is not None:
        if catalogue.device_type(driver, spec.type) is None:
            known = ", ".join(f"`{entry.name}`" for entry in driver.device_types)
            scope.found.error(
                "unknown-device-type",
                f"the {driver.title} driver has no type `{spec.type}`",
                spec.span_at("type"),
                help=[f"known are {known}"],
            )
            return ""
        return spec.type
    if spec.exists and (found := catalogue.find_class(spec.class_ or "")):
        return found[1].device_type
    chosen = catalogue.type_for(spec.driver, tuple(spec.where), release)
    return chosen.name if chosen is not None else ""


def _with_type(view: DriverView, conditions: tuple[Condition, ...], span: Span) -> tuple[Condition, ...]:
    """Tells the type of device from its siblings: a node with MIG also lists whole GPUs."""
    driver = catalogue.find_driver(view.driver)
    entry = catalogue.device_type(driver, view.type) if driver else None
    if entry is None or entry.where is None:
        return conditions
    word, value = entry.where
    term = view.term(word)
    if term is None or any(c.name == term.name and c.domain == term.domain for c in conditions):
        return conditions
    own = Condition(term.kind, term.domain, term.name, "string", "==", (value,), span)
    return (own, *conditions)


def _check_existing(scope: Scope, name: str, spec: DeviceSpec) -> None:
    for field in ("where", "cel", "config"):
        if spec.node_at(field) is not None:
            scope.found.error(
                "not-emitted",
                f"`{field}` of device `{name}` would be lost: a class that exists is not part of the bundle",
                spec.key_span_at(field),
                help=["put it into the claims, or declare a class of its own"],
            )


def _check_extended_resource(scope: Scope, spec: DeviceSpec) -> None:
    resource, span = spec.extended_resource or "", spec.span_at("extendedResource")
    if spec.exists:
        return
    scope.requires("DRAExtendedResource", "`extendedResource`", span)
    scope.extended_resource(resource, span)


def resolve_configs(
    scope: Scope, block: Block, configs: list[ConfigSpec], driver: str | None
) -> tuple[DeviceConfig, ...]:
    """Driver parameters."""
    result = []
    for index, config in enumerate(configs):
        span = block.span_at("config", index)
        name = config.driver or driver
        if name is None:
            scope.found.error(
                "missing-key",
                "the devices of the claim have several drivers: this needs the key `driver`",
                span,
                help=["add `driver:`"],
            )
            continue
        for field in ("apiVersion", "kind"):
            if not isinstance(config.parameters.get(field), str):
                scope.found.error(
                    "missing-key",
                    f"`parameters` needs the key `{field}`",
                    config.key_span_at("parameters"),
                    notes=["a driver tells the kinds of its parameters apart by `apiVersion` and `kind`"],
                    help=[f"add `{field}:`"],
                )
        parameters = scope.json(config.node_at("parameters"))
        assert isinstance(parameters, dict)
        result.append(DeviceConfig(name, parameters, tuple(config.requests), span))
    return tuple(result)


def texts(block: Block, field: str) -> tuple[Text, ...]:
    """One text or a list of them."""
    match block.node_at(field):
        case Scalar():
            return (block.text_at(field),)
        case Sequence(items=items):
            return tuple(block.text_at(field, index) for index in range(len(items)))
        case _:
            return ()
