"""Why a condition is false on an object: the parts that decided, with the values that they read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policygen.cel.ast import Call, Expr, Parsed
from policygen.cel.budget import Budget
from policygen.cel.checker import Checked
from policygen.cel.env import Env
from policygen.cel.errors import CompileError, EvalError
from policygen.cel.program import Program, check
from policygen.cel.unparse import unparse
from policygen.cel.values import to_json
from policygen.verify import analysis

_LIMIT: Final = 1_000_000
_LONGEST: Final = 160
_MOST: Final = 6


@dataclass(slots=True)
class Kept:
    """The last activation under which each expression, by its text, gave `false`."""

    activations: dict[str, tuple[Checked, Env, Mapping[str, Any]]] = field(default_factory=dict)

    def make(self, text: str, env: Env) -> Program:
        """A program that is remembered when it gives false."""
        return _Kept(check(text, env), env, self)

    def why(self, text: str, variables: Mapping[str, Expr]) -> tuple[str, ...]:
        """The deciding parts of an expression that was false, each with what it read."""
        found = self.activations.get(text)
        if found is None:
            return ()
        return tuple(dict.fromkeys(_Judge(*found, variables).explain(found[0].expr, wanted=True)))


class _Kept(Program):
    __slots__ = ("_env", "_kept")

    def __init__(self, checked: Checked, env: Env, kept: Kept) -> None:
        super().__init__(checked, env)
        self._env, self._kept = env, kept

    def evaluate_with_cost(
        self, activation: Mapping[str, Any], *, limit: int | None = None, budget: Budget | None = None
    ) -> tuple[Any, int]:
        value, cost = super().evaluate_with_cost(activation, limit=limit, budget=budget)
        if value is False:
            self._kept.activations[self.checked.info.text] = (self.checked, self._env, activation)
        return value, cost


@dataclass(frozen=True, slots=True)
class _Judge:
    checked: Checked
    env: Env
    activation: Mapping[str, Any]
    variables: Mapping[str, Expr]

    def explain(self, expr: Expr, *, wanted: bool) -> Iterator[str]:
        """What keeps a part from being what is wanted."""
        match expr:
            case Call(function="_&&_" | "_||_" as operator, args=(left, right)):
                needs_both = (operator == "_&&_") == wanted
                sides = [(side, self._evaluate(side)) for side in (left, right)]
                deciding = [value is (not wanted) for _, value in sides]
                for (side, value), decides in zip(sides, deciding, strict=True):
                    failed = value is not wanted and not any(deciding)
                    if not needs_both or decides or failed:
                        yield from self.explain(side, wanted=wanted)
            case Call(function="!_", args=(inner,)):
                yield from self.explain(inner, wanted=not wanted)
            case _:
                yield self._leaf(expr)

    def _evaluate(self, expr: Expr) -> Any:
        try:
            program = Program(replace(self.checked, expr=expr), self.env)
            return program.evaluate(self.activation, limit=_LIMIT)
        except (EvalError, CompileError) as error:
            return error

    def _leaf(self, expr: Expr) -> str:
        whole = Parsed(expr, self.checked.info, self.checked.depth)
        text = " ".join(unparse(whole).split())
        text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
        found = self._evaluate(expr)
        reads = "; ".join(self._reads(expr))
        tail = f" ({reads})" if reads else ""
        if isinstance(found, EvalError):
            return f"`{text}` fails: {found.message}{tail}"
        return f"`{text}` is {'true' if found is True else 'false'}{tail}"

    def _reads(self, expr: Expr) -> Iterator[str]:
        """The places that were read, deepest only, with their values."""
        paths = sorted(path for path in analysis.analyse(expr, self.variables).reads if len(path) > 1)
        deepest = [path for path in paths if not any(_above(path, other) for other in paths)]
        for path in deepest[:_MOST]:
            values = list(_values(self._root(path[0]), path[1:]))
            shown = ", ".join(dict.fromkeys(values)) or "absent"
            yield f"{_path(path)} is {shown}"
        if len(deepest) > _MOST:
            yield f"and {len(deepest) - _MOST} more"

    def _root(self, name: str) -> Any:
        value = self.activation.get(name)
        try:
            return to_json(value)
        except EvalError:
            return None


def _above(path: analysis.Path, other: analysis.Path) -> bool:
    return len(path) < len(other) and other[: len(path)] == path


def _path(path: analysis.Path) -> str:
    steps = path[1:] if path[0] == "object" else path
    out = ""
    for step in steps:
        if step == analysis.ANY:
            out += "[*]"
        elif step.replace("-", "").replace("_", "").isalnum():
            out += f".{step}" if out else step
        else:
            out += f'["{step}"]'
    return out


def _values(value: Any, steps: analysis.Path) -> Iterator[str]:
    """What stands at a path, as text; a wildcard steps into every item."""
    if not steps:
        if isinstance(value, list | dict) and len(value) > 0:
            noun = "item" if isinstance(value, list) else "key"
            yield f"there, with {len(value)} {noun}" + ("" if len(value) == 1 else "s")
            return
        text = json.dumps(value, ensure_ascii=False, default=str)
        yield text if len(text) <= _LONGEST // 2 else text[: _LONGEST // 2 - 1] + "…"
        return
    step, rest = steps[0], steps[1:]
    if step == analysis.ANY:
        items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
        for item in items:
            yield from _values(item, rest)
    elif isinstance(value, dict) and step in value:
        yield from _values(value[step], rest)
    else:
        yield "absent"
