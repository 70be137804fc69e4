"""Checks of devices and claims: names that clash, bounds that nothing meets, selectors that are wrong."""

from __future__ import annotations

import re

from policygen.compiler.model import Condition, Device, Model
from policygen.diagnostics import Diagnostics, Label, Span, suggestion
from policygen.dra import catalogue
from policygen.dra.data.model import Product
from policygen.kube.quantity import Quantity

MAX_SELECTORS = 32
_ALIKE = str.maketrans("OIl", "011")
"""Letters that are taken for digits."""


def check_classes(model: Model, found: Diagnostics) -> None:
    """No two devices make the same DeviceClass, no two claims the same template in one namespace."""
    classes: dict[str, Device] = {}
    for device in model.devices:
        first = classes.setdefault(device.class_name, device)
        if first is not device and not (first.exists and device.exists):
            _twice(found, "DeviceClass", device.class_name, device.span, first.span)
    templates: dict[tuple[str, str], Span] = {}
    for claim in model.claims:
        for namespace in claim.namespaces:
            key = (namespace, claim.template)
            if key in templates:
                _twice(found, "ResourceClaimTemplate", claim.template, claim.span, templates[key])
                break
            templates[key] = claim.span


def _twice(found: Diagnostics, kind: str, name: str, span: Span, first: Span) -> None:
    found.error(
        "duplicate-name", f"{kind} `{name}` is made twice", span, related=[Label(first, "first made here")]
    )


def check_extended_resources(model: Model, found: Diagnostics) -> None:
    """One class a resource: of several the API server silently takes the newest."""
    owners: dict[str, Device] = {}
    for device in model.devices:
        if device.extended_resource is None:
            continue
        first = owners.setdefault(device.extended_resource, device)
        if first is not device:
            found.error(
                "duplicate-extended-resource",
                f"`{device.extended_resource}` is served by device `{first.name}` already",
                device.span,
                related=[Label(first.span, "served by this one")],
                notes=["of several classes with one resource name the newest is taken, without a word"],
            )
            continue
        for entry in catalogue.device_classes(device.driver):
            if entry.extended_resource == device.extended_resource and entry.name != device.class_name:
                found.warning(
                    "extended-resource-of-driver",
                    f"the driver's own class `{entry.name}` may serve `{device.extended_resource}` too",
                    device.span,
                    notes=["of several classes with one resource name the newest is taken"],
                    help=["remove `extendedResourceName` from the driver's class"],
                )


# --- products ----------------------------------------------------------------------------------------------


def check_products(model: Model, found: Diagnostics) -> None:
    """A memory bound that no known product of the driver meets is most likely the figure on the box."""
    for device in model.devices:
        _check_products(device.driver, device.conditions, found)
    for claim in model.claims:
        for request in claim.requests:
            for item in request.alternatives:
                own = (*item.device.conditions, *item.conditions)
                if item.conditions:
                    _check_products(item.device.driver, own, found)


def _check_products(driver: str, conditions: tuple[Condition, ...], found: Diagnostics) -> None:
    products = catalogue.products(driver)
    sliced = any(c.name == "profile" for c in conditions)
    bounds = [c for c in conditions if c.type == "quantity" and c.name == "memory" and not sliced]
    others = [c for c in conditions if c.type == "string" and c.name in {"productName", "architecture"}]
    candidates = [p for p in products if all(_has(p, c) for c in others)]
    if products and not candidates:
        names = [Product(name, "0") for name in catalogue.product_names(driver)]
        named = [c for c in others if c.name == "productName"]
        if named and any(all(_has(product, c) for c in named) for product in names[len(products) :]):
            return
        _no_such_product(products, others, found)
        return
    if not bounds or any(all(_has(p, c) for c in bounds) for p in candidates):
        return
    known = ", ".join(f"`{p.name}` {p.memory}" for p in candidates[:8])
    found.warning(
        "no-product-matches",
        "no known product meets this bound",
        bounds[-1].span,
        notes=[f"products publish {known}"],
        help=["a GPU publishes less memory than its name says: take a lower bound"],
    )


