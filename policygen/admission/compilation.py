"""A policy with its expressions compiled (apiserver `mutating/compilation.go`, `validating/plugin.go`).

An expression that does not compile is kept with its error: the server reports it when the policy is
invoked, not before. Variables are compiled in order; each sees those before it, with their types where
the type is one that the server's declarations can say, else as `dyn`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

from policygen.admission.policy import NamedExpression, Policy
from policygen.cel import types
from policygen.cel.env import Env, admission_env
from policygen.cel.errors import CompileError
from policygen.cel.program import Program, compile_program

_RETURNS: Final = {"ApplyConfiguration": "Object", "JSONPatch": "list(JSONPatch)"}


@dataclass(frozen=True, slots=True)
class Expression:
    """One compiled expression: a program, or the server's words why there is none."""

    name: str
    text: str
    program: Program | None
    error: str = ""


@dataclass(frozen=True, eq=False)
class CompiledPolicy:
    """Everything that a policy evaluates. Messages are parallel to validations, None where there is none."""

    policy: Policy
    variables: tuple[Expression, ...]
    conditions: tuple[Expression, ...]
    mutations: tuple[Expression, ...]
    validations: tuple[Expression, ...]
    messages: tuple[Expression | None, ...]
    audit_annotations: tuple[Expression, ...]

    def errors(self) -> Iterable[Expression]:
        """The expressions that do not compile, each once."""
        parts = (self.variables, self.conditions, self.mutations, self.validations, self.messages)
        for part in (*parts, self.audit_annotations):
            for expression in part:
                if expression is not None and expression.error:
                    yield expression


Maker: TypeAlias = Callable[[str, Env], Program]
"""Text and environment → program, or `CompileError`."""


@lru_cache(maxsize=1024)
def compile_policy(policy: Policy, version: str) -> CompiledPolicy:
    """Compile a stored policy for a server of this version. Kept: the same policy object compiles once."""
    return compile_with(policy, version, compile_program)


def compile_with(policy: Policy, version: str, make: Maker) -> CompiledPolicy:
    """The same with programs of the caller's making."""
    has_params = policy.param_kind is not None

    def environment(*, patch_types: bool = False, authorizer: bool = True) -> Env:
        return admission_env(
            version, has_params=has_params, patch_types=patch_types, stored=True, authorizer=authorizer
        )

    variables: list[Expression] = []
    declared: dict[str, types.Type] = {}
    plain = environment()
    for variable in policy.variables:
        compiled, result = _compile(variable, make, plain.with_variables(declared))
        variables.append(compiled)
        declared[variable.name] = types.DYN if result is None else _declarable(result)
    env = plain.with_variables(declared)
    patch_env = environment(patch_types=True).with_variables(declared) if policy.mutations else env
    message_env = environment(authorizer=False).with_variables(declared)
    return CompiledPolicy(
        policy=policy,
        variables=tuple(variables),
        conditions=tuple(_checked(item, make, env, ("bool",)) for item in policy.conditions),
        mutations=tuple(
            _checked(NamedExpression("", item.expression), make, patch_env, (_RETURNS[item.patch_type],))
            for item in policy.mutations
        ),
        validations=tuple(
            _checked(NamedExpression("", item.expression), make, env, ("bool",))
            for item in policy.validations
        ),
        messages=tuple(
            _checked(NamedExpression("", item.message_expression), make, message_env, ("string",))
            if item.message_expression
            else None
            for item in policy.validations
        ),
        audit_annotations=tuple(
            _checked(item, make, env, ("string", "null_type")) for item in policy.audit_annotations
        ),
    )


def _compile(source: NamedExpression, make: Maker, env: Env) -> tuple[Expression, types.Type | None]:
    try:
        program = make(source.expression, env)
    except CompileError as error:
        return Expression(source.name, source.expression, None, error.server_text), None
    return Expression(source.name, source.expression, program), program.result_type


def _checked(source: NamedExpression, make: Maker, env: Env, allowed: tuple[str, ...]) -> Expression:
    """Compile an expression that must have one of these types, exactly: `dyn` is none of them."""
    compiled, result = _compile(source, make, env)
    if result is None or result.declared in allowed:
        return compiled
    if len(allowed) == 1:
        says = f"must evaluate to {allowed[0]} but got {result.declared}"
    else:
        says = f"must evaluate to one of [{' '.join(allowed)}] but got {result.declared}"
    return Expression(source.name, source.expression, None, says)


_DECLARED: Final = frozenset(
    {"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"}
)


def _declarable(result: types.Type) -> types.Type:
    """The type that a variable is declared with (apiserver `cel/composition.go`)."""
    if result.kind in _DECLARED:
        return result
    if result.kind == "list":
        return types.list_of(*map(_declarable, result.params))
    if result.kind == "map":
        return types.map_of(*map(_declarable, result.params))
    return types.DYN
