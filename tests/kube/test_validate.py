"""Objects against schemas, custom resources, and what strategies fill in."""

import copy

import pytest
import vectors
from hypothesis import given, settings
from hypothesis import strategies as st

from policygen.kube import catalog, crd, custom, strategy, validate

PODS = catalog.load("1.36").get("v1", "Pod")


def pod(**spec):
    return {"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [{"name": "a"}]} | spec}


@pytest.mark.parametrize(
    ("spec", "path", "message"),
    [
        ({"hostUser": False}, "spec.hostUser", "`Pod` has no field `spec.hostUser` in Kubernetes 1.34"),
        (
            {"schedulingGroup": {}},
            "spec.schedulingGroup",
            "`Pod` has no field `spec.schedulingGroup` in Kubernetes 1.34; Kubernetes 1.36 has it",
        ),
        ({"containers": [{}]}, "spec.containers.0.name", "`spec.containers[0].name` is required"),
        ({"containers": None}, "spec.containers", "`spec.containers` is required, but null"),
        (
            {"priority": "5"},
            "spec.priority",
            '`spec.priority` must be a whole number of 32 bits, not the text "5"',
        ),
        (
            {"priority": 2**31},
            "spec.priority",
            "`spec.priority` must be a whole number of 32 bits, not the number 2147483648",
        ),
        (
            {"nodeSelector": {"a": True}},
            "spec.nodeSelector.a",
            "`spec.nodeSelector.a` must be a text, not `true`",
        ),
        ({"tolerations": {}}, "spec.tolerations", "`spec.tolerations` must be a list, not a map"),
        (
            {"overhead": {"cpu": "x"}},
            "spec.overhead.cpu",
            '`spec.overhead.cpu` must be a quantity such as `4Gi`, not the text "x"',
        ),
        (
            {"containers": [{"name": "a"}] * 2},
            "spec.containers.1",
            "`spec.containers[1]` repeats an earlier element",
        ),
    ],
)
def test_problems(spec, path, message):
    (problem,) = validate.check(pod(**spec), "1.34")

    assert ".".join(str(step) for step in problem.path) == path
    assert problem.message == message


def test_help_and_kinds():
    assert validate.check(pod(hostUser=True), "1.36")[0].help == "did you mean `hostUsers`?"
    assert validate.check(pod(), "1.36") == []
    policy = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy"}
    assert "1.36 has it" in validate.check(policy, "1.34")[0].message
    assert validate.check({}, "1.36")[0].path == ("kind",)


@pytest.mark.parametrize("version", catalog.SUPPORTED)
def test_what_passes_here_passes_elsewhere(version):
    kubernetes_validate = pytest.importorskip(
        "kubernetes_validate", reason="kubernetes-validate is not installed"
    )
    for case in vectors.load("default.jsonl.gz")[::60]:
        obj = case["expect"]["object"]

        assert validate.check(obj, version) == []
        kubernetes_validate.validate(obj, version, strict=True)


CRD = {
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"kind": "Thing", "plural": "things"},
        "versions": [
            {
                "name": "v1",
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {
                                        "type": "string",
                                        "maxLength": 5,
                                        "minLength": 2,
                                        "pattern": "^[a-z]+$",
                                    },
                                    "size": {"type": "integer", "default": 2, "minimum": 1, "maximum": 9},
                                    "mode": {"type": "string", "enum": ["A", "B"], "default": "A"},
                                    "when": {"type": "string", "format": "date-time"},
                                    "maybe": {"type": "string", "nullable": True},
                                    "nested": {
                                        "type": "object",
                                        "default": {},
                                        "properties": {"deep": {"type": "boolean", "default": True}},
                                    },
                                    "zones": {
                                        "type": "array",
                                        "maxItems": 2,
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "env": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["name"],
                                        "items": {
                                            "type": "object",
                                            "properties": {"name": {"type": "string"}},
                                        },
                                    },
                                    "either": {
                                        "type": "object",
                                        "properties": {"a": {"type": "string"}, "b": {"type": "string"}},
                                        "oneOf": [{"required": ["a"]}, {"required": ["b"]}],
                                    },
                                    "free": {
                                        "type": "object",
                                        "x-kubernetes-preserve-unknown-fields": True,
                                        "properties": {"known": {"type": "integer"}},
                                    },
                                    "ratio": {
                                        "type": "number",
                                        "multipleOf": 0.5,
                                        "exclusiveMinimum": True,
                                        "minimum": 0,
                                    },
                                },
                                "x-kubernetes-validations": [{"rule": "self.size > 0"}],
                            }
                        },
                    }
                },
            }
        ],
    }
}
(THING,) = crd.schemas_from_crd(CRD)


