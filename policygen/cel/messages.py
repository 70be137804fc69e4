"""Every message of the parser and the checker, in cel-go's words (`checker/errors.go`)."""

from __future__ import annotations

from collections.abc import Sequence

from policygen.cel.types import Type


def syntax(found: str, expected: str) -> str:
    """The parser's own wording differs from ours; the place is the same."""
    return f"Syntax error: expected {expected}, found {found}"


def unrecognized(piece: str) -> str:
    """A character that begins no token."""
    return f"Syntax error: token recognition error at: {piece!r}"


def reserved(name: str) -> str:
    """A word that is kept for later versions of the language."""
    return f"reserved identifier: {name}"


def unsupported_syntax(what: str) -> str:
    """Syntax that the environment does not switch on."""
    return f"unsupported syntax: '{what}'"


def recursion_limit(limit: int) -> str:
    """Brackets nested too deep."""
    return f"expression recursion limit exceeded: {limit}"


def size_limit(size: int, limit: int) -> str:
    """Too long a text."""
    return f"expression code point size exceeds limit: size: {size}, limit {limit}"


def undeclared_reference(name: str) -> str:
    """No variable, type or function of this name; Kubernetes sets no container."""
    return f"undeclared reference to '{name}' (in container '')"


def undefined_field(name: str) -> str:
    """The type is known and has no such field."""
    return f"undefined field '{name}'"


def no_such_struct(name: str) -> str:
    """Selection on a type that is declared without fields."""
    return f"unexpected failed resolution of '{name}'"


def no_field_selection(operand: Type) -> str:
    """Selection on something without fields."""
    return f"type '{operand}' does not support field selection"


def type_mismatch(expected: Type, found: Type) -> str:
    """One type is needed and another is there."""
    return f"expected type '{expected}' but found '{found}'"


def no_matching_overload(function: str, args: Sequence[Type], is_member: bool) -> str:
    """No signature takes these arguments."""
    shown = [str(arg) for arg in args]
    signature = f"{shown[0]}.({', '.join(shown[1:])})" if is_member else f"({', '.join(shown)})"
    return f"found no matching overload for '{function}' applied to '{signature}'"


def not_a_range(found: Type) -> str:
    """A macro over something that cannot be iterated."""
    return f"expression of type '{found}' cannot be range of a comprehension (must be list, map, or dynamic)"


def not_a_type(name: str) -> str:
    """`x{…}` where x is no type."""
    return f"'{name}' is not a type"


def not_a_message_type(name: str) -> str:
    """`int{…}`."""
    return f"'{name}' is not a message type"


def field_type_mismatch(name: str, expected: Type, found: Type) -> str:
    """A field of a struct literal has the wrong type."""
    return f"expected type of field '{name}' is '{expected}' but provided type is '{found}'"


def not_an_optional_field(shown: str) -> str:
    """`a.?b` built by hand with something other than a name."""
    return f"unsupported optional field selection: {shown}"
