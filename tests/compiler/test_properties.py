"""What holds for every spec: the same bytes twice, no meaning in the order of keys, no unknown key let in."""

import copy
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from policygen.compiler import compile_spec, compile_text
from policygen.compiler.output import render_files, render_stream
from policygen.compiler.spec_base import Block
from policygen.diagnostics import PolicygenError

ROOT = Path(__file__).parent.parent.parent
SPECS = {
    path.parent.name: yaml.safe_load(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "policies").glob("*/policy.yaml"))
}
FREE = {"labels", "annotations", "env", "where", "nodeSelector", "parameters", "hard", "align", "capacity"}
"""Mappings whose keys are the user's own."""


def stream(document: object) -> str:
    return render_stream(compile_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True)))


def shuffled(value: object, draw: st.DrawFn) -> object:
    if isinstance(value, dict):
        keys = draw(st.permutations(list(value)))
        return {key: shuffled(value[key], draw) for key in keys}
    if isinstance(value, list):
        return [shuffled(item, draw) for item in value]
    return value


@pytest.mark.parametrize("name", SPECS)
def test_building_twice_gives_the_same_bytes(name):
    path = ROOT / "policies" / name / "policy.yaml"

    assert render_files(compile_spec([path])) == render_files(compile_spec([path]))


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_order_of_keys_means_nothing(data):
    document = SPECS[data.draw(st.sampled_from(sorted(SPECS)))]
    reordered = data.draw(st.composite(lambda draw: shuffled(document, draw))())

    assert stream(reordered) == stream(document)


def mappings(value: object, key: str = "") -> list[dict]:
    """The mappings of a spec whose keys are fixed."""
    if isinstance(value, list):
        return [found for item in value for found in mappings(item, key)]
    if not isinstance(value, dict):
        return []
    below = [found for name, item in value.items() for found in mappings(item, name)]
    named = key in {"priorities", "devices", "claims", "tenants", "volumes", "quotas", "perCount", "required"}
    amounts = {"default", "defaultRequest", "min", "max", "ratio", "container", "pod"}
    return below if key in FREE or named or key in amounts else [value, *below]


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_an_unknown_key_is_an_error_wherever_it_stands(data):
    document = copy.deepcopy(SPECS[data.draw(st.sampled_from(sorted(SPECS)))])
    places = mappings(document)
    place = places[data.draw(st.integers(0, len(places) - 1))]
    place["notAKey"] = 1

    with pytest.raises(PolicygenError) as raised:
        stream(document)
    assert {item.code for item in raised.value.diagnostics} & {
        "unknown-key",
        "not-in-schema",
        "one-of",
        "unknown-attribute",
        "undeclared-name",
    }


def test_every_block_refuses_unknown_keys():
    blocks = list(Block.__subclasses__())
    for block in blocks:
        blocks += block.__subclasses__()

    assert len(blocks) > 30
    assert all(block.model_config["extra"] == "forbid" for block in blocks)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=60))
def test_no_text_ends_in_anything_but_diagnostics(text):
    with pytest.raises(PolicygenError):
        compile_text(text)
