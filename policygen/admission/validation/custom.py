"""Rules of custom kinds: metadata, the schema of the CRD, then its CEL rules.

Apiextensions-apiserver `registry/customresource/strategy.go`, `apiserver/validation/validation.go` and
`apiserver/schema/cel/validation.go`. CEL rules see untyped values, escaped as typed ones would be; a rule
that does not compile so is not judged.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from policygen.admission.validation import metadata
from policygen.admission.validation.content import path_segment
from policygen.admission.validation.field import FieldErrors, Object, go_json
from policygen.cel import types
from policygen.cel.env import Env, base_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import Program, compile_program
from policygen.kube import custom
from policygen.kube.custom import FieldProblem
from policygen.kube.objects import path_text
from policygen.kube.schema import KindSchema, ListOf, MapOf, Node, Scalar, Struct

Path: TypeAlias = tuple[str | int, ...]

_ROOT: Final = "<nil>"
"""How Go prints the path of the whole object."""
_UNCHECKED: Final = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to "
    "complete validation"
)
_COMBINED: Final = re.compile(r"(?P<path>.*) in body (?P<says>must .*schemas? .*)", re.DOTALL)
_COUNTED: Final = re.compile(r"should have at least \d+ (items|properties)$")
_BLOCKING: Final = frozenset({"unsupported", "required", "too-long", "too-many"})
_WRONG_TYPE: Final = " in body must be of type "
_NOTHING: Final = object()
_ESCAPED: Final = frozenset(
    [
        *("true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function"),
        *("if", "import", "let", "loop", "package", "namespace", "return", "var", "void", "while"),
    ]
)


def validate(found: FieldErrors, obj: Object, schema: KindSchema, version: str) -> None:
    """A new object."""
    meta = obj.get("metadata") or {}
    metadata.validate(found, meta, path_segment, namespaced=schema.namespaced, core=False)
    _body(found, obj, _NOTHING, schema, version)


def validate_update(found: FieldErrors, obj: Object, old: Object, schema: KindSchema, version: str) -> None:
    """A changed one: names stay, and rules may compare it with what it was."""
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    _body(found, obj, old, schema, version)


def _body(found: FieldErrors, obj: Object, old: Any, schema: KindSchema, version: str) -> None:
    problems = custom.validate(obj, schema)
    for problem in problems:
        _tell(found, problem)
    rules = list(_rules(obj, old, schema.root, ()))
    if not rules:
        return
    if any(_blocks(problem) for problem in problems):
        found.invalid(_ROOT, None, _UNCHECKED)
        return
    minor = int(version.partition(".")[2])
    for path, value, before, rule in rules:
        _judge(found, path, value, before, rule, minor)


def _tell(found: FieldErrors, problem: FieldProblem) -> None:
    path, value = path_text(problem.path) or _ROOT, problem.value
    match problem.kind:
        case "required":
            found.required(path)
        case "unsupported":
            choices = [item if isinstance(item, str) else go_json(item) for item in problem.choices]
            found.unsupported(path, value, choices)
        case "too-long":
            found.too_long(path, problem.limit)
        case "too-many":
            found.too_many(path, value, problem.limit)
        case "duplicate":
            found.duplicate(path, value)
        case "invalid":
            combined = _COMBINED.fullmatch(problem.detail)
            if combined is not None:
                found.invalid(_ROOT, "", f'"{combined["path"]}" {combined["says"]}')
                return
            if isinstance(value, list | dict) and _COUNTED.search(problem.detail):
                value = len(value)
            found.invalid(path, value, problem.detail)


def _blocks(problem: FieldProblem) -> bool:
    """`hasBlockingErr`: values whose shape is wrong are not shown to rules."""
    return problem.kind in _BLOCKING or _WRONG_TYPE in problem.detail


def _rules(
    value: Any, old: Any, node: Node, path: Path
) -> Iterator[tuple[Path, Any, Any, Mapping[str, Any]]]:
    """Every rule with the value that it is about and what that was, as CEL sees them."""
    if value is None:
        return
    if node.constraints is not None:
        for rule in node.constraints.cel:
            before = old if old is _NOTHING or old is None else _cel(old, node)
            yield path, _cel(value, node), before, rule
    match node:
        case Struct() if isinstance(value, dict):
            for name, item in value.items():
                if name in node.fields:
                    yield from _rules(item, _member(old, name), node.fields[name].type, (*path, name))
        case MapOf() if isinstance(value, dict):
            for name, item in value.items():
                yield from _rules(item, _member(old, name), node.value, (*path, name))
        case ListOf() if isinstance(value, list):
            for index, item in enumerate(value):
                yield from _rules(item, _counterpart(old, item, node), node.element, (*path, index))
        case _:
            return


def _member(old: Any, name: str) -> Any:
    return old.get(name, _NOTHING) if isinstance(old, dict) else _NOTHING


def _counterpart(old: Any, item: Any, node: ListOf) -> Any:
    """The old item with the same keys; items of other lists are not followed."""
    if node.list_type != "map" or not isinstance(old, list) or not isinstance(item, dict):
        return _NOTHING
    wanted = [item.get(key) for key in node.keys]
    for other in old:
        if isinstance(other, dict) and [other.get(key) for key in node.keys] == wanted:
            return other
    return _NOTHING


def _cel(value: Any, node: Node) -> Any:
    match node:
        case Struct() if isinstance(value, dict):
            return {
                _escape(name): _cel(item, node.fields[name].type) if name in node.fields else item
                for name, item in value.items()
            }
        case MapOf() if isinstance(value, dict):
            return {name: _cel(item, node.value) for name, item in value.items()}
        case ListOf() if isinstance(value, list):
            return [_cel(item, node.element) for item in value]
        case Scalar(kind="float") if isinstance(value, int) and not isinstance(value, bool):
            return float(value)
        case _:
            return value


def _escape(name: str) -> str:
    """`cel.Escape`: how rules write the names of fields."""
    if name in _ESCAPED:
        return f"__{name}__"
    if not re.search(r"__|[-./]", name):
        return name
    name = name.replace("__", "__underscores__")
    return name.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


def _judge(found: FieldErrors, path: Path, value: Any, old: Any, rule: Mapping[str, Any], minor: int) -> None:
    text = rule.get("rule") or ""
    program = _compile(text, minor)
    if program is None or ("oldSelf" in text and old is _NOTHING) or rule.get("optionalOldSelf"):
        return
    variables = {"self": value, "oldSelf": None if old is _NOTHING else old}
    try:
        if program.evaluate(variables) is True:
            return
        says = _message(rule, variables, minor)
    except EvalError as error:
        says = f"{error} evaluating rule: {_message(rule, variables, minor)}"
    at = path_text(path) + (rule.get("fieldPath") or "")
    at = at.removeprefix(".") or _ROOT
    shown = value if not isinstance(value, dict | list) else "object" if isinstance(value, dict) else "array"
    match rule.get("reason"):
        case "FieldValueForbidden":
            found.forbidden(at, says)
        case "FieldValueRequired":
            found.required(at, says)
        case "FieldValueDuplicate":
            found.duplicate(at, shown)
        case _:
            found.invalid(at, shown, says)


def _message(rule: Mapping[str, Any], variables: Mapping[str, Any], minor: int) -> str:
    expression = rule.get("messageExpression")
    program = _compile(expression, minor) if expression else None
    if program is not None:
        try:
            said = program.evaluate(variables)
        except EvalError:
            said = None
        if isinstance(said, str) and said.strip() and "\n" not in said:
            return said
    text = (rule.get("rule") or "").strip()
    return rule.get("message") or f"failed rule: {text}"


@lru_cache(4)
def _environment(minor: int) -> Env:
    return base_env(minor).declare({"self": types.DYN, "oldSelf": types.DYN})


@lru_cache(1024)
def _compile(text: str, minor: int) -> Program | None:
    try:
        return compile_program(text, _environment(minor))
    except CompileError:
        return None
