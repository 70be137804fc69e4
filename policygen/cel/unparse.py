"""A tree back to text: cel-go `parser/unparser.go`.

`parse(unparse(e))` is `e` up to ids; expanded macros are written as they were called. Only the brackets that
the grammar needs are written.
"""

from __future__ import annotations

from typing import Final

from policygen.cel import ast
from policygen.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, MapExpr, Select, StructExpr
from policygen.cel.recursion import room_for
from policygen.cel.values import Uint

_BINARY: Final = {
    "_||_": ("||", 2),
    "_&&_": ("&&", 3),
    "_<_": ("<", 4),
    "_<=_": ("<=", 4),
    "_>_": (">", 4),
    "_>=_": (">=", 4),
    "_==_": ("==", 4),
    "_!=_": ("!=", 4),
    "@in": ("in", 4),
    "_+_": ("+", 5),
    "_-_": ("-", 5),
    "_*_": ("*", 6),
    "_/_": ("/", 6),
    "_%_": ("%", 6),
}
_CONDITIONAL, _UNARY, _MEMBER, _PRIMARY = 1, 7, 8, 9
_LOGIC: Final = frozenset({"_||_", "_&&_"})
_ESCAPES: Final = {
    "\\": "\\\\", '"': '\\"', "\a": "\\a", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t",
    "\v": "\\v",
}  # fmt: skip


def unparse(parsed: ast.Parsed) -> str:
    """The text of a parsed expression."""
    with room_for(parsed.depth):
        return _Writer(parsed.info).text(parsed.expr)


class _Writer:
    def __init__(self, info: ast.SourceInfo) -> None:
        self._calls = info.macro_calls

    def text(self, expr: Expr, least: int = 0) -> str:
        """The text, in brackets when it binds weaker than asked for."""
        call = self._calls.get(expr.id)
        shown = call if call is not None else expr
        written, strength = self._written(shown)
        return f"({written})" if strength < least else written

    def _written(self, expr: Expr) -> tuple[str, int]:
        match expr:
            case Literal(value=value):
                # a sign belongs to the number, and yet `-1.f` would be read as a negation
                return literal(value), _UNARY if isinstance(value, (int, float)) and _signed(
                    value
                ) else _PRIMARY
            case Ident(name=name):
                return name, _PRIMARY
            case Select(operand=operand, field=field, test_only=test_only):
                selected = f"{self.text(operand, _MEMBER)}.{field}"
                return (f"has({selected})", _PRIMARY) if test_only else (selected, _MEMBER)
            case Call():
                return self._call(expr)
            case ListExpr(elements=elements, optional=optional):
                items = (
                    f"{'?' if at in optional else ''}{self.text(item)}" for at, item in enumerate(elements)
                )
                return f"[{', '.join(items)}]", _PRIMARY
            case MapExpr(entries=entries):
                pairs = (
                    f"{'?' if e.optional else ''}{self.text(e.key)}: {self.text(e.value)}" for e in entries
                )
                return f"{{{', '.join(pairs)}}}", _PRIMARY
            case StructExpr(type_name=name, fields=fields):
                inits = (f"{'?' if f.optional else ''}{f.name}: {self.text(f.value)}" for f in fields)
                return f"{name}{{{', '.join(inits)}}}", _PRIMARY
            case Comprehension():
                raise ValueError("a comprehension that is no macro has no text")

    def _call(self, call: Call) -> tuple[str, int]:
        args = call.args
        match call.function:
            case "_?_:_":
                condition, truthy, falsy = args
                written = f"{self.text(condition, 2)} ? {self.text(truthy, 2)} : {self.text(falsy)}"
                return written, _CONDITIONAL
            case "!_" | "-_" as function:
                operand = self.text(args[0], _MEMBER)
                # a minus before a number belongs to the number, so brackets keep them apart
                if function == "-_" and operand[0] in "0123456789.":
                    operand = f"({operand})"
                return f"{function[0]}{operand}", _UNARY
            case "_[_]":
                return f"{self.text(args[0], _MEMBER)}[{self.text(args[1])}]", _MEMBER
            case "_[?_]":
                return f"{self.text(args[0], _MEMBER)}[?{self.text(args[1])}]", _MEMBER
            case "_?._" if isinstance(args[1], Literal):
                return f"{self.text(args[0], _MEMBER)}.?{args[1].value}", _MEMBER
            case function if function in _BINARY and call.target is None:
                return self._binary(call)
            case function:
                inner = ", ".join(self.text(arg) for arg in args)
                if call.target is None:
                    return f"{function}({inner})", _PRIMARY
                return f"{self.text(call.target, _MEMBER)}.{function}({inner})", _MEMBER

    def _binary(self, call: Call) -> tuple[str, int]:
        operator, strength = _BINARY[call.function]
        left, right = call.args
        if call.function in _LOGIC:
            # chains are balanced when they are parsed; any other shape needs its brackets
            terms = self._terms(call, call.function)
            if self._is_balanced(call, call.function, len(terms)):
                return f" {operator} ".join(self.text(term, strength + 1) for term in terms), strength
            return f"{self.text(left, strength + 1)} {operator} {self.text(right, strength + 1)}", strength
        return f"{self.text(left, strength)} {operator} {self.text(right, strength + 1)}", strength

    def _is_chain(self, expr: Expr, function: str) -> bool:
        return isinstance(expr, Call) and expr.function == function and expr.id not in self._calls

    def _terms(self, expr: Expr, function: str) -> list[Expr]:
        """What stands between the operators of a chain."""
        terms, pending = [], [expr]
        while pending:
            node = pending.pop()
            if isinstance(node, Call) and self._is_chain(node, function):
                pending.extend(reversed(node.args))
            else:
                terms.append(node)
        return terms

    def _is_balanced(self, expr: Expr, function: str, count: int) -> bool:
        """Whether the parser gives a chain of so many terms this shape."""
        if count == 1:
            return not self._is_chain(expr, function)
        if not isinstance(expr, Call) or not self._is_chain(expr, function):
            return False
        left = (count - 1) // 2 + 1
        return self._is_balanced(expr.args[0], function, left) and self._is_balanced(
            expr.args[1], function, count - left
        )


def _signed(value: float) -> bool:
    return type(value) is not bool and str(value).startswith("-")


def literal(value: object) -> str:
    """A constant as a literal."""
    match value:
        case None | bool():
            return "null" if value is None else str(value).lower()
        case Uint():
            return f"{int(value)}u"
        case int():
            return str(value)
        case float():
            text = repr(value)
            return text if any(char in text for char in ".en") else f"{text}.0"
        case bytes():
            return 'b"' + "".join(_byte(byte) for byte in value) + '"'
        case _:
            return '"' + "".join(_char(char) for char in str(value)) + '"'


def _char(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if char.isprintable() or 0xD800 <= ord(char) < 0xE000:
        return char
    return f"\\u{ord(char):04x}" if ord(char) < 0x10000 else f"\\U{ord(char):08x}"


def _byte(byte: int) -> str:
    char = chr(byte)
    if char in _ESCAPES:
        return _ESCAPES[char]
    return char if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"