def thing(**spec):
    return {
        "apiVersion": "example.com/v1",
        "kind": "Thing",
        "metadata": {"name": "t"},
        "spec": {"name": "abc"} | spec,
    }


def test_metadata_is_pruned_by_its_own_type_alone():
    schema = {
        "type": "object",
        "properties": {"template": {"type": "object", "properties": {"metadata": {"type": "object"}}}},
    }
    version = {"name": "v1", "schema": {"openAPIV3Schema": schema}}
    (kind,) = crd.schemas_from_crd({"spec": CRD["spec"] | {"versions": [version]}})
    metadata = {"labels": {"a": "b"}, "nope": 1}

    decoded = custom.decode({"metadata": metadata, "template": {"metadata": metadata}}, kind)

    assert decoded.value == {"metadata": {"labels": {"a": "b"}}, "template": {"metadata": {}}}
    assert decoded.unknown == ("metadata.nope", "template.metadata.labels", "template.metadata.nope")


def test_pruning_and_defaulting():
    given = thing(extra=1, size=None, maybe=None, free={"x": 1, "known": 2}, nested={"no": 1})
    before = copy.deepcopy(given)
    decoded = custom.decode(given, THING)

    assert decoded.unknown == ("spec.extra", "spec.nested.no")
    assert decoded.value["spec"] == {
        "name": "abc",
        "size": 2,
        "mode": "A",
        "maybe": None,
        "nested": {"deep": True},
        "free": {"x": 1, "known": 2},
    }
    assert given == before
    assert custom.decode(decoded.value, THING).value == decoded.value


def test_metadata_is_typed():
    given = thing() | {"metadata": {"name": "t", "labels": {}, "annotations": None}}

    assert custom.decode(given, THING).value["metadata"] == {"name": "t"}


@pytest.mark.parametrize(
    ("spec", "kind", "path", "detail"),
    [
        ({"size": 0}, "invalid", "spec.size", "spec.size in body should be greater than or equal to 1"),
        ({"size": 10}, "invalid", "spec.size", "spec.size in body should be less than or equal to 9"),
        ({"size": "x"}, "invalid", "spec.size", 'spec.size in body must be of type integer: "string"'),
        ({"size": 1.5}, "invalid", "spec.size", 'spec.size in body must be of type integer: "number"'),
        ({"name": "a"}, "invalid", "spec.name", "spec.name in body should be at least 2 chars long"),
        ({"name": "abcdef"}, "too-long", "spec.name", ""),
        ({"name": "AB"}, "invalid", "spec.name", "spec.name in body should match '^[a-z]+$'"),
        ({"mode": "C"}, "unsupported", "spec.mode", ""),
        ({"when": "x"}, "invalid", "spec.when", 'spec.when in body must be of type date-time: "x"'),
        ({"zones": ["a", "a"]}, "duplicate", "spec.zones[1]", ""),
        ({"zones": ["a", "b", "c"]}, "too-many", "spec.zones", ""),
        ({"env": [{"name": "a"}, {"name": "a"}]}, "duplicate", "spec.env[1]", ""),
        (
            {"either": {}},
            "invalid",
            "spec.either",
            "spec.either in body must validate one and only one schema (oneOf). Found none valid",
        ),
        ({"ratio": 0}, "invalid", "spec.ratio", "spec.ratio in body should be greater than 0"),
        ({"ratio": 0.7}, "invalid", "spec.ratio", "spec.ratio in body should be a multiple of 0.5"),
        (
            {"free": {"known": "x"}},
            "invalid",
            "spec.free.known",
            'spec.free.known in body must be of type integer: "string"',
        ),
    ],
)
def test_custom_field_problems(spec, kind, path, detail):
    (problem,) = custom.validate(thing(**spec), THING)

    assert (problem.kind, problem.detail) == (kind, detail)
    assert "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem.path)[1:] == path


