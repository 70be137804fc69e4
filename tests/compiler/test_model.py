"""What the model says beyond what manifests show: counts of claims, what is use, order of variables."""

import pytest

from policygen.compiler.compile import load_text
from policygen.compiler.model import Model
from policygen.compiler.model_actions import ReplaceLimits, SetEnv
from policygen.diagnostics import Diagnostics

HEADER = (
    "apiVersion: policygen.dev/v1alpha1\nkind: PlacementPolicy\n"
    'metadata: {name: model}\nspec:\n  kubernetes: "1.36"\n'
)


def model_of(body: str) -> Model:
    return load_text(
        HEADER + "".join(f"  {line}\n" for line in body.splitlines()), "policy.yaml", Diagnostics()
    )


DEVICES = """\
devices:
  gpu: {driver: gpu.nvidia.com, release: main}
  other: {driver: gpu.nvidia.com, release: main, extendedResource: example.com/gpu}
  nic: {driver: dra.net}
"""


@pytest.mark.parametrize(
    ("requests", "count"),
    [
        ("{g: {device: gpu, count: 4}}", 4),
        ("{g: {device: gpu, count: 4}, n: {device: nic, count: 2}}", 4),
        ("{a: {device: gpu, count: 1}, b: {device: gpu, count: 2}}", 3),
        ("{a: {anyOf: [{device: gpu, count: 2}, {device: other, count: 2}]}}", 2),
    ],
)
def test_a_claim_stands_for_a_limit_of_as_many_devices(requests, count):
    model = model_of(
        f"{DEVICES}claims: {{c: {{devices: {requests}, replaces: nvidia.com/gpu}}}}\n"
        "rules: [{name: r, match: {namespaces: [n]}, place: {claim: c}}]\n"
    )
    (action,) = model.rules[0].actions
    assert isinstance(action, ReplaceLimits)

    assert [number for number, _ in action.by_count] == [count]


@pytest.mark.parametrize(
    ("claims", "uses", "resources", "templates"),
    [
        ("{}", "{device: gpu}", ["deviceclass.resource.kubernetes.io/gpu", "nvidia.com/gpu"], []),
        ("{}", "{device: other}", ["deviceclass.resource.kubernetes.io/other", "example.com/gpu"], []),
        ("{}", "{resource: nvidia.com/gpu}", ["nvidia.com/gpu"], []),
        (
            "{}",
            "{resource: example.com/gpu}",
            ["deviceclass.resource.kubernetes.io/other", "example.com/gpu"],
            [],
        ),
        (
            "{c: {devices: {x: {device: gpu}}, replaces: a.b/c, template: t, namespaces: [n]}}",
            "{device: gpu}",
            ["a.b/c", "deviceclass.resource.kubernetes.io/gpu"],
            ["t"],
        ),
        (
            "{c: {devices: {x: {device: gpu}}, replaces: a.b/c, template: t, namespaces: [n]}}",
            "{resource: a.b/c}",
            ["a.b/c"],
            ["t"],
        ),
    ],
)
def test_use_is_a_limit_or_a_claim(claims, uses, resources, templates):
    rule = f"{{name: r, match: {{uses: {uses}}}, inject: {{labels: {{a: b}}}}}}"
    model = model_of(f"{DEVICES}claims: {claims}\nrules: [{rule}]\n")
    (found,) = model.rules[0].match.uses

    assert (list(found.resources), list(found.templates)) == (resources, templates)


def test_a_variable_comes_after_those_that_it_refers_to():
    model = model_of("rules: [{name: r, inject: {env: {A: '$(Z)/$(B)', B: $(C), C: x, Z: y, D: $(D)}}}]\n")

    assert [action.name for action in model.rules[0].actions if isinstance(action, SetEnv)] == [
        *("C", "B", "Z", "A", "D")
    ]


@pytest.mark.parametrize(
    ("own", "spec", "expected"),
    [
        (None, None, "keep"),
        (None, "reject", "reject"),
        ("replace", "reject", "replace"),
        ("{env: replace}", "reject", "replace"),
        ("{env: {A: keep}}", "reject", "keep"),
        ("{env: {B: keep}}", "reject", "reject"),
        ("{default: replace}", "reject", "replace"),
        ("{labels: keep}", "{env: reject}", "reject"),
    ],
)
def test_what_to_do_on_conflict_is_said_nearest(own, spec, expected):
    body = "rules: [{name: r, inject: {env: {A: x, B: x}}" + (f", onConflict: {own}" if own else "") + "}]\n"
    model = model_of(body + (f"onConflict: {spec}\n" if spec else ""))
    action = model.rules[0].actions[0]

    assert action.on_conflict == expected
