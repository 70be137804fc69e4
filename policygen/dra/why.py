"""Why a selector is false on a device: the parts that decided, with the values that they read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from policygen.cel.ast import Call, Expr, walk
from policygen.cel.checker import Checked
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import Program, check
from policygen.cel.values import Value
from policygen.dra.access import Access, Name, accesses, parse_selector
from policygen.dra.allocation import SelectorError
from policygen.dra.model import Device
from policygen.dra.selectors import COST_LIMIT, SelectorMatcher, selector_env

_LONGEST = 60


@dataclass(frozen=True, slots=True)
class _Part:
    """A sub-expression and the stretch of text in which it stands."""

    expr: Expr
    start: int
    end: int


def why_not(expression: str, device: Device, matcher: SelectorMatcher) -> list[str]:
    """The deciding parts, such as ``memory.compareTo(quantity('80Gi')) >= 0` is false (memory = 40Gi)`."""
    program = matcher.selector(expression).program
    if program is None:
        return []
    try:
        value = matcher.value(device)
    except SelectorError as error:
        return [error.text]
    judge = _Judge(program.checked, value, device, matcher.list_attributes)
    whole = _Part(program.checked.expr, 0, len(expression))
    return list(dict.fromkeys(judge.explain(whole, wanted=True)))


@lru_cache(maxsize=4096)
def _part_program(expression: str, node: int, list_attributes: bool) -> Program:
    """The program of a sub-expression."""
    env = selector_env(list_attributes=list_attributes)
    checked = check(expression, env)
    part = next(each for each in walk(checked.expr) if each.id == node)
    return Program(replace(checked, expr=part), env)


@dataclass(frozen=True, slots=True)
class _Judge:
    checked: Checked
    value: dict[str, Value]
    device: Device
    list_attributes: bool

    def explain(self, part: _Part, *, wanted: bool) -> Iterator[str]:
        """What keeps a part from being what is wanted."""
        match part.expr:
            case Call(function="_&&_" | "_||_" as operator, args=(left, right)):
                at = self.checked.info.offsets.get(part.expr.id, part.start)
                sides = (_Part(left, part.start, at), _Part(right, at + 2, part.end))
                needs_both = (operator == "_&&_") == wanted
                values = [self._evaluate(side.expr) for side in sides]
                deciding = [value is (not wanted) for value in values]
                for side, value, decides in zip(sides, values, deciding, strict=True):
                    failed = value is not wanted and not any(deciding)
                    if not needs_both or decides or failed:
                        yield from self.explain(side, wanted=wanted)
            case Call(function="!_", args=(inner,)):
                at = self.checked.info.offsets.get(part.expr.id, part.start)
                yield from self.explain(_Part(inner, at + 1, part.end), wanted=not wanted)
            case _:
                yield self._leaf(part)

    def _evaluate(self, expr: Expr) -> Value:
        """The value of a sub-expression, or the error as a value."""
        try:
            program = _part_program(self.checked.info.text, expr.id, self.list_attributes)
            return program.evaluate({"device": self.value}, limit=COST_LIMIT)
        except (EvalError, CompileError) as error:
            return error

    def _leaf(self, part: _Part) -> str:
        text = _trimmed(self.checked.info.text[part.start : part.end])
        found = self._evaluate(part.expr)
        reads = ", ".join(dict.fromkeys(self._reads(text)))
        shown = text if len(text) <= _LONGEST else _shortened(text)
        if isinstance(found, EvalError):
            return f"`{shown}` fails: {found.message}" + (f" ({reads})" if reads else "")
        verdict = "true" if found is True else "false"
        return f"`{shown}` is {verdict}" + (f" ({reads})" if reads else "")

    def _reads(self, text: str) -> Iterator[str]:
        parsed = parse_selector(text)
        if parsed is None:
            return
        for access in accesses(parsed):
            yield f"{access.name.name} {self._shown(access.name)}"
        if "device.driver" in text:
            yield f"driver = '{self.device.driver}'"

    def _shown(self, name: Name) -> str:
        if name.kind == "capacity":
            capacity = self.device.read("capacity", f"{name.domain}/{name.name}", name.name)
            return "is missing" if capacity is None else f"= {getattr(capacity, 'value', capacity)}"
        value = self.device.attribute(f"{name.domain}/{name.name}")
        if value is None:
            return "is missing"
        match value[1]:
            case bool():
                return f"= {'true' if value[1] else 'false'}"
            case str() if value[0] == "string":
                return f"= '{value[1]}'"
            case _:
                return f"= {value[1]}"


def _shortened(text: str) -> str:
    """The text with its device paths cut to the last name."""
    parsed = parse_selector(text)
    if parsed is None:
        return text[: _LONGEST - 1] + "…"
    found: tuple[Access, ...] = accesses(parsed)
    for access in sorted(found, key=lambda access: -access.start):
        if access.mode != "test":
            text = text[: access.start] + access.name.name + text[access.end :]
    return text if len(text) <= 2 * _LONGEST else text[: 2 * _LONGEST - 1] + "…"


def _trimmed(text: str) -> str:
    """Without the brackets that belong to what is around."""
    text = text.strip()
    while True:
        depth, lowest = 0, 0
        for char in text:
            depth += (char == "(") - (char == ")")
            lowest = min(lowest, depth)
        if lowest < 0 and text.endswith(")"):
            text = text[:-1].rstrip()
        elif depth - lowest > 0 and text.startswith("("):
            text = text[1:].lstrip()
        elif text.startswith("(") and text.endswith(")") and _encloses(text):
            text = text[1:-1].strip()
        else:
            return text


def _encloses(text: str) -> bool:
    depth = 0
    for index, char in enumerate(text):
        depth += (char == "(") - (char == ")")
        if depth == 0 and index < len(text) - 1:
            return False
    return True
