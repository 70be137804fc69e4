"""CEL as text: literals, paths into objects that may lack any part of them, and layout over lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from policygen.compiler.model_actions import Json

WIDTH = 96
_IDENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_RESERVED = frozenset(
    {"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if"}
    | {"import", "let", "loop", "package", "namespace", "return", "var", "void", "while"}
)
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_MAP_FIELDS = frozenset({"labels", "annotations", "nodeSelector", "limits", "requests"})


def string(text: str) -> str:
    """A CEL string literal."""
    out = []
    for char in text:
        if char in _ESCAPES:
            out.append(_ESCAPES[char])
        elif ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u2028\u2029\ufeff":
            out.append(f"\\u{ord(char):04x}")
        else:
            out.append(char)
    return "'" + "".join(out) + "'"


def strings(texts: Iterable[str]) -> str:
    """A CEL list of strings."""
    return "[" + ", ".join(string(text) for text in texts) + "]"


def literal(value: Json) -> str:
    """A CEL literal of a JSON value. Lists and maps of mixed types need `dyn()` around each part."""
    return _literal(value)[0]


def shown(value: Json) -> str:
    """A value in a message, on one line."""
    return value if isinstance(value, str) else json.dumps(value)


def _literal(value: Json) -> tuple[str, str]:
    """The text and the type of a value."""
    match value:
        case None:
            return "null", "null"
        case bool():
            return ("true" if value else "false"), "bool"
        case int():
            return str(value), "int"
        case float():
            return repr(value), "double"
        case str():
            return string(value), "string"
        case list():
            parts, kind = _aligned([_literal(part) for part in value])
            return bracket("[", parts, "]"), f"list({kind})"
        case dict():
            parts, kind = _aligned([_literal(part) for part in value.values()])
            pairs = [f"{string(key)}: {part}" for key, part in zip(value, parts, strict=True)]
            return bracket("{", pairs, "}"), f"map({kind})"


def _aligned(parts: Sequence[tuple[str, str]]) -> tuple[list[str], str]:
    kinds = {kind for _, kind in parts}
    if len(kinds) <= 1:
        return [text for text, _ in parts], next(iter(kinds), "none")
    return [f"dyn({text})" for text, _ in parts], "dyn"


def bracket(opening: str, parts: Sequence[str], closing: str) -> str:
    """Parts between brackets, on one line where they fit."""
    line = opening + ", ".join(parts) + closing
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return opening + "\n" + indent(",\n".join(parts)) + "\n" + closing


def indent(text: str, by: int = 2) -> str:
    """Each line moved to the right. String literals hold no line breaks, so this never changes a value."""
    pad = " " * by
    return "\n".join(pad + line if line else line for line in text.split("\n"))


def joined(parts: Sequence[str], operator: str) -> str:
    """Operands of `&&`, `||` or `+`: on one line where they fit, else one a line."""
    if len(parts) == 1:
        return parts[0]
    line = f" {operator} ".join(parts)
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return f"\n{operator} ".join(indent(part).lstrip() for part in parts)


def call(source: str, macro: str, names: Sequence[str], *parts: str) -> str:
    """A comprehension: `source.macro(name, part)`, its parts on lines of their own when it is long."""
    line = f"{source}.{macro}({', '.join([*names, *parts])})"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    body = indent(",\n".join(parts))
    return f"{source}.{macro}({', '.join(names)},\n{body}\n)"


def ternary(condition: str, then: str, otherwise: str) -> str:
    """A conditional, laid out over lines when it is long."""
    line = f"{condition} ? {then} : {otherwise}"
    if len(line) <= WIDTH - 8 and "\n" not in line:
        return line
    return f"{condition}\n? {indent(then).lstrip()}\n: {indent(otherwise).lstrip()}"


def all_of(parts: Iterable[str]) -> str:
    """A conjunction; alternatives in it get parentheses, conjunctions become part of it."""
    kept = [piece for part in parts if part != "true" for piece in _conjuncts(part)]
    kept = list(dict.fromkeys(kept))
    if not kept:
        return "true"
    return kept[0] if len(kept) == 1 else joined([wrapped(part, _LOOSER_THAN_AND) for part in kept], "&&")


def _conjuncts(part: str) -> list[str]:
    """The operands of a conjunction."""
    outside = _outside(part)
    if " && " not in outside or any(f" {operator} " in outside for operator in _LOOSER_THAN_AND):
        return [part]
    pieces, start, depth, at = [], 0, 0, 0
    while at < len(part):
        char = part[at]
        if char == "'":
            at = _end_of_string(part, at)
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0 and part.startswith("&& ", at):
            pieces.append(part[start:at].rstrip())
            start = at + 3
        at += 1
    pieces.append(part[start:])
    if "\n&& " not in part:
        return pieces
    return [pieces[0], *(piece.replace("\n  ", "\n") for piece in pieces[1:])]


def _end_of_string(part: str, at: int) -> int:
    """The closing quote of the literal that opens at `at`."""
    at += 1
    while part[at] != "'":
        at += 2 if part[at] == "\\" else 1
    return at


def any_of(parts: Iterable[str]) -> str:
    """A disjunction."""
    kept = list(dict.fromkeys(parts))
    if "true" in kept:
        return "true"
    return kept[0] if len(kept) == 1 else joined([wrapped(part, _TERNARY) for part in kept], "||")


def none_of(part: str) -> str:
    """A negation; twice is none."""
    if part.startswith("!") and _is_atom(part[1:]):
        inner = part[1:]
        return inner[1:-1] if _is_enclosed(inner) else inner
    return f"!{part}" if _is_atom(part) else f"!({part})"


def _is_enclosed(part: str) -> bool:
    """Whether the whole is one pair of parentheses."""
    return part.startswith("(") and _closes(part)


def _closes(part: str) -> bool:
    """Whether the first parenthesis is closed by the last."""
    depth = at = 0
    while at < len(part):
        if part[at] == "'":
            at = _end_of_string(part, at)
        depth += {"(": 1, ")": -1}.get(part[at], 0)
        if depth == 0:
            return at == len(part) - 1
        at += 1
    return False


_LOOSER_THAN_AND = ("||", "?")
_TERNARY = ("?",)


def wrapped(part: str, operators: Sequence[str]) -> str:
    """A part in parentheses when one of these operators stands in it outside brackets."""
    return f"({part})" if any(f" {operator} " in _outside(part) for operator in operators) else part


def _is_atom(part: str) -> bool:
    return not re.search(r"\s", _outside(part))


def _outside(part: str) -> str:
    """What stands outside all brackets and string literals, line breaks as blanks."""
    out: list[str] = []
    depth = 0
    at = 0
    while at < len(part):
        char = part[at]
        if char == "'":
            at = _end_of_string(part, at)
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif depth == 0:
            out.append(" " if char == "\n" else char)
        at += 1
    return re.sub(r" +", " ", "".join(out))


# --- paths -------------------------------------------------------------------------------------------------


def optional(base: str, steps: Sequence[str], *, sure: int = 0) -> str:
    """`base.spec.?a.?b['key']`: an optional value, whatever part is absent. `sure` first steps are there."""
    text = base
    previous = ""
    for index, step in enumerate(steps):
        if previous in _MAP_FIELDS or not _IDENT.match(step) or step in _RESERVED:
            text += f"[{string(step)}]" if index > sure else f"[?{string(step)}]"
        else:
            text += f".{step}" if index < sure else f".?{step}"
        previous = step
    return text


def escape(step: str) -> str:
    """One step of a JSON pointer."""
    return step.replace("~", "~0").replace("/", "~1")


def pointer(steps: Sequence[str]) -> str:
    """A JSON pointer."""
    return "".join(f"/{escape(step)}" for step in steps)


# --- names -------------------------------------------------------------------------------------------------


def camel(text: str) -> str:
    """`nvidia.com/gpu` as `nvidiaComGpu`."""
    words = [word for word in re.split(r"[^A-Za-z0-9]+", text) if word]
    joined = "".join(word[:1].upper() + word[1:] for word in words) or "Any"
    joined = joined[:1].lower() + joined[1:]
    return joined[:40] if joined[0].isalpha() else f"x{joined[:40]}"
