"""A checked expression as an indented tree: node, type, overloads, place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from policygen.cel import ast
from policygen.cel.unparse import literal
from policygen.diagnostics import Source

if TYPE_CHECKING:
    from policygen.cel.ast import Expr
    from policygen.cel.checker import Checked


def render(checked: Checked) -> str:
    """One line per node."""
    return "".join(f"{line}\n" for line in _lines(checked))


def _lines(checked: Checked) -> Iterator[str]:
    source = Source("<input>", checked.info.text)
    pending: list[tuple[Expr, int]] = [(checked.expr, 0)]
    while pending:
        node, depth = pending.pop()
        line, column = source.position(checked.info.offsets[node.id])
        reference = checked.references.get(node.id)
        chosen = ", ".join(overload.id for overload in reference.overloads) if reference is not None else ""
        shown = f"{_title(node)}{f' [{chosen}]' if chosen else ''}"
        found = checked.types.get(node.id)
        kind = f" : {found.declared}" if found is not None else ""
        yield f"{'  ' * depth}{shown}{kind}  ({line}:{column})"
        # the prefix of a namespaced function is part of its name, and has no type
        children = ast.children(node)
        if isinstance(node, ast.Call) and reference is not None and reference.is_namespaced:
            children = iter(node.args)
        pending.extend((child, depth + 1) for child in reversed(list(children)))


def _title(node: Expr) -> str:
    match node:
        case ast.Literal(value=value):
            return literal(value)
        case ast.Ident(name=name):
            return name
        case ast.Select(field=field, test_only=test_only):
            return f"has .{field}" if test_only else f".{field}"
        case ast.Call(function=function):
            return f"call {function}"
        case ast.ListExpr():
            return "list"
        case ast.MapExpr():
            return "map"
        case ast.StructExpr(type_name=name):
            return f"{name}{{…}}"
        case ast.Comprehension(var=var, var2=var2):
            return f"for {var}{f', {var2}' if var2 is not None else ''}"
