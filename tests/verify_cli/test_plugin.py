"""The pytest plugin: suites are collected as tests, in the processes of other people."""

import subprocess
import sys
from pathlib import Path

import pytest
from verify_cli_files import PODS, SPEC, SUITE

import policygen.compiler.compile  # loaded here, so that tests in this process need not load it again
import policygen.render.full
import policygen.verify.engine  # noqa: F401
from policygen.verify.engine import PROPERTIES

pytest_plugins = ("pytester",)

PLUGIN = ("-p", "policygen.pytest_plugin")


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """Without other plugins, which take longer to start than the tests."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")


@pytest.fixture
def suite(pytester):
    """A folder with a suite."""
    for name, text in {"policy.yaml": SPEC, "pods.yaml": PODS, "suite.yaml": SUITE}.items():
        Path(pytester.path, name).write_text(text)
    return Path(pytester.path, "suite.yaml")


def pytest_of(pytester, *options):
    return pytester.runpytest_inprocess(*PLUGIN, *options)


def test_cases_and_properties_are_tests(pytester, suite):
    result = pytest_of(pytester, "-v")

    result.stdout.fnmatch_lines(["suite.yaml::training PASSED*", "suite.yaml::coverage PASSED*"])
    outcomes = result.parseoutcomes()
    assert outcomes["passed"] + outcomes["skipped"] == 2 + len(PROPERTIES)
    assert result.ret == 0


def test_a_failing_case_says_what_policygen_says(pytester, suite):
    suite.write_text(SUITE.replace("matched: gpu", "matched: []"))

    result = pytest_of(pytester, "--policygen-suites-only")

    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*error?case-failed?: case `training`: `gpu` has matched, which is not expected", "*this rule*"]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*runtest*")
    result.stdout.fnmatch_lines(["*___ case training ___*"])


def test_a_suite_of_several_versions_has_tests_for_each(pytester, suite):
    suite.write_text(SUITE.replace("policies:", 'kubernetes: ["1.35", "1.36"]\npolicies:'))

    result = pytest_of(pytester, "--policygen-suites-only", "-v")

    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["suite.yaml::training-1.35 PASSED*", "suite.yaml::training-1.36 PASSED*"])


def test_one_case_can_be_chosen(pytester, suite):
    result = pytest_of(pytester, "suite.yaml::web")

    result.assert_outcomes(passed=1)


def test_suites_for_the_same_policies_share_their_objects(pytester, suite):
    parts = SUITE.split("  - {name: web")
    suite.write_text(parts[0])
    suite.with_name("web.suite.yaml").write_text(
        parts[0].partition("  - {name: training")[0] + "  - {name: web" + parts[1]
    )

    result = pytest_of(pytester)

    outcomes = result.parseoutcomes()
    assert outcomes["passed"] + outcomes["skipped"] == 2 + len(PROPERTIES)
    assert result.ret == 0


def test_a_suite_with_errors_is_an_error(pytester, suite):
    suite.write_text(SUITE.replace("object: web", "object: webb"))

    result = pytest_of(pytester)

    assert result.ret == 2
    result.stdout.fnmatch_lines(["*suite-missing-fixture*", "*did you mean `web`*"])


def test_policies_with_errors_fail_every_test(pytester, suite):
    Path(pytester.path, "policy.yaml").write_text(SPEC.replace("inject", "injekt"))

    result = pytest_of(pytester, "--policygen-suites-only")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*did you mean `inject`*"])


def test_files_of_another_kind_are_left_alone(pytester):
    Path(pytester.path, "suite.yaml").write_text("kind: Other\n")
    Path(pytester.path, "policies.yaml").write_text("kind: PolicySuite\n")

    assert pytest_of(pytester).ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_files_named_like_suites_are_collected(pytester, suite):
    suite.rename(suite.with_name("gpu.suite.yaml"))

    pytest_of(pytester, "--policygen-suites-only").assert_outcomes(passed=2)


def test_the_plugin_loads_nothing_before_it_is_needed():
    code = (
        "import sys, pytest, policygen.pytest_plugin;"
        "print(sorted(name for name in sys.modules if name.startswith('policygen')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "['policygen', 'policygen.pytest_plugin']\n"


def test_the_project_declares_the_plugin():
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()

    assert '[project.entry-points.pytest11]\npolicygen = "policygen.pytest_plugin"' in text
