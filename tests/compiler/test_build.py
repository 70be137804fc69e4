"""`build`, `init` and `schema`: what is written, what is left alone, and with which exit code."""

import errno
import io
import json
import sys
from pathlib import Path
from time import process_time

import jsonschema
import pytest
import yaml

from policygen.bench.build import many_rules
from policygen.cli.main import run
from policygen.compiler import compile_text
from policygen.compiler.output import HEADER, render_files

ROOT = Path(__file__).parent.parent.parent
SPEC = """\
apiVersion: policygen.dev/v1alpha1
kind: PlacementPolicy
metadata: {name: NAME}
spec:
  kubernetes: "1.36"
  priorities: {NAME-high: {value: 1000}, NAME-low: {value: 1}}
"""


@pytest.fixture
def project(tmp_path):
    write(tmp_path / "a" / "policy.yaml", SPEC.replace("NAME", "a"))
    write(tmp_path / "b" / "policy.yaml", SPEC.replace("NAME", "b"))
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


BUNDLE = ["kustomization.yaml", "priorityclass-a-high.yaml", "priorityclass-a-low.yaml"]


def test_a_directory_with_a_spec_is_one_bundle_beside_it(project, capsys):
    assert run(["build", str(project / "a")]) == 0
    assert names(project / "a" / "manifests") == BUNDLE
    assert capsys.readouterr().out == f"{project}/a/manifests: 2 objects\n"


def test_a_directory_of_directories_is_a_bundle_each(project):
    assert run(["build", str(project), "-o", str(project / "out")]) == 0
    assert names(project / "out") == ["a", "b"]
    assert names(project / "out" / "a") == BUNDLE


def test_other_yaml_files_beside_a_spec_are_no_specs(project):
    write(project / "a" / "suite.yaml", "apiVersion: policygen.dev/v1alpha1\nkind: PolicySuite\ncases: []\n")
    write(project / "a" / "values.yaml", "replicas: 1\n")

    assert run(["build", str(project / "a")]) == 0


def test_several_files_and_documents_are_one_spec(project, capsys):
    more = SPEC.replace("NAME-high", "c").replace("NAME-low", "d").replace("NAME", "a")
    third = more.replace("{c:", "{e:").replace(" d:", " f:")
    other = write(project / "more.yaml", f"---\n{more}---\n{third}")

    assert run(["build", str(project / "a" / "policy.yaml"), str(other), "-o", "-"]) == 0
    found = [item["metadata"]["name"] for item in yaml.safe_load_all(capsys.readouterr().out)]
    assert found == ["a-high", "a-low", "c", "d", "e", "f"]


def test_one_name_in_two_files_is_an_error_with_both_places(project, capsys):
    other = write(project / "other.yaml", SPEC.replace("NAME", "a"))

    assert run(["build", str(project / "a" / "policy.yaml"), str(other)]) == 2
    text = capsys.readouterr().err
    assert "priority `a-high` is declared twice" in text
    assert f"{project}/other.yaml:6:16" in text
    assert f"{project}/a/policy.yaml:6:16" in text


