"""How long admission takes: one mutation, loading a policy, and many pods under many policies."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, Final

from policygen.admission.activation import subject_of
from policygen.admission.attributes import Attributes
from policygen.admission.cluster import Cluster
from policygen.admission.compilation import compile_policy
from policygen.admission.conditions import check_conditions
from policygen.admission.dispatcher import MutationRun
from policygen.admission.intake import Client, request_for, standard_namespaces
from policygen.admission.matching import Match, match
from policygen.admission.policy import read_policy
from policygen.admission.server import admit, decode
from policygen.bench.runner import best_of
from policygen.kube import reader

_PODS: Final = 300
_POLICIES: Final = 20
_GPU: Final = "c.?resources.?limits['nvidia.com/gpu'].hasValue()"
_POD: Final[dict[str, Any]] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "trainer", "namespace": "default", "labels": {"app": "train"}},
    "spec": {
        "containers": [
            {
                "name": "main",
                "image": "registry.local/train:1",
                "args": ["a", "b"],
                "env": [{"name": "NCCL_DEBUG", "value": "WARN"}, {"name": "RANK", "value": "0"}],
                "ports": [{"containerPort": 29500}, {"containerPort": 9400, "name": "m", "protocol": "UDP"}],
                "resources": {"limits": {"memory": "64Gi", "nvidia.com/gpu": "4"}},
                "volumeMounts": [{"name": "shm", "mountPath": "/data"}],
            },
            {"name": "side", "image": "busybox"},
        ],
        "initContainers": [{"name": "init", "image": "busybox", "env": [{"name": "A", "value": "1"}]}],
        "nodeSelector": {"pool": "gpu"},
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "ml", "effect": "NoSchedule"}],
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
    },
}
_EXPRESSIONS: Final = (
    "Object{metadata: Object.metadata{labels: {'l%d': variables.app}}}",
    f"Object{{spec: Object.spec{{containers: object.spec.containers.filter(c, {_GPU}).map(c, "
    "Object.spec.containers{name: c.name, env: [Object.spec.containers.env{name: 'E%d', value: '1'}]})}}",
    "has(object.spec.nodeSelector) ? [JSONPatch{op: 'add', path: '/spec/nodeSelector/k%d', value: 'v'}] : "
    "[JSONPatch{op: 'add', path: '/spec/nodeSelector', value: {'k': 'v'}}]",
    "[JSONPatch{op: 'add', path: '/spec/tolerations/-', "
    "value: Object.spec.tolerations{key: 't%d', operator: 'Exists'}}]",
    "Object{spec: Object.spec{hostUsers: %d < 0}}",
)


def measure(_vectors: Path | None) -> dict[str, float]:
    """The figures of this topic."""
    return {
        "mutation_us": median(_mutations()) * 1e6,
        "policy_compile_ms": _compile() * 1e3,
        **_bulk(),
    }


def _policy(number: int) -> dict[str, Any]:
    expression = _EXPRESSIONS[number % len(_EXPRESSIONS)] % number
    kind = "JSONPatch" if "JSONPatch{" in expression else "ApplyConfiguration"
    key = "jsonPatch" if kind == "JSONPatch" else "applyConfiguration"
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": f"p{number:02}"},
        "spec": {
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["pods"],
                    }
                ]
            },
            "matchConditions": [{"name": "gpu", "expression": f"object.spec.containers.exists(c, {_GPU})"}],
            "variables": [{"name": "app", "expression": "object.metadata.?labels['app'].orValue('none')"}],
            "mutations": [{"patchType": kind, key: {"expression": expression}}],
        },
    }


def _mutations() -> Iterator[float]:
    """Seconds from the request to the defaulted result, one for each kind of mutation."""
    cluster = Cluster.from_objects(standard_namespaces())
    request = decode(cluster, request_for(_POD, cluster, Client()))
    attributes = Attributes(request, request.object)
    for number in range(len(_EXPRESSIONS)):
        compiled = compile_policy(read_policy(_policy(number)), cluster.version)

        def mutate(compiled: Any = compiled) -> None:
            found = match(compiled.policy.match, attributes, cluster)
            assert isinstance(found, Match), "the policy matches"
            subject = subject_of(attributes, found, namespace=None, params=None, authorizer={})
            check_conditions(compiled, subject)
            run = MutationRun(compiled, subject, cluster, found, request.kind)
            run.all()
            assert not run.errors, run.errors

        yield best_of(mutate, 200)


def _compile() -> float:
    """Seconds to read and compile a policy, without what is loaded once for all of them."""
    times = []
    for number in range(2 * len(_EXPRESSIONS)):
        manifest = _policy(number)
        start = perf_counter()
        compile_policy(read_policy(manifest), Cluster().version)
        times.append(perf_counter() - start)
    return median(times)


def _bulk() -> dict[str, float]:
    """Pods a second under many policies, parsing included, and the process's peak of memory."""
    policies = [_policy(number) for number in range(_POLICIES)]
    bindings = [
        {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingAdmissionPolicyBinding",
            "metadata": {"name": policy["metadata"]["name"]},
            "spec": {"policyName": policy["metadata"]["name"]},
        }
        for policy in policies
    ]
    cluster = Cluster.from_objects([*standard_namespaces(), *policies, *bindings])
    text = "\n---\n".join(json.dumps(_POD, indent=1) for _ in range(_PODS))
    start = perf_counter()
    for document in reader.read_text(text):
        outcome = admit(cluster, request_for(document.value, cluster, Client()))
        assert outcome.allowed, outcome.message
    seconds = perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "bulk_pods_per_s": _PODS / seconds,
        "peak_mb": peak / (2**20 if sys.platform == "darwin" else 2**10),
    }
