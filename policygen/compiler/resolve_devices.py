"""Devices: words of the catalogue -> conditions on attributes and capacities of one driver."""

from __future__ import annotations

from collections.abc import Mapping as Mapping_
from dataclasses import dataclass

from policygen.compiler.model import Condition, Device, DeviceConfig, Operator, ScalarType, Text
from policygen.compiler.scope import Scope
from policygen.compiler.spec import ConfigSpec, DeviceSpec, TestSpec
from policygen.compiler.spec_base import Block
from policygen.compiler.units import (
    Comparator,
    UnitError,
    parse_comparison,
    parse_quantity,
    parse_version,
    parse_whole,
)
from policygen.compiler.yaml import Mapping, Scalar, Sequence
from policygen.diagnostics import Span
from policygen.dra import catalogue
from policygen.dra.catalogue import Term
from policygen.kube import names
from policygen.kube.quantity import Quantity

_TEXT_KEYS = ("contains", "startsWith", "endsWith")
_ORDER_TYPES = {"int", "version", "quantity"}


@dataclass(frozen=True, slots=True)
class DriverView:
    """One driver as one device sees it: a release and a type of device."""

    driver: str
    release: str
    type: str

    def term(self, word: str) -> Term | None:
        """What a word means here."""
        return catalogue.resolve(self.driver, word, self.release, self.type)


def resolve_devices(scope: Scope) -> tuple[Device, ...]:
    """All devices, sorted by name."""
    return tuple(_device(scope, name, spec) for name, spec in sorted(scope.spec.devices.items()))


def view_of(device: Device) -> DriverView:
    """The catalogue as a resolved device sees it."""
    return DriverView(device.driver, device.release or "", device.type)


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
        close = catalogue.suggest_driver(spec.driver)
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
    scope.name(names.qualified_name, resource, span, "an extended resource")
    if (
        "/" not in resource
        or resource.split("/")[0].endswith("kubernetes.io")
        or resource.startswith("requests.")
    ):
        scope.found.error(
            "bad-name",
            f"`{resource}` cannot be an extended resource",
            span,
            help=["write `domain/name` with a domain that is not Kubernetes' own, such as `nvidia.com/gpu`"],
        )


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


# --- tests -------------------------------------------------------------------------------------------------


def resolve_where(
    scope: Scope, view: DriverView, block: Block, where: Mapping_[str, object], field: str = "where"
) -> tuple[Condition, ...]:
    """Tests of attributes and capacities, sorted by word."""
    conditions: list[Condition] = []
    for word in sorted(where):
        term = view.term(word)
        if term is None:
            _unknown_word(scope, view, word, block.key_span_at(field, word))
            continue
        if term.type in {"strings", "ints"}:
            scope.found.error(
                "unsupported-test",
                f"`{word}` is a list of values, which this spec cannot test",
                block.key_span_at(field, word),
                help=["write a selector of your own under `cel`"],
            )
            continue
        conditions += _tests(scope, term, block, (field, word), where[word])
    return tuple(conditions)


def _unknown_word(scope: Scope, view: DriverView, word: str, span: Span) -> None:
    driver = catalogue.find_driver(view.driver)
    if driver is None:
        scope.found.error(
            "unknown-attribute",
            f"nothing is known about the driver `{view.driver}`, so `{word}` has no meaning here",
            span,
            help=["write a selector of your own under `cel`"],
        )
        return
    title = driver.title
    why = catalogue.why_absent(view.driver, word)
    kinds = [
        entry.name
        for entry in driver.device_types
        if catalogue.resolve(view.driver, word, view.release, entry.name)
    ]
    notes = [why] if why else []
    if kinds and view.type:
        notes = [
            f"devices of type {' and '.join(f'`{kind}`' for kind in kinds)} have it, `{view.type}` has not"
        ]
    close = catalogue.suggest_word(view.driver, word, view.release, view.type)
    help = [f"did you mean `{close}`?"] if close else []
    if not close and not why:
        known = [w for w in catalogue.vocabulary(view.driver, view.release, view.type) if "/" not in w]
        help = ["known are " + ", ".join(f"`{name}`" for name in sorted(known))]
    scope.found.error(
        "unknown-attribute", f"{title} devices publish no `{word}`", span, notes=notes, help=help
    )


def _tests(scope: Scope, term: Term, block: Block, path: tuple[str, str], test: object) -> list[Condition]:
    match block.node_at(*path):
        case Scalar():
            return _scalar_test(scope, term, block.text_at(*path), is_bool=isinstance(test, bool))
        case Sequence(items=items):
            values = [block.text_at(*path, index) for index in range(len(items))]
            return _value_list(scope, term, "in", values, block.span_at(*path))
        case Mapping():
            assert isinstance(test, TestSpec)
            return _named_tests(scope, term, test)
        case None:
            return []