def _no_such_product(products: tuple[Product, ...], conditions: list[Condition], found: Diagnostics) -> None:
    """Tests of texts that no product passes; whole names are the matter of `check_product_names`."""
    alone = next((c for c in conditions if not any(_has(p, c) for p in products)), None)
    if alone is None:
        found.warning(
            "no-product-matches",
            "no known product meets all of these tests",
            conditions[-1].span,
            notes=[f"each of {' and '.join(f'`{c.name}`' for c in conditions)} alone is met by some"],
        )
        return
    if alone.name != "productName" or alone.operator in {"==", "in"}:
        return
    wanted = str(alone.values[0])
    names = [product.name for product in products]
    parts = {part for name in names for part in (name, *re.split(r"[ _-]", name))}
    alike = wanted.translate(_ALIKE)
    close = alike if any(alike in name for name in names) else suggestion(wanted, sorted(parts))
    help = [f"did you mean `{close}`?"] if close else []
    if close == wanted:
        help = [f"write `{{contains: {wanted}}}`: that is a part of `{_first_with(wanted, names)}`"]
    test = {"contains": "contains", "startsWith": "starts with", "endsWith": "ends with"}.get(
        alone.operator, "passes"
    )
    found.warning(
        "no-product-matches",
        f"no known product has a name that {test} `{wanted}`",
        alone.span,
        notes=["products publish " + ", ".join(f"`{name}`" for name in names[:8])] if not close else [],
        help=help,
    )


def _first_with(part: str, names: list[str]) -> str:
    return next(name for name in names if part in name)


def check_product_names(model: Model, found: Diagnostics) -> None:
    """A part of a product's name, where the whole name is wanted, matches nothing."""
    for device in model.devices:
        known = catalogue.product_names(device.driver)
        for condition in device.conditions:
            if condition.name != "productName" or condition.operator not in {"==", "in"}:
                continue
            for value in map(str, condition.values):
                whole = next((name for name in known if value in name), value)
                if known and value not in known and whole == value:
                    close = suggestion(value, known)
                    found.warning(
                        "no-product-matches",
                        f"no known product is called `{value}`",
                        condition.span,
                        help=[f"did you mean `{close}`?"] if close else [],
                    )
                elif whole != value and value not in known:
                    found.warning(
                        "no-product-matches",
                        f"no known product is called `{value}`",
                        condition.span,
                        notes=[f"the driver publishes the whole name, such as `{whole}`"],
                        help=[f"write `{{contains: {value}}}`"],
                    )


def _has(product: Product, condition: Condition) -> bool:
    if condition.name == "memory":
        return _compare(Quantity.parse(product.memory), condition)
    value = product.name if condition.name == "productName" else str(product.values.get(condition.name, ""))
    texts = [str(item) for item in condition.values]
    match condition.operator:
        case "==" | "in":
            return value in texts
        case "!=" | "notIn":
            return value not in texts
        case "contains":
            return texts[0] in value
        case "startsWith":
            return value.startswith(texts[0])
        case "endsWith":
            return value.endswith(texts[0])
        case _:
            return True


def _compare(memory: Quantity, condition: Condition) -> bool:
    bounds = [Quantity.parse(str(value)) for value in condition.values]
    match condition.operator:
        case ">=":
            return memory >= bounds[0]
        case ">":
            return memory > bounds[0]
        case "<=":
            return memory <= bounds[0]
        case "<":
            return memory < bounds[0]
        case "==" | "in":
            return memory in bounds
        case "!=" | "notIn":
            return memory not in bounds
        case _:
            return True


# --- constraints and selectors -----------------------------------------------------------------------------


def check_distinct(model: Model, found: Diagnostics) -> None:
    """Up to 1.36 a distinct constraint compares neighbours only (kubernetes#140438)."""
    if model.kubernetes == "1.37":
        return
    for claim in model.claims:
        counts = {r.name: max((a.count or 32 for a in r.alternatives), default=0) for r in claim.requests}
        for constraint in claim.constraints:
            meant = [name.split("/")[0] for name in constraint.requests] or list(counts)
            if constraint.distinct and any(counts.get(name, 0) > 2 for name in meant):
                found.warning(
                    "distinct-neighbours",
                    "of three and more devices the first and the third may be equal",
                    constraint.span,
                    notes=[f"Kubernetes {model.kubernetes} remembers only the last value of each request"],
                    help=["use requests for one or two devices each"],
                )


def check_sizes(model: Model, found: Diagnostics) -> None:
    """A class has a bounded number of selectors."""
    for device in model.devices:
        count = len(device.conditions) + len(device.cel) + 1
        if count > MAX_SELECTORS:
            found.error(
                "too-many", f"a class has at most {MAX_SELECTORS} selectors, not {count}", device.span
            )


def check_unused(model: Model, found: Diagnostics) -> None:
    """What is declared and leads to nothing."""
    for claim in model.claims:
        if not claim.namespaces:
            found.warning(
                "unused-claim",
                f"claim `{claim.name}` is used by no rule, so no template is made",
                claim.span,
                help=["use it in a rule, or say `namespaces:` where pods name the template themselves"],
            )
