"""What `policygen eval` keeps between expressions: the environment, the data, and how answers are printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import click

from policygen.cel import types
from policygen.cel.budget import PER_CALL_LIMIT
from policygen.cel.env import Env, admission_env, device_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import check, compile_program
from policygen.cel.values import Value
from policygen.cli import exit as codes

_HELP: Final = """\
EXPRESSION        its value
:type EXPRESSION  its type
:ast EXPRESSION   its checked tree
:cost             print costs, or no longer
:let NAME EXPRESSION  keep a value as a variable
:vars             the variables
:help             this"""

_NO_REQUEST: Final = {
    "kind": {"group": "", "version": "", "kind": ""},
    "resource": {"group": "", "version": "", "resource": ""},
    "requestKind": {"group": "", "version": "", "kind": ""},
    "requestResource": {"group": "", "version": "", "resource": ""},
    "name": "",
    "namespace": "",
    "operation": "CREATE",
    "userInfo": {"username": "", "groups": []},
    "dryRun": False,
}


@dataclass(slots=True)
class Session:
    """One environment with its data."""

    env: Env
    activation: dict[str, Value]
    output: str = "yaml"
    cost: bool = False
    tree: bool = False
    kept: list[str] = field(default_factory=list)

    @classmethod
    def for_policy(
        cls, version: str, given: Mapping[str, Any], *, stored: bool, output: str, cost: bool, tree: bool
    ) -> Session:
        """What policies see. Names that the server does not declare are added as `dyn`."""
        from policygen.cel.lib.authorizer import Authorizer

        env = admission_env(version, has_params=True, patch_types=True, stored=stored)
        added = {name: types.DYN for name in given if name not in env.variables}
        authorizer = Authorizer({}, "")
        activation: dict[str, Value] = {
            **dict.fromkeys(("object", "oldObject", "params", "namespaceObject")),
            "request": _request(given.get("object")),
            "authorizer": authorizer,
            "authorizer.requestResource": authorizer.resource_check("", ""),
            **given,
        }
        return cls(env.declare(added) if added else env, activation, output, cost, tree)

    @classmethod
    def for_device(
        cls, version: str, device: Mapping[str, Any], *, output: str, cost: bool, tree: bool
    ) -> Session:
        """What DRA selectors see."""
        return cls(device_env(version), {"device": device}, output, cost, tree)

    def enter(self, line: str) -> int:
        """Run one line of an interactive session."""
        if not line.startswith(":"):
            return self.run(line)
        name, _, rest = line[1:].partition(" ")
        match name:
            case "type":
                return self._show_type(rest)
            case "ast":
                return self._show_tree(rest)
            case "cost":
                self.cost = not self.cost
            case "let":
                return self._keep(*rest.strip().partition(" ")[::2])
            case "vars":
                for variable, kind in sorted(self.env.variables.items()):
                    click.echo(f"{variable}: {kind.declared}")
            case _:
                click.echo(_HELP)
        return codes.OK

    def run(self, expression: str) -> int:
        """Print the value of an expression, or the server's error."""
        if self.tree:
            return self._show_tree(expression)
        try:
            program = compile_program(expression, self.env)
            value, cost = program.evaluate_with_cost(self.activation, limit=PER_CALL_LIMIT)
        except CompileError as error:
            click.echo(error.server_text, err=True)
            return codes.INVALID
        except EvalError as error:
            click.echo(error.message, err=True)
            if self.cost:
                click.echo(f"cost: {error.cost}", err=True)
            return codes.FAILED
        from policygen.render.cel_value import render

        answer = {"value": value, "type": program.result_type.declared}
        if self.cost:
            answer["cost"] = cost
        click.echo(render(answer, self.output), nl=False)
        return codes.OK

    def _show_type(self, expression: str) -> int:
        try:
            click.echo(check(expression, self.env).result_type.declared)
        except CompileError as error:
            click.echo(error.server_text, err=True)
            return codes.INVALID
        return codes.OK

    def _show_tree(self, expression: str) -> int:
        from policygen.render.cel_tree import render

        try:
            click.echo(render(check(expression, self.env)), nl=False)
        except CompileError as error:
            click.echo(error.server_text, err=True)
            return codes.INVALID
        return codes.OK

    def _keep(self, name: str, expression: str) -> int:
        if not name.isidentifier() or not expression.strip():
            click.echo(_HELP)
            return codes.INVALID
        try:
            program = compile_program(expression.strip(), self.env)
            self.activation[name] = program.evaluate(self.activation, limit=PER_CALL_LIMIT)
        except CompileError as error:
            click.echo(error.server_text, err=True)
            return codes.INVALID
        except EvalError as error:
            click.echo(error.message, err=True)
            return codes.FAILED
        self.env = self.env.declare({name: program.result_type})
        return codes.OK


def _request(manifest: Any) -> dict[str, Any]:
    """A request to create the object, as far as the object says."""
    if not isinstance(manifest, dict):
        return dict(_NO_REQUEST)
    group, _, version = str(manifest.get("apiVersion", "")).rpartition("/")
    kind = {"group": group, "version": version, "kind": str(manifest.get("kind", ""))}
    metadata = manifest.get("metadata")
    names = metadata if isinstance(metadata, dict) else {}
    return _NO_REQUEST | {
        "kind": kind,
        "requestKind": kind,
        "name": str(names.get("name", "")),
        "namespace": str(names.get("namespace", "")),
        "object": manifest,
    }