def _scalar_test(scope: Scope, term: Term, text: Text, *, is_bool: bool) -> list[Condition]:
    if is_bool or term.type in {"string", "bool"}:
        value = _value(scope, term, text.value, text.span)
        return [] if value is None else [_condition(term, "==", (value,), text.span)]
    result = []
    for part in text.value.split(","):
        try:
            comparison = parse_comparison(part)
        except UnitError as error:
            scope.found.error(
                "bad-comparison", error.message, text.span, help=[error.help] if error.help else []
            )
            continue
        value = _value(scope, term, comparison.value, text.span)
        if value is not None:
            result.append(_condition(term, comparison.operator, (value,), text.span))
    return result


def _named_tests(scope: Scope, term: Term, test: TestSpec) -> list[Condition]:
    span = test.block_span
    result: list[Condition] = []
    operators: tuple[tuple[str, Comparator], ...] = (("is", "=="), ("not", "!="))
    for key, operator in operators:
        if test.node_at(key) is not None:
            text = test.text_at(key)
            value = _value(scope, term, text.value, text.span)
            if value is not None:
                result.append(_condition(term, operator, (value,), text.span))
    if test.in_ is not None:
        values = [test.text_at("in", index) for index in range(len(test.in_))]
        result += _value_list(scope, term, "in", values, test.span_at("in"))
    if test.not_in is not None:
        values = [test.text_at("notIn", index) for index in range(len(test.not_in))]
        result += _value_list(scope, term, "notIn", values, test.span_at("notIn"))
    for key, part in zip(_TEXT_KEYS, (test.contains, test.starts_with, test.ends_with), strict=True):
        if part is None:
            continue
        if term.type != "string":
            scope.found.error(
                "wrong-test", f"`{key}` is for texts; `{term.word}` is {_noun(term)}", test.key_span_at(key)
            )
            continue
        result.append(_condition(term, _text_operator(key), (part,), test.span_at(key)))
    if test.exists is not None:
        result.append(_condition(term, "exists" if test.exists else "absent", (), test.span_at("exists")))
    if not test.model_fields_set:
        scope.found.error("empty-test", f"the test of `{term.word}` says nothing", span)
    return result


def _text_operator(key: str) -> Operator:
    match key:
        case "contains":
            return "contains"
        case "startsWith":
            return "startsWith"
        case _:
            return "endsWith"


def _value_list(
    scope: Scope, term: Term, operator: Operator, values: list[Text], span: Span
) -> list[Condition]:
    if not values:
        scope.found.error("empty-value", "a list of values must not be empty", span)
        return []
    parsed = [_value(scope, term, text.value, text.span) for text in values]
    return [_condition(term, operator, tuple(value for value in parsed if value is not None), span)]


def _condition(term: Term, operator: Operator, values: tuple[str | int | bool, ...], span: Span) -> Condition:
    assert term.type not in {"strings", "ints"}
    return Condition(term.kind, term.domain, term.name, _scalar_type(term), operator, values, span)


def _scalar_type(term: Term) -> ScalarType:
    match term.type:
        case "string" | "int" | "bool" | "version" | "quantity":
            return term.type
        case _:
            raise AssertionError(term.type)


def _value(scope: Scope, term: Term, text: str, span: Span) -> str | int | bool | None:
    """A value in the type of the attribute, or nothing after a diagnostic."""
    try:
        match term.type:
            case "quantity":
                return str(parse_quantity(text))
            case "version":
                return parse_version(text)
            case "int":
                return parse_whole(text)
            case "bool":
                if text not in {"true", "false"}:
                    raise UnitError(f"`{text}` is neither `true` nor `false`")
                return text == "true"
            case _:
                return _known_text(scope, term, text, span)
    except UnitError as error:
        scope.found.error(
            "wrong-unit",
            f"`{term.word}` is {_noun(term)}: {error.message}",
            span,
            notes=[f"devices publish it as `{term.example}`"] if not error.help else [],
            help=[error.help] if error.help else [],
        )
        return None


def _known_text(scope: Scope, term: Term, text: str, span: Span) -> str:
    if text[:1] in "<>=!" and text:
        scope.found.error(
            "wrong-test",
            f"`{term.word}` is a text, which cannot be compared",
            span,
            help=["use `{contains: …}`, `{startsWith: …}` or the exact value"],
        )
    elif term.values and text not in term.values:
        listed = ", ".join(f"`{value}`" for value in term.values)
        scope.found.warning(
            "unknown-value",
            f"no device is known whose `{term.word}` is `{text}`",
            span,
            notes=[f"known are {listed}"],
        )
    return text


def _noun(term: Term) -> str:
    return {
        "quantity": "a quantity",
        "version": "a version",
        "int": "a whole number",
        "bool": "`true` or `false`",
    }.get(term.type, "a text")


def lower_bound(conditions: tuple[Condition, ...]) -> Quantity | None:
    """The least memory that conditions promise, if they promise any."""
    bounds = [
        Quantity.parse(str(condition.values[0]))
        for condition in conditions
        if condition.type == "quantity"
        and condition.name in {"memory", "addressableMemory"}
        and condition.operator in {">=", ">", "=="}
    ]
    return max(bounds, default=None)
