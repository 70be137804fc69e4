"""What `rollout: observe` says of a pod is what enforcing the same rule would do to it."""

import pytest

from policygen.admission.cluster import Cluster
from policygen.admission.intake import Client, request_for
from policygen.admission.server import admit
from policygen.compiler import compile_text

SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: demo}
spec:
  kubernetes: "1.36"
  devices: {a100: {driver: gpu.nvidia.com, where: {productName: {contains: A100}}}}
  claims:
    one: {devices: {gpu: {device: a100, count: 1}}, replaces: nvidia.com/gpu}
  rules:
    - name: gpu
      rollout: observe
      match: {namespaces: {names: [team-a]}, uses: {device: a100}}
      place: {claim: one}
"""


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        ("1", "would set claims for `nvidia.com/gpu`"),
        ("2", "would be rejected: a limit of `nvidia.com/gpu` must be 1"),
    ],
)
def test_a_limit_that_would_be_moved_is_not_said_to_be_rejected(limit, said):
    cluster = Cluster.from_objects(compile_text(SPEC).objects(), open_namespaces=True)
    resources = {"limits": {"nvidia.com/gpu": limit}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a"},
        "spec": {"containers": [{"name": "main", "image": "train:1", "resources": resources}]},
    }

    outcome = admit(cluster, request_for(pod, cluster, Client()))

    assert outcome.allowed
    assert len(outcome.warnings) == 1
    assert said in outcome.warnings[0]
