"""Rules of custom kinds: metadata, the schema of the CRD, then its CEL rules.

Apiextensions-apiserver `registry/customresource/strategy.go`, `apiserver/validation/validation.go` and
`apiserver/schema/cel/validation.go`. CEL rules see values of the types that the schema gives them, under
escaped names; they are compiled without those types, which refuses less than the server does.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, TypeAlias

from policygen.admission.validation import metadata
from policygen.admission.validation.content import path_segment
from policygen.admission.validation.field import OMITTED, FieldErrors, Object, go_json
from policygen.cel import gotime, types
from policygen.cel.env import Env, base_env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import Program, compile_program
from policygen.cel.values import NONE, Duration, Optional, Timestamp
from policygen.kube import custom
from policygen.kube.custom import FieldProblem
from policygen.kube.names import byte_length
from policygen.kube.objects import path_text
from policygen.kube.schema import Constraints, KindSchema, ListOf, MapOf, Node, Scalar, Struct

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
_OLD_SELF: Final = re.compile(r"\boldSelf\b")
_STEP: Final = re.compile(r"\.([^.\[]+)|\['((?:[^'\\]|\\.)*)'\]")
_LONGEST_MESSAGE: Final = 5 * 1024
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
    problems = custom.validate(obj, schema)
    _body(found, obj, _NOTHING, problems, schema, version, lambda _: None)


def validate_update(
    found: FieldErrors,
    obj: Object,
    old: Object,
    schema: KindSchema,
    version: str,
    warn: Callable[[str], None],
) -> None:
    """A changed one: names stay, and rules may compare it with what it was.

    What was as wrong before and did not change is let through (`CRDValidationRatcheting`): in silence where
    the schema says so, with a warning where a rule does.
    """
    metadata.validate_update(found, obj.get("metadata") or {}, old.get("metadata") or {})
    problems = [
        problem
        for problem in custom.validate(obj, schema)
        if not _unchanged(obj, old, schema.root, problem.path)
    ]
    if any(problem.kind == "duplicate" for problem in custom.validate(old, schema)):
        problems = [problem for problem in problems if problem.kind != "duplicate"]
    _body(found, obj, old, problems, schema, version, warn)


def _body(
    found: FieldErrors,
    obj: Object,
    old: Any,
    problems: list[FieldProblem],
    schema: KindSchema,
    version: str,
    warn: Callable[[str], None],
) -> None:
    for problem in problems:
        _tell(found, problem)
    rules = list(_rules(obj, old, schema.root, (), same=False))
    if not rules:
        return
    if any(_blocks(problem) for problem in problems):
        found.invalid(_ROOT, None, _UNCHECKED)
        return
    minor = int(version.partition(".")[2])
    for rule in rules:
        said = FieldErrors()
        ratcheted = _judge(said, rule, minor) and rule.same
        if ratcheted:
            for item in said.items:
                warn(str(item))
        else:
            found.items += said.items


def _unchanged(obj: Any, old: Any, root: Node, path: Path) -> bool:
    """Whether what is at a path, or something around it, is what it was."""
    node: Node | None = root
    for step in path:
        if old is not _NOTHING and obj == old:
            return True
        match node:
            case Struct() if isinstance(obj, dict) and step in obj:
                declared = node.fields.get(str(step))
                old, obj, node = (
                    _member(old, str(step)),
                    obj[step],
                    None if declared is None else declared.type,
                )
            case MapOf() if isinstance(obj, dict) and step in obj:
                old, obj, node = _member(old, str(step)), obj[step], node.value
            case ListOf() if isinstance(obj, list) and isinstance(step, int) and step < len(obj):
                old, obj, node = _counterpart(old, obj[step], node), obj[step], node.element
            case _:
                return False
    return old is not _NOTHING and bool(obj == old)


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


@dataclass(frozen=True, slots=True)
class _Rule:
    """A rule with the value that it is about and what that was, as JSON."""

    path: Path
    value: Any
    old: Any
    node: Node
    rule: Mapping[str, Any]
    same: bool
    """Whether the value, or the nearest one around it that can be found in the old object, did not change."""


def _rules(value: Any, old: Any, node: Node, path: Path, *, same: bool) -> Iterator[_Rule]:
    """Every rule that applies, those of a value before those of its parts."""
    if value is None:
        return
    if old is not _NOTHING:
        same = bool(value == old)
    if node.constraints is not None:
        for rule in node.constraints.cel:
            yield _Rule(path, value, old, node, rule, same)
    match node:
        case Struct() if isinstance(value, dict):
            for name, item in value.items():
                if name in node.fields:
                    inner, before = node.fields[name].type, _member(old, name)
                    yield from _rules(item, before, inner, (*path, name), same=same)
        case MapOf() if isinstance(value, dict):
            for name, item in value.items():
                yield from _rules(item, _member(old, name), node.value, (*path, name), same=same)
        case ListOf() if isinstance(value, list):
            for index, item in enumerate(value):
                before = _counterpart(old, item, node)
                yield from _rules(item, before, node.element, (*path, index), same=same)
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
    """A value as rules see it: typed by its schema (apiserver `cel/common/values.go`)."""
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
        case Scalar(kind="string", constraints=Constraints(format=str(form))) if isinstance(value, str):
            return _of_format(value, form)
        case _:
            return value


def _of_format(text: str, form: str) -> Any:
    """A text whose format makes it another CEL type."""
    match form:
        case "duration":
            length = gotime.parse_duration(text)
            return text if length is None else Duration(length)
        case "date" | "date-time":
            instant = gotime.parse_rfc3339(f"{text}T00:00:00Z" if form == "date" else text)
            return text if instant is None else Timestamp(instant.ns, instant.offset)
        case "byte":
            try:
                return base64.b64decode(text, validate=True)
            except ValueError:
                return text
        case _:
            return text


def _escape(name: str) -> str:
    """`cel.Escape`: how rules write the names of fields."""
    if name in _ESCAPED:
        return f"__{name}__"
    if not re.search(r"__|[-./]", name):
        return name
    name = name.replace("__", "__underscores__")
    return name.replace(".", "__dot__").replace("-", "__dash__").replace("/", "__slash__")


def _judge(found: FieldErrors, each: _Rule, minor: int) -> bool:
    """Tell what a rule has against a value; whether it may be let through where nothing changed."""
    text, optional = each.rule.get("rule") or "", bool(each.rule.get("optionalOldSelf"))
    at = path_text(each.path) or _ROOT
    transition = bool(_OLD_SELF.search(text))
    if not text.strip() or (transition and each.old in (_NOTHING, None) and not optional):
        return False
    try:
        program = _compile(text, minor, optional)
    except CompileError as error:
        found.invalid(at, _declared(each.node), f"rule compile error: {error.server_text}")
        return False
    before: Any = None if each.old is _NOTHING else _cel(each.old, each.node)
    variables = {"self": _cel(each.value, each.node), "oldSelf": before}
    if optional:
        variables["oldSelf"] = NONE if before is None else Optional(before)
    shown_rule = (each.rule.get("message") or text).strip()
    try:
        if program.evaluate(variables) is True:
            return False
    except EvalError as error:
        says = f"{error} evaluating rule: {shown_rule}"
        if str(error).startswith("no such overload"):
            matched = "did not match a supported operator, function or macro signature"
            says = f"'{error}': call arguments {matched} for rule: {shown_rule}"
        found.invalid(at, _declared(each.node), says)
        return False
    at = _told_at(each)
    own = _own_message(each.rule, variables, minor)
    value: Any = OMITTED
    says = own or ""
    if own is None:
        value = _declared(each.node) if isinstance(each.value, dict | list) else each.value
        says = shown_rule if each.rule.get("message") else f"failed rule: {shown_rule}"
    match each.rule.get("reason"):
        case "FieldValueForbidden":
            found.forbidden(at, says)
        case "FieldValueRequired":
            found.required(at, says)
        case "FieldValueDuplicate":
            found.duplicate(at, value)
        case _:
            found.invalid(at, value, says)
    return not transition


def _declared(node: Node) -> str:
    """The `type` that the schema states; one of integers or strings states none."""
    if isinstance(node, Scalar) and node.kind in ("int-or-string", "raw"):
        return ""
    return custom.type_name(node)


def _told_at(each: _Rule) -> str:
    """Where a failure is told: the rule may point at a part of the value, as a JSON path."""
    node: Node | None = each.node
    steps = []
    for plain, quoted in _STEP.findall(each.rule.get("fieldPath") or ""):
        name = plain or quoted
        if isinstance(node, MapOf):
            steps.append(f"[{name}]")
            node = node.value
        else:
            steps.append(f".{name}")
            declared = node.fields.get(name) if isinstance(node, Struct) else None
            node = None if declared is None else declared.type
    inner = "".join(steps).removeprefix(".")
    return ".".join(filter(None, (path_text(each.path), inner))) or _ROOT


def _own_message(rule: Mapping[str, Any], variables: Mapping[str, Any], minor: int) -> str | None:
    """What `messageExpression` says, if it says something usable."""
    expression = rule.get("messageExpression")
    if not expression:
        return None
    try:
        said = _compile(expression, minor, bool(rule.get("optionalOldSelf"))).evaluate(variables)
    except (CompileError, EvalError):
        return None
    said = said.strip() if isinstance(said, str) else ""
    usable = said and "\n" not in said and byte_length(said) <= _LONGEST_MESSAGE
    return said if usable else None


@lru_cache(8)
def _environment(minor: int, optional: bool) -> Env:
    old = types.optional_of(types.DYN) if optional else types.DYN
    return base_env(minor).declare({"self": types.DYN, "oldSelf": old})


@lru_cache(1024)
def _compile(text: str, minor: int, optional: bool) -> Program:
    return compile_program(text, _environment(minor, optional))