def test_required_fields():
    bare = thing()
    del bare["spec"]["name"]

    assert [(problem.kind, problem.path) for problem in custom.validate(bare, THING)] == [
        ("required", ("spec", "name"))
    ]
    assert custom.validate(thing(), THING) == []


RESOURCES = {
    "BestEffort": [{}],
    "Burstable": [{"requests": {"cpu": "1"}}],
    "Guaranteed": [{"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1Gi"}}],
}


@pytest.mark.parametrize("wanted", RESOURCES)
def test_qos(wanted):
    containers = [{"name": "a", "resources": resources} for resources in RESOURCES[wanted]]

    assert strategy.qos_class(pod(containers=containers)) == wanted


def test_qos_of_the_pod_as_a_whole():
    whole = {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1", "memory": "1Gi"}}

    assert strategy.qos_class(pod(resources=whole)) == "Guaranteed"
    assert strategy.qos_class(pod(containers=[{"resources": RESOURCES["Guaranteed"][0]}, {}])) == "Burstable"


def test_a_gated_pod_says_so():
    made = strategy.prepare_for_create(
        pod(schedulingGates=[{"name": "x"}]) | {"metadata": {"generateName": "p-"}}, PODS
    )

    assert made["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert made["metadata"]["name"].startswith("p-")


def test_label_keys_become_selectors():
    spread = {"labelSelector": {"matchLabels": {"app": "x"}}, "matchLabelKeys": ["rev", "none"]}
    made = strategy.prepare_for_create(
        pod(topologySpreadConstraints=[spread]) | {"metadata": {"name": "p", "labels": {"rev": "1"}}}, PODS
    )

    assert made["spec"]["topologySpreadConstraints"][0]["labelSelector"] == {
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "rev", "operator": "In", "values": ["1"]}],
    }


def test_updates_keep_the_status():
    old = pod() | {"status": {"phase": "Running"}}
    new = pod(priority=1) | {"status": {"phase": "Failed"}}

    assert strategy.prepare_for_update(new, old, PODS)["status"] == {"phase": "Running"}
    assert strategy.prepare_for_update(new, old, PODS, "status")["spec"] == old["spec"]


def test_a_status_update_takes_labels_but_no_owners():
    metadata = {"name": "p", "labels": {"new": "1"}, "ownerReferences": [{"name": "x"}]}
    new = pod() | {"metadata": metadata, "status": {"phase": "Failed"}}

    stored = strategy.prepare_for_update(new, pod(), PODS, "status")

    assert stored["metadata"] == {"name": "p", "labels": {"new": "1"}}
    assert stored["status"] == {"phase": "Failed"}


@given(
    st.dictionaries(
        st.sampled_from(sorted(THING.at("spec").fields)),
        st.none()
        | st.integers()
        | st.text(max_size=3)
        | st.lists(st.text(max_size=2), max_size=2)
        | st.just({}),
        max_size=4,
    )
)
@settings(max_examples=150, deadline=None)
def test_decoding_twice_equals_once(spec):
    given = {"apiVersion": "example.com/v1", "kind": "Thing", "spec": spec}
    once = custom.decode(given, THING).value

    assert custom.decode(once, THING).value == once
    assert custom.default(once, THING) == once
    custom.validate(once, THING)
