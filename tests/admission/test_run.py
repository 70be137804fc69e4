"""The `run` command: files in, text and exit code out."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from policygen.cli.main import run

POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: users}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  matchConditions: [{name: container-network, expression: "!object.spec.?hostNetwork.orValue(false)"}]
  variables: [{name: first, expression: "object.spec.containers[0].name"}]
  mutations:
    - patchType: ApplyConfiguration
      applyConfiguration:
        expression: "Object{spec: Object.spec{hostUsers: variables.first == 'keep'}}"
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: users}
spec: {policyName: users}
"""

POD = "apiVersion: v1\nkind: Pod\nmetadata: {name: NAME}\nspec: {containers: [{name: c, image: i:1}]}\n"
HOST = POD.replace("NAME", "h").replace("spec: {", "spec: {hostNetwork: true, ")
BAD = POD.replace("NAME", "bad").replace("spec: {", "spec: {priorityClassName: nope, ")


@pytest.fixture(autouse=True)
def inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("policy.yaml").write_text(POLICY)


def pods(*names: str) -> str:
    return "---\n".join(POD.replace("NAME", name) for name in names)


def test_yaml_is_what_would_be_stored(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a", "b"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 0

    shown = capsys.readouterr()
    documents = list(yaml.safe_load_all(shown.out))
    assert [document["metadata"]["name"] for document in documents] == ["a", "b"]
    assert [document["spec"]["hostUsers"] for document in documents] == [False, False]
    assert documents[0]["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert shown.err == "2 objects: 2 changed, 0 unchanged, 0 refused\n"


def test_diff_shows_what_the_policies_change(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a") + "---\n" + HOST)

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "diff"]) == 0

    assert capsys.readouterr().out == (
        "Pod default/a (pods.yaml:1): changed\n"
        "  + spec.hostUsers: false\n"
        "Pod default/h (pods.yaml:6): unchanged\n"
    )


def test_explain_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a") + "---\n" + HOST)

    run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "diff", "--explain"])

    assert capsys.readouterr().out == (
        "Pod default/a (pods.yaml:1): changed\n"
        "  + spec.hostUsers: false\n"
        "  policy users: mutated\n"
        '      variables.first = "c"\n'
        "      + spec.hostUsers: false\n"
        "Pod default/h (pods.yaml:6): unchanged\n"
        "  policy users: skipped: matchConditions `container-network`\n"
    )


def test_json_is_one_line_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a") + "---\n" + BAD)

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "json", "--explain"]) == 1

    first, second = (json.loads(line) for line in capsys.readouterr().out.splitlines())
    assert (first["allowed"], first["changed"], first["source"]) == (True, True, "pods.yaml:1")
    assert first["verdicts"][0]["variables"] == {"first": "c"}
    assert second["message"] == 'pods "bad" is forbidden: no PriorityClass with name nope was found'


