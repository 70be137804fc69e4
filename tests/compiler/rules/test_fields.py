"""The table of settable fields, run in the API server's chain: what is there before, and after."""

from pathlib import Path

import pytest
import yaml
from compiler.rules.harness import (
    CRDS,
    cluster,
    compile_rules,
    create,
    pod,
    policies,
    put,
    read,
    unwrap,
    wrap,
)

FIELDS = yaml.safe_load((Path(__file__).parent / "fields.yaml").read_text(encoding="utf-8"))
CHOICES = ("keep", "replace", "reject")
KINDS = {"Pod": CHOICES, "Deployment": ("keep",), "JobSet": CHOICES}

CASES = [
    pytest.param(entry, kind, choice, id=f"{entry['field']}-{kind}-{choice}")
    for entry in FIELDS
    for kind in KINDS
    for choice in KINDS[kind]
    if choice in entry.get("only", CHOICES)
]


@pytest.mark.parametrize(("entry", "kind", "choice"), CASES)
def test_field(entry, kind, choice):
    if kind == "JobSet" and not CRDS.is_dir():
        pytest.skip("the real definitions of custom kinds are not at hand (../shared/crds)")
    bundle = compile_rules(entry["rule"] | {"match": {"workloads": [kind]}, "onConflict": choice})
    where = cluster([reinvoked(item) for item in policies(bundle)], kind)

    assert _forms(bundle) == {_stated(entry, kind, choice)}
    for state, value in entry["states"].items():
        made = pod(**entry.get("given", {}))
        put(made, entry["path"], value)
        outcome = create(where, wrap(kind, made))

        wanted = entry["after"][state]
        if isinstance(wanted, dict) and set(wanted) == set(CHOICES):
            wanted = wanted[choice]
            denied = choice == "reject"
        else:
            denied = isinstance(wanted, str) and "ask" in wanted
        if denied:
            assert not outcome.allowed, state
            assert _readable(wanted, kind) in outcome.message, state
        else:
            assert outcome.allowed, (state, outcome.message)
            assert _seen(entry["path"], outcome.object) == wanted, state


def _readable(wanted, kind):
    """The message for looked-up templates names no container."""
    return "there are claims for" if kind == "JobSet" and "asks for" in wanted else wanted


def _seen(path, obj):
    """The value without what plugins add to every pod."""
    value = read(unwrap(obj), path)
    if path == "spec.tolerations":
        return [item for item in value or [] if not str(item.get("key")).startswith("node.kubernetes.io/")]
    return value


def reinvoked(item):
    """The policy, run again after its own change: what the table states is the result of both runs."""
    if item["kind"] != "MutatingAdmissionPolicy":
        return item
    return item | {"spec": item["spec"] | {"reinvocationPolicy": "IfNeeded"}}


def _forms(bundle):
    """The patch types of a bundle."""
    mutations = [item.get("spec", {}).get("mutations", ()) for item in bundle.objects()]
    return {mutation["patchType"] for found in mutations for mutation in found}


def _stated(entry, kind, choice):
    """The patch type that the table states."""
    if kind == "JobSet":
        return "JSONPatch"
    stated = entry.get("replaced") if choice == "replace" else None
    stated = stated or entry["form"]
    return stated if isinstance(stated, str) else stated[kind]
