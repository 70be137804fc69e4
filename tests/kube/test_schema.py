"""The schemas of kinds, by version and from CRDs."""

import gzip
import json

import pytest
import vectors

from policygen.diagnostics import PolicygenError
from policygen.kube import catalog, crd, generate, schema
from policygen.kube.schema import ListOf, MapOf, Scalar, Struct

POD = catalog.load("1.36").get("v1", "Pod")


def test_the_bundle_is_what_its_sources_say():
    found = generate.sources()
    if found is None:
        pytest.skip("the facts and kubernetes-validate are not both at hand")

    assert generate.encode(generate.build(*found)) == generate.BUNDLE.read_bytes()


@pytest.mark.parametrize("version", catalog.SUPPORTED)
def test_every_kind_of_every_version_builds(version):
    loaded = catalog.load(version)
    for api_version, kind in loaded.kinds():
        built = loaded.get(api_version, kind)

        assert built.root.fields.keys() >= {"apiVersion", "kind"}, (api_version, kind)
        assert sum(1 for _ in schema.walk(built.root)) > 3


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        ("metadata.labels.app", None),
        ("spec.containers[].env[].value", None),
        ("spec.containers[].ports[].protocol", None),
        ("spec.tolerations[].key", "spec.tolerations"),
        ("spec.nodeSelector.pool", "spec.nodeSelector"),
        ('spec.nodeSelector["nvidia.com/gpu"]', "spec.nodeSelector"),
        (
            "spec.containers[].env[].valueFrom.secretKeyRef.key",
            "spec.containers[].env[].valueFrom.secretKeyRef",
        ),
        ("spec.containers[].args", "spec.containers[].args"),
        ("spec.topologySpreadConstraints[].labelSelector", "spec.topologySpreadConstraints[].labelSelector"),
        ("spec.containers[].resources.limits.cpu", None),
        ("spec.ephemeralContainers[].env[].value", None),
        ("spec.nope", None),
    ],
)
def test_what_merges_as_a_whole(path, prefix):
    assert POD.atomic_prefix(path) == prefix


def test_nodes_by_path():
    ports = POD.at("spec.containers[].ports")
    assert isinstance(ports, ListOf)
    assert (ports.list_type, ports.keys) == ("map", ("containerPort", "protocol"))
    assert isinstance(POD.at(("spec", "containers", "[]", "resources", "limits")), MapOf)
    assert POD.at("spec.containers[].resources.limits.cpu").kind == "quantity"
    assert POD.at("spec.nope") is None
    assert POD.at("spec.containers.name") is None
    assert POD.field_at("spec.containers[].ports[].protocol").default == "TCP"
    assert POD.field_at("spec.hostUsers").pointer
    assert POD.field_at("spec.volumes").patch_strategy == "merge,retainKeys"


@pytest.mark.parametrize("path", ["a", "a.b", "a[].b", 'a["x.y/z"].b', "[]"])
def test_paths_join_again(path):
    assert schema.join(schema.steps(path)) == path


def test_versions_differ():
    old, new = catalog.load("1.34"), catalog.load("1.37")

    assert old.get("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy") is None
    assert old.get("admissionregistration.k8s.io/v1beta1", "MutatingAdmissionPolicy") is not None
    assert old.get("v1", "Pod").at("spec.schedulingGroup") is None
    assert POD.at("spec.schedulingGroup") is not None
    assert new.has("resource.k8s.io/v1", "DeviceTaintRule")
    template = new.get("scheduling.k8s.io/v1alpha3", "Workload").at("spec.compositePodGroupTemplates[]")
    assert template is None or isinstance(template, Struct)


CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "jobs.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Job", "plural": "jobs"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["size"],
                                "properties": {
                                    "size": {"type": "integer", "minimum": 1, "default": 2},
                                    "port": {"x-kubernetes-int-or-string": True},
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                    "zones": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "options": {
                                        "type": "object",
                                        "additionalProperties": {"type": "boolean"},
                                    },
                                    "whole": {
                                        "type": "object",
                                        "x-kubernetes-map-type": "atomic",
                                        "properties": {"a": {"type": "number", "nullable": True}},
                                    },
                                },
                            }
                        },
                    }
                },
            },
            {"name": "v0", "served": False, "schema": {"openAPIV3Schema": {"type": "object"}}},
        ],
    },
}


def test_a_crd_gives_the_same_nodes():
    (job,) = crd.schemas_from_crd(CRD)

    assert (job.api_version, job.kind, job.plural, job.builtin) == ("example.com/v1", "Job", "jobs", False)
    assert job.subresources == ("status",)
    assert job.at("metadata.labels.x").kind == "string"
    assert job.at("spec.size").constraints.minimum == 1
    assert job.field_at("spec.size").default == 2
    assert job.field_at("spec.size").required
    assert job.at("spec.port").kind == "int-or-string"
    assert job.at("spec.free.anything").kind == "raw"
    assert job.at("spec.zones").list_type == "set"
    assert isinstance(job.at("spec.options.x"), Scalar)
    assert job.atomic_prefix("spec.whole.a") == "spec.whole"
    assert job.at("spec.whole.a").nullable


@pytest.mark.parametrize(
    "broken", [{}, {"spec": {"versions": 1}}, CRD | {"spec": CRD["spec"] | {"versions": "x"}}]
)
def test_a_broken_crd_is_a_user_error(broken):
    with pytest.raises(PolicygenError):
        crd.schemas_from_crd(broken)


def test_an_absent_version_is_a_user_error():
    with pytest.raises(PolicygenError):
        crd.schema_from_crd(CRD, "v9")


def test_real_definitions_read():
    folder = vectors.SHARED / "crds"
    if not folder.exists():
        pytest.skip("the real CRDs are not at hand")
    for path in sorted(folder.glob("*.json.gz")):
        for built in crd.schemas_from_crd(json.loads(gzip.decompress(path.read_bytes()))):
            assert sum(1 for _ in schema.walk(built.root)) > 20, path
