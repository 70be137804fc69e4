"""`diff` with an inventory: devices that are matched and chosen otherwise are effects too."""

import json
from pathlib import Path

import pytest

from policygen.cli.main import run

EXAMPLE = Path(__file__).parents[2] / "policies" / "a100-one-numa-node"
FIXTURES = EXAMPLE.parents[1] / "fixtures"


@pytest.fixture(autouse=True)
def sides(tmp_path, monkeypatch):
    """The example, and the same with a class that no device of the inventory is of."""
    monkeypatch.chdir(tmp_path)
    for side, name in (("old", "A100"), ("new", "H100")):
        Path(side).mkdir()
        spec = (EXAMPLE / "policy.yaml").read_text().replace("contains: A100", f"contains: {name}")
        Path(side, "policy.yaml").write_text(spec)
        suite = (EXAMPLE / "suite.yaml").read_text().replace("../../fixtures", str(FIXTURES))
        Path(side, "suite.yaml").write_text(suite)


def test_other_devices_are_told(capsys):
    assert run(["diff", "old", "new", "--exit-code"]) == 1

    shown = capsys.readouterr().out
    assert "two GPUs become one claim on one NUMA node`): other devices" in shown
    assert "cannot be allocated (no node has the devices) instead of `gpu-0`, `gpu-1`" in shown
    assert "    matches 0 devices of the inventory instead of 16\n" in shown


def test_other_devices_as_json(capsys):
    assert run(["diff", "new", "old", "-o", "json"]) == 0

    data = json.loads(capsys.readouterr().out)
    assert data["objects"][0]["notes"] == ["matches 16 devices of the inventory instead of 0"]
    assert data["effects"][0]["devices"][0].startswith("claim `a100-pair-main` gets `gpu-0`, `gpu-1` instead")


def test_the_same_devices_are_no_effect(capsys):
    assert run(["diff", "old", "old", "--exit-code"]) == 0

    assert "devices" not in capsys.readouterr().out
