"""`policygen devices` from end to end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from syrupy.assertion import SnapshotAssertion

from policygen.cli.main import run
from policygen.compiler.compile import compile_model, load_text
from policygen.diagnostics import Diagnostics
from policygen.dra.profiles import generate

CLAIM = """
apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata: {name: train, namespace: ml}
spec:
  spec:
    devices:
      requests:
      - name: gpu
        exactly:
          deviceClassName: gpu.nvidia.com
          count: 4
          selectors:
          - cel: {expression: "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0"}
      constraints:
      - {requests: [gpu], matchAttribute: resource.kubernetes.io/numaNode}
"""


@pytest.fixture
def claim(tmp_path: Path) -> str:
    path = tmp_path / "claim.yaml"
    path.write_text(CLAIM, encoding="utf-8")
    return str(path)


def test_match_says_which_values_decided(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    code = run(
        [
            "devices",
            "match",
            "device.driver == 'gpu.nvidia.com' && "
            "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('80Gi')) >= 0",
            "--profile",
            "mixed",
        ]
    )

    assert code == 0
    assert capsys.readouterr().out == snapshot


def test_match_counts_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(
        [
            "devices",
            "match",
            "device.attributes['resource.kubernetes.io'].numaNode == 0",
            "--profile",
            "gaudi3",
            "--quiet",
        ]
    )

    assert code == 1
    assert capsys.readouterr().out == "matches 0 of 8; fails on 8; attribute `numaNode` missing on 8\n"


def test_the_articles_selector_is_diagnosed(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    code = run(["devices", "match", "device.attributes['memory'].quantity >= 40", "--profile", "dgx-a100"])
    output = capsys.readouterr()

    assert code == 1
    assert output.out + output.err == snapshot


def test_match_of_a_claim_uses_its_class(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["devices", "match", "train", "-f", claim, "--profile", "mixed", "--quiet"])

    assert code == 0
    assert capsys.readouterr().out == "claim ml/train, request gpu\nmatches 24 of 36\n"


def test_an_invalid_selector_is_refused_in_the_servers_words(capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["devices", "match", "device.capacity['gpu.nvidia.com'].memory", "--profile", "t4"])

    assert code == 2
    assert "must evaluate to bool or the unknown type, not kubernetes.Quantity" in capsys.readouterr().err


def test_allocate_draws_the_node_and_explains_the_others(
    claim: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    svg = tmp_path / "node.svg"

    code = run(["devices", "allocate", "-f", claim, "--profile", "mixed", "--advice", "--svg", str(svg)])

    assert code == 0
    assert capsys.readouterr().out == snapshot
    assert svg.read_text(encoding="utf-8") == snapshot(name="svg")


def test_allocate_as_json_holds_the_servers_results(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    code = run(["devices", "allocate", "-f", claim, "--profile", "dgx-h100", "--json"])
    (node,) = json.loads(capsys.readouterr().out)["nodes"]

    assert code == 0
    assert [each["device"] for each in node["results"][0]["devices"]["results"]] == [
        f"gpu-{index}" for index in range(4)
    ]


def test_nothing_fits_is_an_exit_status(claim: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "allocate", "-f", claim, "--profile", "t4"]) == 1
    assert "the claim fits on 0 of 1 node" in capsys.readouterr().out


def test_inventory_writes_what_it_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "inventory", "--profile", "dgx-a100-mig", "--nodes", "2"]) == 0
    text = capsys.readouterr().out
    path = tmp_path / "slices.yaml"
    path.write_text(text, encoding="utf-8")

    assert list(yaml.safe_load_all(text)) == generate("dgx-a100-mig", 2)
    assert run(["devices", "inventory", "-f", str(path)]) == 0
    assert "dgx-a100-mig-1   32 devices: 32 free" in capsys.readouterr().out


@pytest.mark.parametrize("profile", ["dgx-a100", "dgx-h100-mig"])
def test_a_picture_of_a_node(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    path = tmp_path / "slices.yaml"
    path.write_text(yaml.safe_dump_all(generate(profile)), encoding="utf-8")

    run(["devices", "inventory", "-f", str(path)])

    assert capsys.readouterr().out == snapshot


def test_profiles_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "inventory"]) == 0
    assert "dgx-h100 " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["match", "true"], "no-inventory"),
        (["match", "gpu.nvida.com", "--profile", "t4"], "unknown-class"),
        (["match", "true", "--profile", "t4", "--node", "t4-1"], "unknown-node"),
        (["allocate", "--profile", "t4"], "no-claims"),
        (["match", "true", "-f", "missing.yaml"], "manifest-not-found"),
    ],
)
def test_wrong_input_is_a_diagnostic(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["devices", *arguments]) == 2
    assert f"error[{code}]" in capsys.readouterr().err


def test_the_specs_memory_selects_exactly_the_right_devices(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    spec = """
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: ml}
spec:
  kubernetes: "1.36"
  devices:
    big: {driver: gpu.nvidia.com, where: {memory: ">= 40Gi"}}
    bigger: {driver: gpu.nvidia.com, where: {memory: ">= 80Gi"}}
