"""Reports for other programs, checked against the rules of their formats."""

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from policygen.cli.main import run

SARIF = json.loads((Path(__file__).parent / "sarif-rules.json").read_text())
"""The rules of SARIF 2.1.0 for what we write, with nothing else allowed."""

JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors", "time"}, {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors", "skipped", "time"}, {"testcase"}),
    "testcase": ({"name", "classname", "time", "file"}, {"skipped", "failure"}),
    "failure": ({"type", "message"}, set()),
    "skipped": ({"message"}, set()),
}
"""Element → its attributes and children."""
NUMBERS = ("tests", "failures", "errors", "skipped")


@pytest.fixture
def failing(project):
    suite = Path("suite.yaml").read_text()
    Path("suite.yaml").write_text(suite.replace("matched: gpu", 'denied: "<&]]>\\u0007\\""'))


def check_junit(node):
    attributes, children = JUNIT[node.tag]
    assert set(node.attrib) <= attributes
    assert {child.tag for child in node} <= children
    for name in NUMBERS:
        assert node.get(name, "0").isdigit()
    if "time" in node.attrib:
        assert float(node.attrib["time"]) >= 0
    for child in node:
        check_junit(child)


def test_all_reports_at_once(failing, capsys):
    reports = [
        f"--report={form}=out/report.{form}" for form in ("junit", "sarif", "json", "github", "markdown")
    ]

    assert run(["verify", ".", *reports]) == 1

    assert sorted(entry.name for entry in Path("out").iterdir()) == [
        f"report.{form}" for form in ("github", "json", "junit", "markdown", "sarif")
    ]
    assert "1 failed" in capsys.readouterr().out


def test_junit(failing):
    run(["verify", ".", "--report", "junit=junit.xml"])

    root = ET.parse("junit.xml").getroot()
    check_junit(root)
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["ml (Kubernetes 1.36)", "properties (Kubernetes 1.36)"]
    for suite in suites:
        assert int(suite.get("tests")) == len(suite.findall("testcase"))
        assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
        assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert int(root.get("tests")) == sum(int(suite.get("tests")) for suite in suites)
    (failure,) = suites[0].findall("testcase/failure")
    assert failure.get("type") == "case-failed"
    assert "suite.yaml:7" in failure.get("message")


def test_junit_of_faulty_input(project):
    Path("policy.yaml").write_text("kind: PlacementPolicy\n")

    assert run(["verify", ".", "--report", "junit=junit.xml"]) == 2

    root = ET.parse("junit.xml").getroot()
    check_junit(root)
    assert int(root.get("failures")) == 3


def test_sarif(failing):
    run(["verify", ".", "--report", "sarif=report.sarif"])

    log = json.loads(Path("report.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(log)
    (done,) = log["runs"]
    rules = done["tool"]["driver"]["rules"]
    for result in done["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    (failed,) = [result for result in done["results"] if result["ruleId"] == "case-failed"]
    region = failed["locations"][0]["physicalLocation"]["region"]
    assert region["startLine"] == 7
    assert (region["startLine"], region["startColumn"]) < (region["endLine"], region["endColumn"])


def test_sarif_of_a_run_without_findings(project):
    run(["verify", ".", "--report", "sarif=report.sarif"])

    log = json.loads(Path("report.sarif").read_text())
    jsonschema.Draft202012Validator(SARIF).validate(log)
    assert log["runs"][0]["results"] == []


def test_github_annotations_stand_on_one_line_each(failing, capsys):
    run(["verify", ".", "--suites-only", "-o", "github"])

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("::error file=suite.yaml,line=7,col=")


def test_the_report_says_the_same_as_the_exit_code(project):
    assert run(["verify", ".", "--report", "json=report.json"]) == 0
    assert json.loads(Path("report.json").read_text())["passed"] is True


def test_a_report_replaces_an_older_one(project):
    Path("report.json").write_text("old")

    run(["verify", ".", "--suites-only", "--report", "json=report.json"])

    assert json.loads(Path("report.json").read_text())["passed"] is True
    assert not list(Path().glob(".report*"))
