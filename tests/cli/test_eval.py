"""`policygen eval`: values, types, costs and the server's words."""

from __future__ import annotations

import io
import json

import pytest

from policygen.cli.main import run

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: trainer, namespace: team-a}
spec: {priority: 5, containers: [{name: main, image: r/x}]}
"""
DEVICE = """\
driver: gpu.nvidia.com
attributes: {numa: {int: 0}, type: {string: gpu}}
capacity: {memory: {value: 80Gi}}
"""


@pytest.fixture
def pod(tmp_path):
    path = tmp_path / "pod.yaml"
    path.write_text(POD)
    return str(path)


def test_a_value_with_its_type(capsys):
    assert run(["eval", "1 + 1"]) == 0
    assert capsys.readouterr().out == "value: 2\ntype: int\n"


def test_the_object_and_the_cost(capsys, pod):
    assert run(["eval", "object.spec.containers.map(c, c.name)", "--object", pod, "--cost"]) == 0
    assert capsys.readouterr().out == "value: [main]\ntype: list(dyn)\ncost: 18\n"


def test_the_request_is_for_the_object(capsys, pod):
    assert run(["eval", "request.kind.kind + '/' + request.name", "--object", pod]) == 0
    assert capsys.readouterr().out == "value: Pod/trainer\ntype: string\n"


def test_json(capsys):
    assert run(["eval", "{'a': [1.5, 2.5]}", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "value": {"a": [1.5, 2.5]},
        "type": "map(string, list(double))",
    }


def test_a_compile_error_is_the_server_s_with_a_caret(capsys):
    assert run(["eval", "1 + 'a'"]) == 2
    assert capsys.readouterr().err == (
        "compilation failed: ERROR: <input>:1:3: found no matching overload for '_+_' applied to "
        "'(int, string)'\n | 1 + 'a'\n | ..^\n"
    )


def test_a_run_time_error_is_the_server_s(capsys, pod):
    assert run(["eval", "object.spec.nope", "--object", pod, "--cost"]) == 1
    assert capsys.readouterr().err == "no such key: nope\ncost: 3\n"


def test_variables(capsys, tmp_path):
    file = tmp_path / "v.yaml"
    file.write_text("a: 1\n")
    assert run(["eval", "x.b + y.a", "--var", "x={b: 2}", "--var", f"y=@{file}"]) == 0
    assert capsys.readouterr().out == "value: 3\ntype: dyn\n"


def test_a_variable_needs_a_value(capsys):
    assert run(["eval", "x", "--var", "x"]) in (2, 3)
    assert "NAME=YAML" in capsys.readouterr().err


def test_a_selector_on_a_device(capsys, tmp_path):
    file = tmp_path / "device.yaml"
    file.write_text(DEVICE)
    expression = "device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) > 0"
    assert run(["eval", expression, "--device", str(file), "--cost"]) == 0
    assert capsys.readouterr().out == "value: true\ntype: bool\ncost: 7\n"


def test_something_else_is_no_device(capsys, pod):
    assert run(["eval", "true", "--device", pod]) == 2
    assert "error[no-inventory]" in capsys.readouterr().err


def test_an_empty_file_is_no_object(capsys, tmp_path):
    file = tmp_path / "empty.yaml"
    file.write_text("# nothing\n")
    assert run(["eval", "object", "--object", str(file)]) == 2
    assert "error[empty-manifest]" in capsys.readouterr().err


def test_new_expressions_know_the_libraries_of_the_version_before(capsys):
    assert run(["eval", "lists.range(2)", "--kubernetes", "1.34"]) == 2
    assert run(["eval", "lists.range(2)", "--kubernetes", "1.34", "--stored"]) == 0
    assert run(["eval", "lists.range(2)", "--kubernetes", "1.35"]) == 0


def test_the_tree(capsys):
    assert run(["eval", "has(object.a) && size('x') > 1", "--ast"]) == 0
    assert capsys.readouterr().out == (
        "call _&&_ [logical_and] : bool  (1:15)\n"
        "  has .a : bool  (1:4)\n"
        "    object : dyn  (1:5)\n"
        "  call _>_ [greater_int64] : bool  (1:28)\n"
        "    call size [size_string] : int  (1:22)\n"
        '      "x" : string  (1:23)\n'
        "    1 : int  (1:30)\n"
    )


@pytest.mark.parametrize(
    ("expression", "shown"),
    [
        ("duration('90m')", '"5400s"'),
        ("optional.none()", "optional.none()"),
        ("b'a'", "\"'a'\""),
        ("type(1)", "int"),
        ("'yes'", '"yes"'),
        ("''", '""'),
        ("double('NaN')", "nan"),
        ("quantity('1.5Gi')", '"1536Mi"'),
    ],
)
def test_what_is_no_json_is_written_as_text(capsys, expression, shown):
    assert run(["eval", expression]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"value: {shown}"


def test_lines_from_standard_input(capsys, monkeypatch):
    monkeypatch.setattr(
        "sys.stdin", io.StringIO(":let x 1 + 2\nx * 2\n:type x\n\n:nope\n:cost\nx\n:let\ny\n")
    )
    assert run(["eval"]) == 2
    output = capsys.readouterr()
    assert output.out.startswith("value: 6\ntype: int\nint\nEXPRESSION")
    assert "cost: 1\n" in output.out
    assert "undeclared reference to 'y'" in output.err


def test_evaluation_is_bounded(capsys):
    assert run(["eval", "[1,2,3,4,5,6,7,8,9,10].all(a, " * 7 + "true" + ")" * 7]) == 1
    assert capsys.readouterr().err == "operation cancelled: actual cost limit exceeded\n"


def test_a_file_with_several_objects_is_one_too_many(capsys, tmp_path):
    path = tmp_path / "pods.yaml"
    path.write_text(f"---\n{POD}---\n# nothing\n---\n{POD}")

    assert run(["eval", "object.kind", "--object", str(path)]) == 2
    assert f"`{path}` holds 2 objects, `--object` takes one" in capsys.readouterr().err

    path.write_text(f"# first\n---\n{POD}---\n")
    assert run(["eval", "object.kind", "--object", str(path)]) == 0


def test_what_was_not_given_is_named(capsys, pod):
    assert run(["eval", "object.metadata.name"]) == 1
    assert "note: no `--object` was given, so `object` is null\n" in capsys.readouterr().err

    assert run(["eval", "object.spec.nothing == 'params'", "--object", pod]) == 1
    assert "note" not in capsys.readouterr().err
