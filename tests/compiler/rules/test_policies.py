"""Which policies a rule becomes, on what they run, and how safe they are to roll out."""

import copy

import pytest
from compiler.rules.harness import (
    CRD_FILES,
    CRDS,
    cluster,
    compile_rules,
    create,
    pod,
    policies,
    put,
    read,
    unwrap,
    update,
    wrap,
)

from policygen.diagnostics import PolicygenError

SOFT = {"over": "zone", "labels": {"app": "x"}, "whenUnsatisfiable": "ScheduleAnyway"}
TRAIN = {"workloads": ["TrainJob"]}
POOL = {"place": {"nodeSelector": {"pool": "gpu"}}}


def policy(bundle, kind="MutatingAdmissionPolicy"):
    (found,) = [item for item in policies(bundle) if item["kind"] == kind]
    return found


def shape(bundle):
    """Kinds and names of the policies, without bindings."""
    return [
        (item["kind"].removesuffix("AdmissionPolicy"), item["metadata"]["name"])
        for item in policies(bundle)
        if item["kind"].endswith("Policy")
    ]


# --- which policies ----------------------------------------------------------------------------------------


def test_one_policy_and_binding_a_rule():
    bundle = compile_rules(POOL)

    assert shape(bundle) == [("Mutating", "ml.rule-1")]
    binding = policy(bundle, "MutatingAdmissionPolicyBinding")
    assert binding["spec"] == {"policyName": "ml.rule-1"}


def test_kinds_with_their_pods_at_one_place_share_a_policy():
    kinds = ["Deployment", "StatefulSet", "Job", "CronJob", "RayCluster"]
    bundle = compile_rules(POOL | {"match": {"workloads": kinds}})

    assert [name for _, name in shape(bundle)] == [
        "ml.rule-1.cronjobs",
        "ml.rule-1.rayclusters",
        "ml.rule-1.templates",
    ]
    templates = policies(bundle)[2]["spec"]["matchConstraints"]["resourceRules"]
    assert [(rule["apiGroups"], rule["resources"], rule["operations"]) for rule in templates] == [
        (["apps"], ["deployments", "statefulsets"], ["CREATE", "UPDATE"]),
        (["batch"], ["jobs"], ["CREATE"]),
    ]


def test_every_served_version_of_a_custom_kind_is_listed():
    spec = policy(compile_rules(POOL | {"match": {"workloads": ["RayJob"]}}))["spec"]

    assert spec["matchConstraints"]["resourceRules"][0]["apiVersions"] == ["v1", "v1alpha1"]


@pytest.mark.parametrize(
    ("version", "api"), [("1.34", "v1beta1"), ("1.35", "v1beta1"), ("1.36", "v1"), ("1.37", "v1")]
)
def test_the_version_decides_the_api_version(version, api):
    found = policy(compile_rules(POOL, version=version))

    assert found["apiVersion"] == f"admissionregistration.k8s.io/{api}"


# --- on what they run --------------------------------------------------------------------------------------


def test_tenant_namespaces_stand_on_the_policy():
    selector = policy(compile_rules(POOL))["spec"]["matchConstraints"]["namespaceSelector"]

    assert selector == {
        "matchExpressions": [{"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a"]}]
    }


def test_system_namespaces_are_exempt_by_default():
    selector = policy(compile_rules(POOL | {"match": {"namespaces": {"labels": {"tier": "gold"}}}}))["spec"]
    (exempt, label) = selector["matchConstraints"]["namespaceSelector"]["matchExpressions"]

    assert exempt["operator"] == "NotIn"
    assert "kube-system" in exempt["values"]
    assert label == {"key": "tier", "operator": "In", "values": ["gold"]}


def test_labels_of_pods_are_selected_before_anything_is_evaluated():
    spec = policy(compile_rules(POOL | {"match": {"labels": {"app": "x"}}}))["spec"]

    assert [condition["name"] for condition in spec["matchConditions"]] == ["uses-nvidia.com-gpu"]
    assert spec["matchConstraints"]["objectSelector"]["matchExpressions"] == [
        {"key": "policygen.dev/break-glass", "operator": "NotIn", "values": ["true"]},
        {"key": "app", "operator": "In", "values": ["x"]},
    ]


