"""What keeps a rule with `uses` away is told in words."""

from pathlib import Path

from policygen import explain
from policygen.render.explanation import text

ROOT = Path(__file__).parents[2]


def test_a_pod_that_uses_nothing():
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "plain", "namespace": "vision"},
        "spec": {"containers": [{"name": "main", "image": "plain:1"}]},
    }

    told = text([explain(ROOT / "policies" / "a100-one-numa-node" / "policy.yaml", pod)])

    assert "rule `a100-pair`: no container uses `nvidia.com/gpu`" in told
    assert "exists(" not in told
