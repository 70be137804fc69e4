"""What the catalogue knows about a selector that the server does not."""

from __future__ import annotations

import pytest
from dra.devices import claim, exactly

from policygen.diagnostics import Diagnostic, Diagnostics
from policygen.dra.convert import read_class
from policygen.dra.lint import lint_claim, lint_selector

NVIDIA = "device.attributes['gpu.nvidia.com']"
MEMORY = "device.capacity['gpu.nvidia.com'].memory"


def lint(expression: str, release: str = "") -> list[Diagnostic]:
    found = Diagnostics()
    lint_selector(expression, found, releases={"gpu.nvidia.com": release})
    return list(found.sorted())


def codes(expression: str) -> list[str]:
    return [each.code for each in lint(expression)]


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (f"{NVIDIA}.type == 'gpu'", []),
        (f"{NVIDIA}.prodctName == 'x'", ["unknown-device-attribute"]),
        (f"{NVIDIA}['prodctName'] == 'x'", ["unknown-device-attribute"]),
        (f"{NVIDIA}.?prodctName.orValue('') == 'x'", ["unknown-device-attribute"]),
        (f"cel.bind(n, {NVIDIA}, n.typ == 'gpu')", ["unknown-device-attribute"]),
        ("device.attributes['gpu.nvidia.con'].type == 'gpu'", ["unknown-device-domain"]),
        (f"{MEMORY} >= 40", ["quantity-as-number"]),
        (f"{MEMORY} >= quantity('40Gi')", ["quantity-as-number"]),
        (f"{MEMORY}.compareTo(quantity('40Gi')) >= 0", []),
        (f"{MEMORY}.compareTo(quantity('40GiB')) >= 0", ["not-a-quantity"]),
        (f"{NVIDIA}.driverVersion.compareTo(semver('550.127.08')) >= 0", ["not-a-semver"]),
        (f"{NVIDIA}.driverVersion.compareTo(semver('v550.127', true)) >= 0", []),
        (f"{NVIDIA}.driverVersion == '580.126.20'", ["device-attribute-type"]),
        (f"{NVIDIA}.type == 1", ["device-attribute-type"]),
        (f"{NVIDIA}.profile == '1g.10gb'", ["unguarded-device-attribute"]),
        (f"{NVIDIA}.type == 'mig' && {NVIDIA}.profile == '1g.10gb'", []),
        (f"{NVIDIA}.profile == '1g.10gb' && {NVIDIA}.type == 'mig'", []),
        (f"has({NVIDIA}.profile) && {NVIDIA}.profile == '1g.10gb'", []),
        (f"!has({NVIDIA}.profile) || {NVIDIA}.profile == '1g.10gb'", []),
        (f"has({NVIDIA}.profile) ? {NVIDIA}.profile == '1g.10gb' : false", []),
        (f"has({NVIDIA}.profile) || {NVIDIA}.profile == '1g.10gb'", ["unguarded-device-attribute"]),
        (f"'profile' in {NVIDIA} && {NVIDIA}.profile == '1g.10gb'", []),
        (f"{NVIDIA}.?profile.orValue('') == '1g.10gb'", []),
        ("device.attributes['resource.kubernetes.io'].numaNode == 0", ["unguarded-device-attribute"]),
        (")(", []),
    ],
)
def test_a_selector_is_judged_by_the_catalogue(expression: str, expected: list[str]) -> None:
    assert codes(expression) == expected


@pytest.mark.parametrize(
    ("expression", "hint"),
    [
        (
            "device.attributes['memory'].quantity >= 40",
            "for gpu.nvidia.com: `device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0`",
        ),
        (
            f"{NVIDIA}.memory >= 40",
            "it is a capacity: `device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0`",
        ),
        (f"{MEMORY} > 40", f"write `{MEMORY}.compareTo(quantity('40Gi')) > 0`"),
        (f"{NVIDIA}.prodctName == 'x'", "did you mean `productName`?"),
        (
            f"{NVIDIA}.numaNode == 0",
            "the driver calls it `resource.kubernetes.io/numaNode`: "
            "`device.attributes['resource.kubernetes.io'].numaNode`",
        ),
        (f"{NVIDIA}.driverVersion.compareTo(semver('550.127.08')) == 0", "write `semver('550.127.8')`"),
        (
            "device.attributes['gpu.intel.com'].numaNode == 0",
            "the driver publishes no NUMA node: align on `resource.kubernetes.io/pcieRoot` instead",
        ),
    ],
)
def test_the_help_leads_to_what_was_meant(expression: str, hint: str) -> None:
    assert [each for found in lint(expression) for each in found.help] == [hint]


def test_a_release_may_lack_what_a_later_one_has() -> None:
    expression = f"{NVIDIA}.index == 0"

    assert [each.code for each in lint(expression, "25.8")] == []
    assert [each.code for each in lint(expression, "main")] == ["unknown-device-attribute"]


def test_the_class_says_which_type_a_claim_is_about() -> None:
    mig = read_class(
        {
            "metadata": {"name": "any"},
            "spec": {"selectors": [{"cel": {"expression": f"{NVIDIA}.type == 'mig'"}}]},
        }
    )
    found = Diagnostics()

    lint_claim(claim([exactly("r", 1, f"{NVIDIA}.profile == '1g.10gb'")]), {"any": mig}, found)

    assert found.items == []


def test_only_earlier_selectors_guard_a_later_one() -> None:
    guard, use = f"has({NVIDIA}.profile)", f"{NVIDIA}.profile == '1g.10gb'"

    def of(*selectors: str) -> list[str]:
        found = Diagnostics()
        request = exactly("r", selectors=[{"cel": {"expression": each}} for each in selectors])
        lint_claim(claim([request]), {}, found)
        return [each.code for each in found]

    assert of(guard, use) == []
    assert of(use, guard) == ["unguarded-device-attribute"]
    assert of(use) == ["unguarded-device-attribute"]


def test_the_place_is_that_of_the_read() -> None:
    (only,) = lint(f"true && {NVIDIA}.typ == 'gpu'")

    assert only.primary is not None
    span = only.primary.span
    assert span.source.text[span.start : span.end] == f"{NVIDIA}.typ"


def test_distinct_attributes_are_not_kept_within_a_large_request() -> None:
    found = Diagnostics()
    constraint = {"distinctAttribute": "d.example.com/numa"}

    lint_claim(claim([exactly("r", 3)], [constraint]), {}, found)
    lint_claim(claim([exactly("r", 2)], [constraint]), {}, found)

    assert [each.code for each in found] == ["distinct-attribute-count"]
