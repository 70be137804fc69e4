"""Compiling the expressions of a new policy, as the server does when it is created.

Apiserver `plugin/cel/{compile,composition}.go`: each method returns the server's words, or nothing when the
expression compiles to a type that its place allows.
"""

from __future__ import annotations

from typing import Final

from policygen.cel import types
from policygen.cel.env import Env, admission_env
from policygen.cel.errors import CompileError
from policygen.cel.program import compile_program

_PATCHES: Final = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}
_SIMPLE: Final = frozenset(
    {"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
)


class Compiler:
    """The environments of one policy; variables are added as they are met."""

    def __init__(self, version: str, *, has_params: bool) -> None:
        self._version = version
        self._has_params = has_params
        self._variables: dict[str, types.Type] = {}

    def _env(self, *, patch_types: bool = False, authorizer: bool = True, composed: bool = True) -> Env:
        env = admission_env(
            self._version, has_params=self._has_params, patch_types=patch_types, authorizer=authorizer
        )
        return env.with_variables(self._variables) if composed else env

    def condition(self, expression: str) -> str:
        """A match condition: variables are not there yet."""
        return _compile(expression, self._env(composed=False), ("bool",))[0]

    def variable(self, name: str, expression: str) -> str:
        """A variable, visible to what comes after it."""
        says, result = _compile(expression, self._env(), None)
        self._variables[name] = types.DYN if result is None else declarable(result)
        return says

    def patch(self, kind: str, expression: str) -> str:
        """A mutation."""
        return _compile(expression, self._env(patch_types=True), (_PATCHES[kind],))[0]

    def validation(self, expression: str) -> str:
        """A check of a validating policy."""
        return _compile(expression, self._env(composed=bool(self._variables)), ("bool",))[0]

    def message(self, expression: str) -> str:
        """A `messageExpression`: it cannot ask the authorizer."""
        env = self._env(authorizer=False, composed=bool(self._variables))
        return _compile(expression, env, ("string",))[0]

    def audit_annotation(self, expression: str) -> str:
        """The value of an audit annotation."""
        return _compile(expression, self._env(composed=bool(self._variables)), ("string", "null_type"))[0]


def _compile(expression: str, env: Env, allowed: tuple[str, ...] | None) -> tuple[str, types.Type | None]:
    try:
        program = compile_program(expression, env)
    except CompileError as error:
        return error.server_text, None
    result = program.result_type
    if allowed is None or str(result) in allowed or (result.kind == "null" and "null_type" in allowed):
        return "", result
    if len(allowed) == 1:
        return f"must evaluate to {allowed[0]} but got {result}", result
    return f"must evaluate to one of [{' '.join(allowed)}] but got {result}", result


def declarable(result: types.Type) -> types.Type:
    """The type with which a variable is declared: what the server's declarations can say, else `dyn`."""
    if result.kind in _SIMPLE:
        return result
    if result.kind == "list":
        return types.list_of(*map(declarable, result.params))
    if result.kind == "map":
        return types.map_of(*map(declarable, result.params))
    return types.DYN