@pytest.mark.parametrize(
    ("match", "changes", "matched"),
    [
        ({}, {}, True),
        ({}, {"metadata.labels": {"policygen.dev/break-glass": "true"}}, False),
        ({"labels": {"app": "x"}}, {}, True),
        ({"labels": {"app": ["y", "z"]}}, {}, False),
        ({"labels": {"app": {"exists": False}}}, {}, False),
        ({"image": {"startsWith": "train:"}}, {}, True),
        ({"image": {"is": ["busybox", "other"]}}, {}, True),
        ({"image": {"endsWith": ":2"}}, {}, False),
        ({"owner": {"none": True}}, {}, True),
        ({"owner": {"kind": "Job", "group": "batch"}}, {}, False),
        ({"owner": {"kind": "Job", "group": "batch"}}, {"owner": "batch/v1 Job"}, True),
        ({"owner": {"kind": "Job", "group": "example.com"}}, {"owner": "batch/v1 Job"}, False),
        ({"owner": {"none": True}}, {"owner": "batch/v1 Job"}, False),
        ({}, {"spec.containers.main.resources": None}, False),
        ({}, {"spec.containers.main.resources": {"limits": {"nvidia.com/gpu": "0"}}}, False),
        ({}, {"spec.initContainers.init.resources": {"limits": {"nvidia.com/gpu": "1"}}}, True),
        ({"cel": "object.metadata.name == 'p'"}, {}, True),
        ({"cel": "has(object.spec.hostNetwork)"}, {}, False),
    ],
)
def test_match(match, changes, matched):
    made = pod(**{path: value for path, value in changes.items() if path != "owner"})
    if "owner" in changes:
        api_version, kind = changes["owner"].split()
        reference = {"apiVersion": api_version, "kind": kind, "name": "o", "uid": "u", "controller": True}
        made["metadata"]["ownerReferences"] = [reference]

    outcome = create(cluster(policies(compile_rules(POOL | {"match": match}))), made)

    assert outcome.allowed, outcome.message
    assert (read(outcome.object, "spec.nodeSelector") == {"pool": "gpu"}) is matched


@pytest.mark.parametrize(
    ("match", "matched"),
    [
        ({}, True),
        ({"labels": {"app": "x"}}, True),
        ({"labels": {"app": {"notIn": ["x"]}}}, False),
        ({"labels": {"nope": {"exists": True}}}, False),
        ({"image": {"contains": "rain"}}, True),
    ],
)
@pytest.mark.parametrize(
    "kind", ["StatefulSet", "CronJob", *(kind for kind in CRD_FILES if kind != "TrainJob")]
)
def test_match_speaks_of_the_pod_template(kind, match, matched):
    if kind in CRD_FILES and not CRDS.is_dir():
        pytest.skip("the real definitions of custom kinds are not at hand (../shared/crds)")
    rule = POOL | {"match": match | {"workloads": [kind]}}

    outcome = create(cluster(policies(compile_rules(rule)), kind), wrap(kind, pod()))

    assert outcome.allowed, outcome.message
    assert (read(unwrap(outcome.object), "spec.nodeSelector") == {"pool": "gpu"}) is matched


def test_only_the_templates_that_match_are_changed():
    if not CRDS.is_dir():
        pytest.skip("the real definitions of custom kinds are not at hand (../shared/crds)")
    rule = POOL | {"match": {"workloads": ["JobSet"]}}

    jobs = create(cluster(policies(compile_rules(rule)), "JobSet"), wrap("JobSet", pod())).object
    selectors = [
        read(job, "template.spec.template.spec.nodeSelector") for job in jobs["spec"]["replicatedJobs"]
    ]

    assert selectors == [None, {"pool": "gpu"}]


