"""Field errors as apimachinery `util/validation/field/errors.go` makes and prints them."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from policygen.kube.gotext import quote

Object = dict[str, Any]
"""A JSON object, as kubectl would send it."""

REQUIRED: Final = "Required value"
INVALID: Final = "Invalid value"
FORBIDDEN: Final = "Forbidden"
DUPLICATE: Final = "Duplicate value"
NOT_FOUND: Final = "Not found"
UNSUPPORTED: Final = "Unsupported value"
TOO_LONG: Final = "Too long"
TOO_MANY: Final = "Too many"
INTERNAL: Final = "Internal error"


@dataclass(frozen=True, slots=True)
class FieldError:
    """One fault: `field` is empty for the whole object; `body` is what follows the field."""

    kind: str
    field: str
    body: str

    def __str__(self) -> str:
        return f"{self.field}: {self.body}" if self.field else self.body


OMITTED: Final = object()
"""Stands for a bad value that is not to be shown (`OmitValueType`)."""


class FieldErrors:
    """Faults in the order in which they were found."""

    __slots__ = ("items",)

    def __init__(self, items: Iterable[FieldError] = ()) -> None:
        self.items: list[FieldError] = list(items)

    def __bool__(self) -> bool:
        return bool(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def _add(self, kind: str, field: str, value: str | None, detail: str) -> None:
        body = kind if value is None else f"{kind}: {value}"
        self.items.append(FieldError(kind, field, f"{body}: {detail}" if detail else body))

    def required(self, field: str, detail: str = "") -> None:
        """A value is missing."""
        self._add(REQUIRED, field, None, detail)

    def invalid(self, field: str, value: Any, detail: str) -> None:
        """A value is there and wrong."""
        self._add(INVALID, field, None if value is OMITTED else show(value), detail)

    def forbidden(self, field: str, detail: str) -> None:
        """A value may not be set here."""
        self._add(FORBIDDEN, field, None, detail)

    def duplicate(self, field: str, value: Any, detail: str = "") -> None:
        """A value that must be unique is there twice."""
        self._add(DUPLICATE, field, None if value is OMITTED else show(value), detail)

    def not_found(self, field: str, value: Any, detail: str = "") -> None:
        """A value refers to something that is not there."""
        self._add(NOT_FOUND, field, show(value), detail)

    def unsupported(self, field: str, value: Any, choices: Iterable[str]) -> None:
        """A value is none of an enumeration, whose order is kept."""
        listed = ", ".join(quote(choice) for choice in choices)
        self._add(UNSUPPORTED, field, show(value), f"supported values: {listed}" if listed else "")

    def choice(self, field: str, value: Any, choices: Collection[str]) -> None:
        """A value that has to be one of an enumeration; without one it is missing."""
        if value in choices:
            return
        if value:
            self.unsupported(field, value, choices)
        else:
            self.required(field)

    def too_long(self, field: str, limit: int) -> None:
        """A text has too many bytes."""
        self._add(TOO_LONG, field, None, f"may not be more than {limit} {'byte' if limit == 1 else 'bytes'}")

    def too_many(self, field: str, actual: int, limit: int) -> None:
        """A list has too many items."""
        noun = "item" if limit == 1 else "items"
        self._add(TOO_MANY, field, str(actual), f"must have at most {limit} {noun}")

    def internal(self, field: str, detail: str) -> None:
        """The server failed while it validated."""
        self._add(INTERNAL, field, None, detail)

    def messages(self, field: str, value: Any, messages: Iterable[str]) -> None:
        """One `Invalid value` per message."""
        for message in messages:
            self.invalid(field, value, message)


def show(value: Any) -> str:
    """A bad value as the server prints it: scalars plainly, all else as JSON (`Error.ErrorBody`)."""
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    return go_json(value)


def go_json(value: Any) -> str:
    """Compact JSON as Go's encoder writes it: `<`, `>`, `&` escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def aggregate(errors: Iterable[str]) -> str:
    """Several messages as one: equal ones once, more than one in brackets (`aggregate.Error`)."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else "[" + ", ".join(unique) + "]"


def mapping(value: Any) -> Mapping[str, Any]:
    """The value where it is an object, else an empty one: a null or absent struct has no fields set."""
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str:
    """The value where it is a string, else Go's zero value."""
    return value if isinstance(value, str) else ""


def listing(value: Any) -> list[Any]:
    """The value where it is a list, else an empty one."""
    return value if isinstance(value, list) else []
