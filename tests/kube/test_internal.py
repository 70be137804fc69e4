"""What comes back changed from the server's internal types, and DaemonSets' generations."""

import copy

import pytest
import vectors

from policygen.kube import catalog, defaults, strategy
from policygen.kube.internal import through_internal

GENERATION = "deprecated.daemonset.template.generation"


def trip(obj):
    schema = catalog.load("1.36").get(obj["apiVersion"], obj["kind"])
    typed = defaults.default_object(obj, "1.36")
    before = copy.deepcopy(typed)
    out = through_internal(typed, schema)

    assert typed == before
    assert through_internal(out, schema) == out
    return out


@pytest.mark.parametrize("field", ["serviceAccount", "serviceAccountName"])
def test_service_accounts_have_two_names(field):
    spec = {field: "runner", "containers": [{"name": "a"}]}
    pod = trip({"apiVersion": "v1", "kind": "Pod", "spec": spec})
    deployment = trip({"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": spec}}})

    for found in (pod["spec"], deployment["spec"]["template"]["spec"]):
        assert (found["serviceAccount"], found["serviceAccountName"]) == ("runner", "runner")


def test_the_new_name_of_a_service_account_wins():
    spec = {"serviceAccount": "old", "serviceAccountName": "new", "containers": []}

    assert trip({"apiVersion": "v1", "kind": "Pod", "spec": spec})["spec"]["serviceAccount"] == "new"


def test_texts_of_secrets_become_data():
    secret = trip(
        {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "hi"}, "data": {"a": "eA==", "b": "eA=="}}
    )

    assert secret["data"] == {"a": "aGk=", "b": "eA=="}
    assert "stringData" not in secret


def test_claims_of_stateful_sets_name_their_kind():
    spec = {"template": {"spec": {"containers": []}}, "volumeClaimTemplates": [{"metadata": {"name": "v"}}]}
    made = trip({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": spec})

    assert made["spec"]["volumeClaimTemplates"][0]["kind"] == "PersistentVolumeClaim"


def test_daemon_sets_count_their_templates():
    daemon_set = {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": "d"},
        "spec": {"template": {}},
    }
    schema = catalog.load("1.36").get("apps/v1", "DaemonSet")
    seen = trip(daemon_set)
    stored = strategy.prepare_for_create(seen, schema)
    same = strategy.prepare_for_update(seen, stored, schema)
    changed = copy.deepcopy(seen)
    changed["spec"]["template"]["spec"]["hostNetwork"] = True

    assert seen["metadata"]["annotations"] == {GENERATION: "0"}
    assert stored["metadata"]["annotations"] == {GENERATION: "1"}
    assert same["metadata"]["annotations"] == {GENERATION: "1"}
    assert strategy.prepare_for_update(changed, stored, schema)["metadata"]["annotations"] == {
        GENERATION: "2"
    }


def test_other_recorded_objects_come_back_as_they_went():
    for case in vectors.load("default.jsonl.gz"):
        obj = case["expect"]["object"]
        if obj["kind"] in ("Pod", "Deployment", "Job", "ReplicaSet"):
            if "serviceAccount" not in str(obj):
                assert trip(obj) == obj
