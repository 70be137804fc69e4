"""What every planned mutation guarantees: accepted, idempotent, order-independent, null-safe."""

import copy
import json
import random
import re
from functools import cache
from pathlib import Path

import kubernetes_validate
import pytest
import yaml
from compiler.rules.harness import (
    CRD_FILES,
    CRDS,
    cluster,
    compile_rules,
    create,
    pod,
    policies,
    put,
    unwrap,
    wrap,
)

from policygen.admission.compilation import compile_policy
from policygen.admission.policy import read_policy
from policygen.cel.env import admission_env
from policygen.cel.errors import CompileError
from policygen.cel.program import compile_program
from policygen.cel.types import DYN

FIELDS = yaml.safe_load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"))
RULES = {entry["field"]: entry["rule"] for entry in FIELDS}
VERSIONS = ("1.34", "1.35", "1.36", "1.37")
BUILT_IN = ["Pod", "Deployment", "CronJob"]
CUSTOM = ["JobSet", "LeaderWorkerSet", "PyTorchJob", "RayCluster", "RayJob"]


def needs_definitions():
    if not CRDS.is_dir():
        pytest.skip("the real definitions of custom kinds are not at hand (../shared/crds)")


# --- accepted ----------------------------------------------------------------------------------------------


SHAPES = ["Pod", "Job", "JobSet"]
EVERYTHING = {
    "place": {
        "priority": "high",
        "claim": {"perCount": {"1": "gpu-1", "4": "gpu-4"}},
        "nodeSelector": {"pool": "gpu"},
        "nodeAffinity": {"required": {"zone": ["a"]}, "preferred": [{"labels": {"zone": "a"}}]},
        "tolerate": ["nvidia.com/gpu"],
        "spread": [{"over": "zone", "by": ["app"]}],
        "apart": [{"over": "host", "by": ["app"]}],
        "schedulingGates": ["example.com/quota"],
    },
    "inject": {
        "userNamespace": True,
        "env": {"A": "b", "NODE": {"field": "spec.nodeName"}},
        "sharedMemory": "1Gi",
        "labels": {"team": "a"},
    },
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("rollout", ["enforce", "observe"])
def test_every_object_is_valid(version, rollout):
    more = {"onConflict": "reject", "match": {"workloads": SHAPES}, "rollout": rollout}
    for item in policies(compile_rules(EVERYTHING | more, version=version)):
        kubernetes_validate.validate(item, version, strict=True)


@pytest.mark.parametrize(
    ("choice", "rollout"), [("reject", "enforce"), ("replace", "enforce"), ("reject", "observe")]
)
def test_every_expression_compiles_for_every_shape(choice, rollout):
    """On the oldest version, whose new policies have the fewest functions."""
    version = "1.34"
    match = {"workloads": BUILT_IN + CUSTOM, "labels": {"app": "x"}, "image": {"startsWith": "train"}}
    for rule in RULES.values():
        more = {"onConflict": choice, "match": match, "rollout": rollout}
        for item in policies(compile_rules(rule | more, version=version)):
            errors = [error for text, form in expressions(item) for error in uncompiled(text, form, version)]
            assert errors == [], item["metadata"]["name"]


@pytest.mark.parametrize(("version", "before"), [("1.34", "1.33"), ("1.37", "1.36")])
def test_every_policy_compiles_with_the_types_of_its_variables(version, before):
    """A server compiles new policies as the version before it compiles stored ones."""
    more = {"onConflict": "reject", "match": {"workloads": ["Pod", "JobSet"]}}
    bundle = compile_rules(*(rule | more for rule in combined(RULES).values()), version=version)
    for item in policies(bundle):
        if item["kind"].endswith("Policy"):
            found = compile_policy(read_policy(item), before)
            assert [expression.error for expression in found.errors()] == [], item["metadata"]["name"]


def expressions(policy):
    """The expressions of a policy with the type that each must have."""
    spec = policy["spec"]
    for condition in spec.get("matchConditions", ()):
        yield condition["expression"], "bool"
    for variable in spec.get("variables", ()):
        yield variable["expression"], ""
    for mutation in spec.get("mutations", ()):
        applies = mutation.get("applyConfiguration")
        form = "Object" if applies else "list(JSONPatch)"
        yield (applies or mutation["jsonPatch"])["expression"], form
    for validation in spec.get("validations", ()):
        yield validation["expression"], "bool"
        if "messageExpression" in validation:
            yield validation["messageExpression"], "string"


@cache
def uncompiled(text, form, version):
    """What is wrong with an expression of a policy that is being created on a server of this version."""
    names = dict.fromkeys(re.findall(r"variables\.(\w+)", text), DYN)
    patching = form in {"Object", "list(JSONPatch)"}
    env = admission_env(version, has_params=False, patch_types=patching)
    try:
        program = compile_program(text, env.with_variables(names) if names else env)
    except CompileError as error:
        return [error.server_text]
    found = str(program.result_type)
    return [f"{found} instead of {form}: {text}"] if form and found != form else []


# --- idempotent --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Pod", "CronJob", "JobSet", "PyTorchJob", "RayCluster"])
def test_a_second_admission_changes_nothing(kind):
    if kind in CRD_FILES:
        needs_definitions()
    rules = [rule | {"match": {"workloads": [kind]}} for rule in combined(RULES).values()]
    where = cluster(policies(compile_rules(*rules)), kind)
    once = create(where, wrap(kind, pod()))
    assert once.allowed, once.message

    twice = create(where, without_status(once.object))

    assert twice.allowed, twice.message
    assert twice.object == once.object


# --- order-independent -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["Pod", "JobSet"])
def test_the_order_of_policies_does_not_matter(kind):
    """Every pair of fields stands in both orders: forward and backward, and in some orders between.

    Lists may differ in the order of what was added to them.
    """
    if kind in CRD_FILES:
        needs_definitions()
    rules = list(combined(RULES).values())
    by_rule = [policies(compile_rules({"match": {"workloads": [kind]}} | rule)) for rule in rules]
    places = list(range(len(rules)))
    orders = [places, places[::-1], *(random.Random(seed).sample(places, len(places)) for seed in range(1))]
    seen = []
    for order in orders:
        stored = [item for place, rule in zip(order, by_rule, strict=True) for item in renamed(rule, place)]
        outcome = create(cluster(stored, kind), wrap(kind, pod()))
        assert outcome.allowed, outcome.message
        seen.append(unordered(outcome.object))

    assert [found == seen[0] for found in seen] == [True] * len(orders)


def renamed(objects, place):
    """The same policies under names that sort by their place: the order in which they run here."""
    out = copy.deepcopy(objects)
    for item in out:
        item["metadata"]["name"] = f"p{place:03}.{item['metadata']['name']}"
        if "policyName" in item["spec"]:
            item["spec"]["policyName"] = f"p{place:03}.{item['spec']['policyName']}"
    return out


def unordered(value):
    """Lists as sorted lists: what is compared is what is there, not in which order it was appended."""
    if isinstance(value, dict):
        return {key: unordered(part) for key, part in value.items()}
    if isinstance(value, list):
        return sorted((unordered(part) for part in value), key=lambda part: json.dumps(part, sort_keys=True))
    return value


def combined(rules):
    """One rule a field: those that write the same value are the same field, and one moves limits."""
    skipped = {
        "a pod with its own shared memory gets no volume",
        "claim of the container",
        "each container gets a claim of its own",
        "limit that came back",
        "limit whose claim has a name that the user took",
        "env is for containers that use the device",
        "several node selectors",
        "shared memory mount",
        "volume mount",
        "env",
        "claim entry",
    }
    return {name: rule for name, rule in rules.items() if name not in skipped}


def test_moving_a_limit_does_not_disable_the_rules_for_containers_that_use_it():
    mover = {"place": {"claim": {"perCount": {"1": "gpu-1", "4": "gpu-4"}}}}
    env = {"inject": {"env": {"NCCL_DEBUG": "INFO"}}}
    for rules in ([mover, env], [env, mover]):
        outcome = create(cluster(policies(compile_rules(*rules))), pod())

        main = outcome.object["spec"]["containers"][0]
        assert main["env"] == [{"name": "NCCL_DEBUG", "value": "INFO"}]
        assert main["resources"] == {"claims": [{"name": "gpu-4-main"}]}


def test_a_toleration_that_another_rule_covers_is_added_in_either_order():
    wide = {"place": {"tolerate": ["nvidia.com/gpu"]}}
    narrow = {"place": {"tolerate": ["nvidia.com/gpu:NoSchedule"]}}
    seen = []
    for rules in ([wide, narrow], [narrow, wide]):
        outcome = create(cluster(policies(compile_rules(*rules))), pod())
        seen.append(unordered(outcome.object["spec"]["tolerations"]))

    assert seen[0] == seen[1]
    assert len(seen[0]) == 4


# --- null-safe ---------------------------------------------------------------------------------------------

OPTIONAL = (
    "metadata.labels",
    "metadata.annotations",
    "spec.initContainers",
    "spec.nodeSelector",
    "spec.tolerations",
    "spec.affinity",
    "spec.topologySpreadConstraints",
    "spec.resourceClaims",
    "spec.volumes",
    "spec.schedulingGates",
    "spec.securityContext",
    "spec.hostUsers",
    "spec.priorityClassName",
    "spec.schedulerName",
    "spec.runtimeClassName",
    "spec.containers.side.env",
    "spec.containers.side.resources",
    "spec.containers.side.volumeMounts",
    "spec.containers.main.securityContext",
    "spec.containers.main.env",
    "spec.containers.main.volumeMounts",
    "spec.containers.main.resources.claims",
    "spec.containers.main.resources.requests",
)
SCALARS = ("hostUsers", "priorityClassName", "schedulerName", "runtimeClassName")
MAPS = ("labels", "annotations", "nodeSelector", "affinity", "resources", "securityContext", "requests")


@pytest.mark.parametrize(
    ("kind", "choice"),
    [
        ("Pod", "replace"),
        ("Pod", "reject"),
        ("Deployment", "keep"),
        ("JobSet", "keep"),
        ("RayCluster", "reject"),
    ],
)
def test_absent_null_and_empty_read_the_same(kind, choice):
    if kind in CRD_FILES:
        needs_definitions()
    match = {"match": {"workloads": [kind]}, "onConflict": choice}
    where = cluster(policies(compile_rules(*(rule | match for rule in combined(RULES).values()))), kind)

    for path in OPTIONAL:
        last = path.rpartition(".")[2]
        empties = [NULL] if last in SCALARS else [NULL, {}] if last in MAPS else [NULL, []]
        results = [
            create(where, wrap(kind, emptied(with_value(path, {"empty": empty})))) for empty in empties
        ]
        failed = [
            verdict.detail for outcome in results for verdict in outcome.verdicts if verdict.kind == "failed"
        ]
        assert failed == [], path
        assert {outcome.code for outcome in results} <= {201, 422}, path
        if kind not in CRD_FILES:
            absent = create(where, wrap(kind, with_value(path, None)))
            assert [outcome.object for outcome in results] == [absent.object] * len(results), path


@pytest.mark.parametrize("kind", ["JobSet", "LeaderWorkerSet", "PyTorchJob", "RayJob"])
@pytest.mark.parametrize(
    "metadata", [{}, {"metadata": None}, {"metadata": {}}], ids=["absent", "null", "empty"]
)
def test_parents_are_created_in_templates_that_have_none(kind, metadata):
    needs_definitions()
    rule = {"inject": {"labels": {"a": "b"}}, "place": {"apart": [{"over": "host", "labels": {"a": "b"}}]}}
    made = wrap(kind, pod())
    template = unwrap(made)
    del template["metadata"]
    template |= metadata

    where = cluster(policies(compile_rules(rule | {"match": {"workloads": [kind]}})), kind)
    outcome = create(where, made)

    assert outcome.allowed, outcome.message
    assert unwrap(outcome.object)["metadata"]["labels"] == {"a": "b"}
    assert list(unwrap(outcome.object)["spec"]["affinity"]) == ["podAntiAffinity"]


def with_value(path, value):
    """The pod with another value at a path."""
    made = pod()
    put(made, path, value)
    return made


NULL = "null"


def emptied(value):
    """Placeholders replaced by what they stand for."""
    if isinstance(value, dict):
        if set(value) == {"empty"}:
            return None if value["empty"] == NULL else value["empty"]
        return {key: emptied(part) for key, part in value.items()}
    if isinstance(value, list):
        return [emptied(part) for part in value]
    return value


def without_status(obj):
    """An object as a client would send it, its label-key selectors as they were before they were merged."""
    return {key: value for key, value in obj.items() if key != "status"}


def test_the_pod_inside_is_found():
    assert unwrap(wrap("Job", pod()))["spec"]["containers"][0]["name"] == "main"
