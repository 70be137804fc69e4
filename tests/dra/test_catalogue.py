"""What the catalogue says about drivers, and that its tables hold together."""

from __future__ import annotations

import re

import pytest

from policygen.dra import catalogue

DRIVERS = catalogue.driver_names()


@pytest.mark.parametrize("name", DRIVERS)
def test_every_name_is_one_that_the_server_accepts(name: str) -> None:
    for term in catalogue.terms(name):
        assert re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,31}", term.name)
        assert len(term.domain) <= 63


@pytest.mark.parametrize("name", DRIVERS)
def test_releases_named_by_a_value_exist(name: str) -> None:
    driver = catalogue.find_driver(name)
    assert driver is not None
    for entry in driver.device_types:
        for use in (*entry.attributes, *entry.capacities):
            assert {use.since, use.until} <= {"", *driver.releases}


@pytest.mark.parametrize("name", DRIVERS)
def test_every_class_names_a_device_type(name: str) -> None:
    driver = catalogue.find_driver(name)
    assert driver is not None
    for entry in driver.classes:
        assert catalogue.device_type(driver, entry.device_type) is not None


@pytest.mark.parametrize("name", DRIVERS)
def test_examples_have_the_type_that_is_declared(name: str) -> None:
    types = {"string": str, "version": str, "quantity": str, "int": int, "bool": bool}
    for term in catalogue.terms(name):
        assert type(term.example) is types[term.type]


@pytest.mark.parametrize(
    ("driver", "word", "release", "expected"),
    [
        ("gpu.nvidia.com", "memory", "", "gpu.nvidia.com/memory"),
        ("gpu.nvidia.com", "migProfile", "", "gpu.nvidia.com/profile"),
        ("gpu.nvidia.com", "numaNode", "", "resource.kubernetes.io/numaNode"),
        ("gpu.nvidia.com", "numaNode", "25.8", None),
        ("gpu.amd.com", "numaNode", "", "gpu.amd.com/numaNode"),
        ("gpu.intel.com", "productName", "", "gpu.intel.com/model"),
        ("gpu.intel.com", "numaNode", "", None),
        ("dra.cpu", "numaNode", "0.1", "dra.net/numaNode"),
        ("dra.cpu", "numaNode", "", "resource.kubernetes.io/numaNode"),
    ],
)
def test_a_word_means_what_the_driver_calls_it(
    driver: str, word: str, release: str, expected: str | None
) -> None:
    term = catalogue.resolve(driver, word, release)

    assert (term.qualified if term else None) == expected


def test_words_lead_to_the_device_type_that_has_them() -> None:
    found = [
        catalogue.type_for("gpu.nvidia.com", words) for words in [("migProfile",), ("memory", "productName")]
    ]

    assert [entry.name if entry else None for entry in found] == ["mig", "gpu"]


def test_a_misspelt_word_is_suggested() -> None:
    assert catalogue.suggest_word("gpu.nvidia.com", "prodctName") == "productName"


def test_absence_is_explained() -> None:
    assert catalogue.why_absent("gpu.intel.com", "numaNode").startswith("the driver publishes no NUMA node")
    assert "main" in catalogue.why_absent("gpu.nvidia.com", "gpuModuleId")