def test_check_says_what_differs(project, capsys):
    target = project / "a" / "manifests"
    assert run(["build", str(project / "a"), "--check"]) == 1
    run(["build", str(project / "a")])
    assert run(["build", str(project / "a"), "--check"]) == 0
    with (target / "priorityclass-a-low.yaml").open("a", encoding="utf-8") as file:
        file.write("# by hand\n")
    (target / "priorityclass-a-high.yaml").unlink()
    write(target / "priorityclass-old.yaml", HEADER + "\n")
    capsys.readouterr()

    assert run(["build", str(project / "a"), "--check"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"missing: {target}/priorityclass-a-high.yaml",
        f"differs: {target}/priorityclass-a-low.yaml",
        f"stale: {target}/priorityclass-old.yaml",
    ]
    assert (target / "priorityclass-a-low.yaml").read_text(encoding="utf-8").endswith("# by hand\n")


def test_stale_files_are_removed_and_foreign_ones_kept(project):
    target = project / "a" / "manifests"
    run(["build", str(project / "a")])
    write(target / "mine.yaml", "kind: ConfigMap\n")
    write(target / "notes.txt", "text")
    write(project / "a" / "policy.yaml", SPEC.replace("NAME-low", "other").replace("NAME", "a"))

    assert run(["build", str(project / "a")]) == 0
    assert names(target) == [
        "kustomization.yaml",
        "mine.yaml",
        "notes.txt",
        "priorityclass-a-high.yaml",
        "priorityclass-other.yaml",
    ]


def test_a_file_of_somebody_else_is_never_replaced(project, capsys):
    foreign = write(project / "a" / "manifests" / "kustomization.yaml", "resources: []\n")

    assert run(["build", str(project / "a")]) == 2
    assert "was not written by policygen" in capsys.readouterr().err
    assert names(foreign.parent) == ["kustomization.yaml"]
    assert foreign.read_text(encoding="utf-8") == "resources: []\n"


def test_output_that_cannot_be_written_leaves_what_was_there(project, capsys, monkeypatch):
    target = project / "a" / "manifests"
    run(["build", str(project / "a")])
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    changed = SPEC.replace("1000", "2000").replace("value: 1}", "value: 2}")
    write(project / "a" / "policy.yaml", changed.replace("NAME", "a"))
    written: list[str] = []
    write_text = Path.write_text

    def full_disk(self, *args, **kwargs):
        if written:
            raise OSError(28, "No space left on device", str(self))
        written.append(self.name)
        return write_text(self, *args, **kwargs)

    monkeypatch.setattr(Path, "write_text", full_disk)

    assert run(["build", str(project / "a")]) == 2
    assert "no space left on device" in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_output_below_a_file_is_an_error(project, capsys):
    assert run(["build", str(project / "a"), "-o", str(project / "a" / "policy.yaml" / "x")]) == 2
    assert "error[un" in capsys.readouterr().err


def test_output_that_is_a_file_is_left_alone(project, capsys):
    taken = write(project / "taken", "text")

    assert run(["build", str(project / "a"), "-o", str(taken)]) == 2
    assert "is no directory" in capsys.readouterr().err
    assert taken.read_text(encoding="utf-8") == "text"


def test_directories_and_links_among_the_output_are_left_alone(project, capsys):
    target = project / "a" / "manifests"
    (target / "overlay.yaml").mkdir(parents=True)
    run(["build", str(project / "a")])
    assert names(target) == sorted([*BUNDLE, "overlay.yaml"])

    (project / "loop").symlink_to(project / "loop")
    assert run(["build", str(project / "a"), "-o", str(project / "loop")]) == 2
    assert "levels of symbolic links" in capsys.readouterr().err


def test_the_bundle_of_another_spec_is_left_alone(project, capsys):
    target = project / "out"
    run(["build", str(project / "a"), "-o", str(target)])

    assert run(["build", str(project / "b"), "-o", str(target)]) == 2
    assert "holds the bundle of the spec `a`" in capsys.readouterr().err
    assert names(target) == BUNDLE


def test_a_stream_that_cannot_be_written_is_said(project, capsys, monkeypatch):
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("sys.stdout", Full())

    assert run(["build", str(project / "a"), "-o", "-"]) == 2
    sys.stdout.close()
    assert "no space left on device" in capsys.readouterr().err


def test_reading_a_device_ends(capsys):
    assert run(["build", "/dev/zero", "-o", "-"]) == 2
    assert "file-too-large" in capsys.readouterr().err


def test_one_bad_spec_of_several_writes_nothing(project):
    write(project / "b" / "policy.yaml", SPEC.replace("1000", "lots").replace("NAME", "b"))

    assert run(["build", str(project)]) == 2
    assert not (project / "a" / "manifests").exists()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: path.mkdir(), "no spec in"),
        (lambda _: None, "no such file or directory"),
        (lambda path: path.write_bytes(b"a: \xff\n"), "is not UTF-8"),
        (lambda path: path.write_text("", encoding="utf-8"), "holds no spec"),
    ],
    ids=["a directory without specs", "nothing", "not UTF-8", "empty"],
)
def test_what_is_no_spec_is_said(tmp_path, make, words, capsys):
    path = tmp_path / "thing"
    make(path)

    assert run(["build", str(path)]) == 2
    assert words in capsys.readouterr().err


def test_two_specs_cannot_share_a_directory(project, capsys):
    arguments = ["build", str(project / "a"), str(project / "b"), "-o", str(project / "out")]

    assert run(arguments) == 2
    assert "same-output" in capsys.readouterr().err


def test_check_of_a_stream_is_a_mistake_of_usage(project):
    assert run(["build", str(project / "a"), "-o", "-", "--check"]) == 3


def test_another_version_can_be_asked_for(project, capsys):
    assert run(["build", str(project / "a"), "-o", "-", "--kubernetes", "1.99"]) == 2
    assert "`kubernetes` cannot be `1.99`" in capsys.readouterr().err


def test_init_gives_a_spec_that_builds_for_every_version(tmp_path, capsys):
    for version in ("1.34", "1.35", "1.36", "1.37"):
        directory = tmp_path / f"gpu-{version.replace('.', '-')}"
        assert run(["init", str(directory), "--kubernetes", version]) == 0
        assert run(["build", str(directory)]) == 0
    assert run(["init", str(tmp_path / "gpu-1-36")]) == 2
    assert "exists already" in capsys.readouterr().err


def test_the_schema_is_valid_and_accepts_the_examples(capsys):
    assert run(["schema"]) == 0
    printed = capsys.readouterr().out
    schema = json.loads(printed)
    checker = jsonschema.Draft202012Validator

    checker.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert (ROOT / "docs" / "spec.schema.json").read_text(encoding="utf-8") == printed
    for path in sorted((ROOT / "policies").glob("*/policy.yaml")):
        text = path.read_text(encoding="utf-8")
        checker(schema).validate(yaml.safe_load(text))
        assert text.startswith("# yaml-language-server: $schema=../../docs/spec.schema.json\n")


def test_every_key_of_the_schema_is_described(capsys):
    run(["schema"])
    schema = json.loads(capsys.readouterr().out)
    silent = [
        f"{name}.{key}"
        for name, definition in schema["$defs"].items()
        for key, value in definition.get("properties", {}).items()
        if "description" not in value and name != "FullConflictSpec"
    ]

    assert silent == []


def test_the_work_grows_with_the_rules_and_not_faster():
    """Two hundred rules in four seconds; measured in processor time, as others may use the machine."""

    def work(count: int) -> float:
        text = many_rules(count)
        start = process_time()
        render_files(compile_text(text))
        return process_time() - start

    work(1)
    small, large = work(50), work(200)
    assert large < 4.0
    assert large < 8 * small