def test_a_refusal_is_exit_code_one(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(BAD)

    assert run(["--error-format", "concise", "run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 1

    shown = capsys.readouterr()
    assert "error[request-refused]: `Pod default/bad` (pods.yaml:1) is refused with 403\n" in shown.err
    assert shown.out.startswith("---\n# Pod default/bad: refused with 403: pods")


def test_faulty_documents_do_not_stop_the_others(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a") + "---\nkind: [\n---\n" + pods("b"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "diff"]) == 2

    shown = capsys.readouterr()
    assert "Pod default/a" in shown.out
    assert "Pod default/b" in shown.out
    assert "manifest-syntax" in shown.err


def test_standard_input_and_lists(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    items: list[Any] = [yaml.safe_load(text) for text in pods("a", "b").split("---\n")]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    assert run(["run", "-p", "policy.yaml", "-f", "-", "-o", "diff"]) == 0

    assert [line.split(" (")[0] for line in capsys.readouterr().out.splitlines()[::2]] == [
        "Pod default/a",
        "Pod default/b",
    ]


def test_several_processes_give_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text("---\n".join(pods(f"p{number}") for number in range(300)))
    run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "json"])
    alone = capsys.readouterr()

    run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "json", "--jobs", "3"])

    together = capsys.readouterr()
    assert together == alone
    assert len(alone.out.splitlines()) == 300


def test_loose_ends_are_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    broken = POLICY.replace("variables.first == 'keep'", "nope").replace(
        "policyName: users", "policyName: other"
    )
    Path("broken.yaml").write_text(broken)
    Path("pods.yaml").write_text(pods("a", "b"))

    run(["--error-format", "concise", "run", "-p", "broken.yaml", "-p", "broken.yaml", "-f", "pods.yaml"])

    shown = capsys.readouterr().err
    for code in ("policy-does-not-compile", "unbound-policy", "unknown-policy"):
        assert shown.count(f"warning[{code}]") == 1
    assert shown.count("warning[duplicate-object]") == 2


def test_an_unknown_kind_asks_for_its_definition(capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text(
        POLICY.replace("resources: [pods]", "resources: ['*']").replace('[""]', '["*"]')
    )
    Path("jobs.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Job\nmetadata: {name: a}\nspec: {containers: [{name: c}]}\n"
    )

    assert run(["run", "-p", "policy.yaml", "-f", "jobs.yaml"]) == 2

    shown = capsys.readouterr().err
    assert "error[unknown-kind]" in shown
    assert "CustomResourceDefinition" in shown


def test_a_policy_of_the_wrong_shape(capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text(POLICY.replace("patchType: ApplyConfiguration", "patchType: Merge"))
    Path("pods.yaml").write_text(pods("a"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 2

    shown = capsys.readouterr().err
    assert "error[refused-policy]" in shown
    assert 'Unsupported value: "Merge"' in shown


def test_a_misspelt_field_of_a_policy_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").write_text(POLICY.replace("matchConditions:", "matchCondition:"))
    Path("pods.yaml").write_text(pods("a"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 2

    assert 'unknown field "spec.matchCondition"' in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n---\n", '{"apiVersion": "v1", "kind": "List", "items": []}']
)
def test_no_object_is_an_error(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(text)
    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 2
    assert "error[no-objects]" in capsys.readouterr().err


def test_a_panic_of_the_server_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    expression = "[JSONPatch{op: 'add', path: '/spec/tolerations', value: [Object.spec.tolerations{}]}]"
    policy = yaml.safe_load_all(POLICY)
    first, binding = policy
    first["spec"]["mutations"] = [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}]
    Path("policy.yaml").write_text(yaml.safe_dump_all([first, binding]))
    Path("pods.yaml").write_text(pods("a"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 1

    assert "error[server-panic]" in capsys.readouterr().err


def test_namespaces_that_are_given_are_all_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a"))
    Path("ns.yaml").write_text("apiVersion: v1\nkind: Namespace\nmetadata: {name: team-a}\n")
    arguments = ["run", "-p", "policy.yaml", "-f", "pods.yaml", "-o", "json", "-n", "nowhere"]

    assert run(arguments) == 0
    assert run([*arguments, "--namespaces", "ns.yaml"]) == 1

    assert 'namespaces \\"nowhere\\" not found' in capsys.readouterr().out


def test_an_update_compares_with_what_is_stored(capsys: pytest.CaptureFixture[str]) -> None:
    check = (
        POLICY.replace("Mutating", "Validating")
        .replace("reinvocationPolicy: Never", "")
        .replace("CREATE", "UPDATE")
    )
    head, _, tail = check.partition("  variables:")
    check = head + "  validations: [{expression: 'object.metadata.?labels == oldObject.metadata.?labels'}]\n"
    check += tail[tail.index("---") :].replace(
        "policyName: users", "policyName: users, validationActions: [Deny]"
    )
    Path("check.yaml").write_text(check)
    Path("pods.yaml").write_text(POD.replace("{name: NAME}", "{name: a, labels: {new: label}}"))
    Path("stored.yaml").write_text(POD.replace("{name: NAME}", "{name: a, namespace: default}"))
    arguments = ["run", "-p", "check.yaml", "-f", "pods.yaml", "--operation", "update", "-o", "diff"]

    assert run(arguments) == 0
    assert run([*arguments, "--stored", "stored.yaml"]) == 1

    assert (
        "failed expression: object.metadata.?labels == oldObject.metadata.?labels" in capsys.readouterr().out
    )


def test_params_and_the_authorizer(capsys: pytest.CaptureFixture[str]) -> None:
    may = "string(authorizer.group('').resource('pods').check('create').allowed())"
    policy = POLICY.replace("hostUsers: variables.first == 'keep'", f"hostname: params.data.v + {may}")
    policy = policy.replace(
        "spec:\n  failure", "spec:\n  paramKind: {apiVersion: v1, kind: ConfigMap}\n  failure"
    )
    policy = policy.replace(
        "policyName: users", "policyName: users, paramRef: {name: cfg, parameterNotFoundAction: Deny}"
    )
    Path("policy.yaml").write_text(policy)
    Path("pods.yaml").write_text(pods("a"))
    Path("cfg.yaml").write_text(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cfg, namespace: default}\ndata: {v: x}\n"
    )
    arguments = ["run", "-p", "policy.yaml", "--params", "cfg.yaml", "-f", "pods.yaml", "-o", "diff"]

    assert run(arguments) == 0
    assert run([*arguments, "--allow", "admin|get||pods||||"]) == 0

    shown = capsys.readouterr().out
    assert '+ spec.hostname: "xtrue"' in shown
    assert '+ spec.hostname: "xfalse"' in shown


def test_stored_objects_must_be_of_their_kind(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a"))
    Path("class.yaml").write_text(
        "apiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: a}\nvalue: high\n"
    )

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "--stored", "class.yaml"]) == 2

    assert "error[invalid-object]: `PriorityClass a` is not what its kind says" in capsys.readouterr().err


def test_a_definition_of_the_wrong_shape(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(pods("a"))
    schema = "{openAPIV3Schema: {type: object, properties: {spec: [x]}}}"
    names = "names: {kind: Job, plural: jobs}"
    Path("crd.yaml").write_text(
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n"
        "metadata: {name: jobs.example.com}\n"
        f"spec: {{group: example.com, {names}, versions: [{{name: v1, served: true, schema: {schema}}}]}}\n"
    )

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "--stored", "crd.yaml"]) == 2

    where = "`spec.versions[0].schema.openAPIV3Schema.properties.spec` of the CustomResourceDefinition"
    assert f"error[invalid-crd]: {where} `jobs.example.com` is not a schema" in capsys.readouterr().err


def test_policies_alone(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pods.yaml").write_text(BAD)

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "--policies-only"]) == 0

    stored = yaml.safe_load(capsys.readouterr().out)
    assert "tolerations" not in stored["spec"]


def test_usage() -> None:
    assert run(["run", "-p", "policy.yaml"]) == 3
    assert run(["run", "-f", "x.yaml", "--plugin", "Nope"]) == 3
    assert run(["run", "-f", "absent.yaml"]) == 2


SPEC = """
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: users}
spec:
  kubernetes: "1.36"
  rules:
    - name: own-users
      match: {labels: {keep: "yes"}}
      inject: {userNamespace: true}
"""
WANTED = POD.replace("{name: NAME}", '{name: a, labels: {keep: "yes"}}')


@pytest.mark.parametrize("given", ["policies/users/spec.yaml", "policies/users", "policies", "."])
def test_specs_are_compiled(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("policy.yaml").unlink()
    folder = Path("policies/users")
    folder.mkdir(parents=True)
    (folder / "spec.yaml").write_text(SPEC)
    (folder / "suite.yaml").write_text("apiVersion: policygen.dev/v1alpha1\nkind: PolicySuite\n")
    (folder / "kustomization.yaml").write_text("resources: [x.yaml]\n")
    assert run(["build", str(folder)]) == 0
    Path("pod.yaml").write_text(WANTED)
    capsys.readouterr()

    assert run(["run", "-p", given, "-f", "pod.yaml", "-o", "diff"]) == 0

    shown = capsys.readouterr()
    assert "+ spec.hostUsers: false" in shown.out
    assert shown.err == ""


def test_manifests_beside_a_spec_count_too(capsys: pytest.CaptureFixture[str]) -> None:
    Path("spec.yaml").write_text(SPEC)
    Path("pod.yaml").write_text(WANTED.replace("name: c,", "name: keep,"))
    assert run(["run", "-p", ".", "-f", "pod.yaml", "--explain", "-o", "diff"]) == 0
    shown = capsys.readouterr().out
    assert "users.own-users" in shown
    assert "policy users:" in shown or "users: " in shown


@pytest.mark.parametrize("given", ["pod.yaml", "empty", "suite.yaml"])
def test_policies_without_a_policy_are_an_error(given: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("pod.yaml").write_text(WANTED)
    Path("suite.yaml").write_text("apiVersion: policygen.dev/v1alpha1\nkind: PolicySuite\n")
    Path("empty").mkdir()
    assert run(["run", "-p", given, "-f", "pod.yaml"]) == 2
    assert "error[no-policies]" in capsys.readouterr().err


def test_a_run_without_policies_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pod.yaml").write_text(WANTED)
    assert run(["run", "-f", "pod.yaml"]) == 0
    assert "warning[no-policies]" in capsys.readouterr().err


def growing(first: str, step: str, mutation: str) -> str:
    """The policy with thirty variables, each made of the one before it twice."""
    names = [
        f"{{name: v{n}, expression: '{step.replace('V', f'variables.v{n - 1}')}'}}" for n in range(1, 31)
    ]
    variables = ", ".join([f"{{name: v0, expression: '{first}'}}", *names])
    policy = POLICY.replace(
        """variables: [{name: first, expression: "object.spec.containers[0].name"}]""",
        f"variables: [{variables}]",
    )
    start = policy.index("    - patchType")
    end = policy.index("---\napiVersion", start)
    patch = f'    - patchType: JSONPatch\n      jsonPatch:\n        expression: "{mutation}"\n'
    return policy[:start] + patch + policy[end:]


@pytest.mark.parametrize("step", ["V + V", "[V, V]"])
def test_values_that_outgrow_memory_are_refused(step: str, capsys: pytest.CaptureFixture[str]) -> None:
    mutation = "[JSONPatch{op: 'add', path: '/metadata/labels', value: {'a': variables.v30}}]"
    Path("policy.yaml").write_text(growing("[1]", step, mutation))
    Path("pods.yaml").write_text(pods("a"))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "--explain"]) == 2

    shown = capsys.readouterr()
    assert "error[value-too-large]" in shown.err
    assert "unchanged" not in shown.out + shown.err


def test_a_fresh_scaffold_is_read_as_a_folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["init", "fresh"]) == 0
    capsys.readouterr()

    assert run(["run", "-p", "fresh", "-f", "fresh/fixtures"]) in {0, 1}
    assert run(["devices", "match", "true", "-f", "fresh", "--profile", "dgx-a100"]) == 0
    assert "apiVersion`" not in capsys.readouterr().err
    assert run(["run", "-p", "fresh", "-f", "fresh"]) == 2
    assert "has no manifest beside its specs and suites" in capsys.readouterr().err


def test_a_refusal_for_want_of_an_account_names_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    source = "{serviceAccountToken: {path: token, audience: vault}}"
    volume = f"volumes: [{{name: token, projected: {{sources: [{source}]}}}}]"
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: i}], VOLUME}\n"
    )
    Path("pods.yaml").write_text(text.replace("VOLUME", volume))

    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml"]) == 1
    assert "`--plugin ServiceAccount` does so here" in capsys.readouterr().err
    assert run(["run", "-p", "policy.yaml", "-f", "pods.yaml", "--plugin", "ServiceAccount"]) == 0
