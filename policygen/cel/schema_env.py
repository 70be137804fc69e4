"""A stricter environment than the server's: `object` has the fields of its kind.

The server types `object` as `dyn`: it accepts a misspelt field and fails each request. This is for finding
such fields before; it is no judge of anything else, so only undefined fields are told and leaves are `dyn`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from policygen.cel import ast, types
from policygen.cel.checker import check
from policygen.cel.env import Env, Fields
from policygen.cel.errors import CompileError
from policygen.cel.program import parse
from policygen.cel.types import Type
from policygen.cel.unparse import unparse
from policygen.diagnostics import suggestion
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, Struct


@dataclass(frozen=True, slots=True)
class UndefinedField:
    """A field that the kind does not have. `offset` is where its name begins in the expression."""

    owner: str
    """What was looked into, as written: `object.spec`, `c`."""
    field: str
    offset: int
    meant: str | None
    """The field that was probably meant."""


def schema_env(env: Env, schemas: Mapping[str, KindSchema]) -> Env:
    """The environment with variables typed by kinds: `{"object": pod, "params": config_map}`."""
    variables: dict[str, Type] = {}
    structs: dict[str, Fields] = {}
    for name, schema in schemas.items():
        declared = _declarations(schema)
        variables[name] = types.struct(declared.root)
        structs |= declared.structs
    return env.declare(variables, structs)


def undefined_fields(text: str, env: Env) -> tuple[UndefinedField, ...]:
    """The fields in an expression that a schema environment does not know."""
    try:
        parsed = parse(text, env)
    except CompileError:
        return ()
    try:
        check(parsed, env)
    except CompileError as error:
        nodes = {node.id: node for node in ast.walk(parsed.expr)}
        found = (
            _undefined(parsed, nodes[issue.node], issue.undefined_field, env)
            for issue in error.issues
            if issue.undefined_field is not None and issue.node is not None and issue.node in nodes
        )
        return tuple(field for field in found if field is not None)
    return ()


def undefined_everywhere(text: str, env: Env, schemas: Iterable[KindSchema]) -> tuple[UndefinedField, ...]:
    """The fields that an expression reads from `object` or `oldObject` and none of some kinds has.

    An expression for several kinds may look for what only one of them has.
    """
    shared: dict[tuple[str, str, int], UndefinedField] | None = None
    for schema in schemas:
        kind_env = schema_env(env, {"object": schema, "oldObject": schema})
        fields = {(each.owner, each.field, each.offset): each for each in undefined_fields(text, kind_env)}
        shared = fields if shared is None else {key: shared[key] for key in shared if key in fields}
    return tuple((shared or {}).values())


def _undefined(parsed: ast.Parsed, node: ast.Expr, field: str, env: Env) -> UndefinedField | None:
    match node:
        case ast.Select(operand=operand):
            # `has(a.b)` stands where the macro stands; its argument stands at the dot
            call = parsed.info.macro_calls.get(node.id)
            dot = parsed.info.offsets[call.args[0].id if call is not None else node.id]
        case ast.Call(function="_?._", args=(operand, _)):
            dot = parsed.info.offsets[node.id]
        case _:
            return None
    owner = unparse(ast.Parsed(operand, parsed.info, parsed.depth))
    offset = max(parsed.info.text.find(field, dot), dot)
    return UndefinedField(owner, field, offset, _meant(operand, field, env))


def _meant(operand: ast.Expr, field: str, env: Env) -> str | None:
    """The nearest field of the type that the operand has where it is a chain of names."""
    known: Fields = {}
    names: list[str] = []
    while isinstance(operand, ast.Select):
        names.append(operand.field)
        operand = operand.operand
    if isinstance(operand, ast.Ident) and operand.name in env.variables:
        found: Type | None = env.variables[operand.name]
        for name in reversed(names):
            found = env.field_type(found.name, name) if found is not None else None
        known = env.structs.get(found.name, {}) if found is not None else {}
    elif isinstance(operand, (ast.Ident, ast.Call, ast.Comprehension)):
        known = {name: types.DYN for fields in env.structs.values() for name in fields}
    return suggestion(field, known)


@dataclass(frozen=True, slots=True)
class _Declarations:
    root: str
    structs: Mapping[str, Fields]


@cache
def _declarations(schema: KindSchema) -> _Declarations:
    """Every struct of a kind as a CEL type, by a name that cannot be written in CEL."""
    structs: dict[str, dict[str, Type]] = {}
    names: dict[Struct, str] = {}

    def declare(node: Struct) -> Type:
        if node.preserve_unknown or node.embedded:
            return types.DYN
        if node not in names:
            name = names[node] = f"{node.name or schema.kind}#{schema.api_version}#{len(names)}"
            fields = structs[name] = {}
            fields.update((key, convert(field.type)) for key, field in node.fields.items())
        return types.struct(names[node])

    def convert(node: Node) -> Type:
        match node:
            case Struct():
                return declare(node)
            case ListOf(element=element):
                return types.list_of(convert(element))
            case MapOf(value=value):
                return types.map_of(types.STRING, convert(value))
            case Scalar():
                return types.DYN

    root = declare(schema.root)
    return _Declarations(root.name, structs)