"""
    found = Diagnostics()
    bundle = compile_model(load_text(spec, "spec.yaml", found), found)
    path = tmp_path / "classes.yaml"
    classes = [each.object for each in bundle.manifests if each.kind == "DeviceClass"]
    path.write_text(yaml.safe_dump_all(classes), encoding="utf-8")

    counts = []
    for entry in classes:
        run(["devices", "match", entry["metadata"]["name"], "-f", str(path), "--profile", "mixed", "--quiet"])
        counts.append(capsys.readouterr().out.splitlines()[-1])

    # 4 T4 have 15Gi, 8 A100 40Gi, 8 A100 80Gi, 8 H100 81559Mi (less than 80Gi), 8 MI300X are AMD's.
    assert [each.split(";")[0] for each in counts] == ["matches 24 of 36", "matches 8 of 36"]


SPEC = """
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: big}
spec:
  kubernetes: "1.36"
  devices: {a100: {driver: gpu.nvidia.com, where: {productName: {contains: A100}}}}
  claims: {two: {namespaces: [ml], devices: {gpu: {device: a100, count: 2}}}}
"""


def test_a_spec_stands_for_its_classes_and_claims(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "spec.yaml").write_text(SPEC, encoding="utf-8")
    files = ["-f", str(tmp_path), "--profile", "dgx-a100"]

    assert run(["devices", "match", "a100", "--quiet", *files]) == 0
    assert "matches 8 of 8" in capsys.readouterr().out
    assert run(["devices", "allocate", "--no-picture", *files]) == 0
    assert "fits" in capsys.readouterr().out


def test_a_selector_that_is_too_complex_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    loops = "[1,2,3,4,5,6,7,8,9,10].all(a, " * 6 + "true" + ")" * 6

    assert run(["devices", "match", loops, "--quiet", "--profile", "dgx-a100"]) == 2

    assert "too complex, exceeds cost limit" in capsys.readouterr().err


def test_a_claim_that_a_quota_can_never_grant_is_an_exit_status(
    claim: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    quota = tmp_path / "quota.yaml"
    text = (
        "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: ml}\n"
        'spec: {hard: {gpu.nvidia.com.deviceclass.resource.k8s.io/devices: "COUNT"}}\n'
    )
    command = ["devices", "allocate", "-f", claim, "-f", str(quota), "--profile", "dgx-h100", "--no-picture"]

    quota.write_text(text.replace("COUNT", "3"), encoding="utf-8")
    assert run(command) == 1
    assert "quota `q` can never grant more than 3" in capsys.readouterr().err
    quota.write_text(text.replace("COUNT", "4"), encoding="utf-8")
    assert run(command) == 0


@pytest.mark.parametrize(
    ("given", "meant"),
    [("dgx-a100-80gb", "dgx-a100"), ("dgx-a100-40gb", "dgx-a100-40"), ("dgx-h10", "dgx-h100")],
)
def test_the_profile_that_was_meant(given: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["devices", "inventory", "--profile", given]) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err