def test_patches_of_a_train_job_are_changed_where_they_are():
    if not CRDS.is_dir():
        pytest.skip("the real definitions of custom kinds are not at hand (../shared/crds)")
    rule = POOL | {"match": {"workloads": ["TrainJob"], "uses": None}}
    spec = {"containers": [{"name": "node"}], "tolerations": [{"key": "a", "operator": "Exists"}]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": spec}}}}
    made = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "t", "namespace": "team-a"},
        "spec": {
            "runtimeRef": {"name": "torch"},
            "runtimePatches": [
                {
                    "manager": "example.com/me",
                    "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}},
                }
            ],
        },
    }

    outcome = create(cluster(policies(compile_rules(rule)), "TrainJob"), made)

    assert outcome.allowed, outcome.message
    (patch,) = outcome.object["spec"]["runtimePatches"]
    (job,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    assert job["template"]["spec"]["template"]["spec"] == spec | {"nodeSelector": {"pool": "gpu"}}


def test_an_object_with_a_controller_is_left_to_it():
    where = cluster(policies(compile_rules(POOL | {"match": {"workloads": ["Deployment"]}})))
    made = wrap("Deployment", pod())
    reference = {"apiVersion": "example.com/v1", "kind": "App", "name": "o", "uid": "u", "controller": True}
    made["metadata"]["ownerReferences"] = [reference]

    assert read(create(where, made).object, "spec.template.spec.nodeSelector") is None


def test_an_update_is_handled_when_it_changes_the_pods():
    where = cluster(policies(compile_rules(POOL | {"match": {"workloads": ["Deployment"]}})))
    old = create(cluster([]), wrap("Deployment", pod())).object
    scaled, changed = copy.deepcopy(old), copy.deepcopy(old)
    scaled["spec"]["replicas"] = 7
    put(changed, "spec.template.spec.containers.main.image", "train:2")

    assert read(update(where, scaled, old).object, "spec.template.spec.nodeSelector") is None
    assert read(update(where, changed, old).object, "spec.template.spec.nodeSelector") == {"pool": "gpu"}


# --- what happens when -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "failure", "again"),
    [
        ({"inject": {"env": {"A": "b"}}}, "Ignore", "IfNeeded"),
        ({"inject": {"labels": {"a": "b"}}}, "Ignore", "Never"),
        ({"inject": {"labels": {"a": "b"}}, "onConflict": "reject"}, "Fail", "Never"),
        ({"inject": {"userNamespace": True}}, "Fail", "Never"),
        ({"place": {"priority": "high"}}, "Fail", "Never"),
        ({"place": {"tolerate": ["a"]}}, "Ignore", "Never"),
        ({"place": {"claim": "shared"}}, "Fail", "IfNeeded"),
        ({"place": {"spread": [{"over": "z", "by": ["app"]}]}}, "Fail", "IfNeeded"),
        ({"place": {"spread": [SOFT]}}, "Ignore", "Never"),
        ({"inject": {"env": {"A": "b"}}, "failurePolicy": "Fail"}, "Fail", "IfNeeded"),
    ],
)
def test_failure_and_reinvocation_are_chosen_and_explained(rule, failure, again):
    found = policy(compile_rules(rule))
    said = found["metadata"]["annotations"]

    assert (found["spec"]["failurePolicy"], found["spec"]["reinvocationPolicy"]) == (failure, again)
    assert said["policygen.dev/failure-policy"].startswith(f"{failure}: ")
    assert said["policygen.dev/reinvocation-policy"].startswith(f"{again}: ")


def test_the_observing_twin_changes_nothing_and_tells():
    rule = {"place": {"nodeSelector": {"pool": "gpu"}, "priority": "high"}, "rollout": "observe"}
    bundle = compile_rules(rule)
    outcome = create(cluster(policies(bundle)), pod())
    name = "ml.rule-1.observe"
    start = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': "

    assert shape(bundle) == [("Validating", "ml.rule-1.observe")]
    assert policy(bundle, "ValidatingAdmissionPolicyBinding")["spec"]["validationActions"] == [
        "Warn",
        "Audit",
    ]
    assert outcome.object == create(cluster([]), pod()).object
    assert list(outcome.warnings) == [
        f"{start}rule `rule-1`: would set priority class to `high`",
        f"{start}rule `rule-1`: would set node selector `pool` to `gpu`",
    ]


def test_the_observing_twin_is_silent_where_nothing_would_change():
    rule = POOL | {"inject": {"env": {"A": "b"}}, "rollout": "observe"}
    made = pod(
        **{"spec.nodeSelector": {"pool": "cpu"}, "spec.containers.main.env": [{"name": "A", "value": "c"}]}
    )

    assert create(cluster(policies(compile_rules(rule))), made).warnings == ()


@pytest.mark.parametrize("kind", ["Pod", "Deployment"])
def test_a_pod_without_the_label_is_skipped_and_reported(kind):
    rule = {"place": {"spread": [{"over": "zone", "by": ["team"]}]}, "match": {"workloads": [kind]}}
    where = cluster(policies(compile_rules(rule)))
    without = create(where, wrap(kind, pod()))
    with_label = create(where, wrap(kind, pod(**{"metadata.labels": {"app": "x", "team": "a"}})))

    assert without.allowed
    assert read(unwrap(without.object), "spec.topologySpreadConstraints") is None
    assert "skipped spread over `zone`: the pod lacks one of the labels `team`" in without.warnings[0]
    assert with_label.warnings == ()
    (constraint,) = read(unwrap(with_label.object), "spec.topologySpreadConstraints")
    assert constraint["matchLabelKeys"] == ["team"]


@pytest.mark.parametrize("field", ["hostNetwork", "hostPID", "hostIPC"])
def test_pods_that_share_a_host_namespace_keep_it(field):
    where = cluster(policies(compile_rules({"inject": {"userNamespace": True}})))
    outcome = create(where, pod(**{f"spec.{field}": True}))

    assert outcome.allowed, outcome.message
    assert "hostUsers" not in outcome.object["spec"]
    assert "skipped user namespace" in outcome.warnings[0]


# --- where it came from ------------------------------------------------------------------------------------


def test_every_part_leads_back_to_the_spec():
    bundle = compile_rules(
        {"place": {"nodeSelector": {"pool": "gpu"}}, "inject": {"env": {"NCCL_DEBUG": "INFO"}}}
    )
    kind, name = "MutatingAdmissionPolicy", "ml.rule-1"
    found = policy(bundle)["spec"]
    parts = [
        (part, index)
        for part in ("mutations", "variables", "matchConditions")
        for index in range(len(found[part]))
    ]
    texts = {}
    for part, index in parts:
        trace = bundle.trace(kind, name, ("spec", part, index))
        assert trace is not None, (part, index)
        texts[part, index] = trace.span.source.text[trace.span.start : trace.span.end]

    assert texts["mutations", 0] == '"gpu"'
    assert texts["mutations", 1] == '"INFO"'


# --- what cannot be done -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "code"),
    [
        (
            [{"place": {"priority": "high"}, "match": {"workloads": ["TrainJob"], "uses": None}}],
            "unsupported-on-workload",
        ),
        ([{"place": {"tolerate": ["a"]}, "match": {"workloads": ["TrainJob"]}}], "unsupported-on-workload"),
        (
            [POOL | {"match": {"workloads": ["Pod", "Job"], "owner": {"kind": "Job"}}}],
            "owner-of-workload",
        ),
        (
            [POOL | {"match": {"workloads": ["Deployment", "Job"], "operation": ["UPDATE"]}}],
            "unsupported-on-workload",
        ),
        (
            [
                {"inject": {"labels": {"gpu": "yes"}}},
                {"place": {"tolerate": ["a"]}, "match": {"labels": {"gpu": "yes"}}},
            ],
            "match-depends-on-order",
        ),
    ],
)
def test_what_no_mutation_can_do_is_an_error(rules, code):
    with pytest.raises(PolicygenError) as caught:
        compile_rules(*rules)

    assert code in {diagnostic.code for diagnostic in caught.value.diagnostics}
