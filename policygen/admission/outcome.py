"""The answer to a request, and how each policy contributed to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from policygen.admission.request import Object

VerdictKind: TypeAlias = Literal[
    "not-matched", "skipped", "unchanged", "mutated", "failed", "passed", "warned", "denied"
]
"""`passed`, `warned`, `denied` are said of validating policies only, `unchanged`, `mutated` of mutating."""

Reason: TypeAlias = Literal[
    "Unauthorized",
    "Forbidden",
    "Invalid",
    "RequestEntityTooLarge",
    "BadRequest",
    "InternalError",
    "NotFound",
    "Conflict",
    "ServerPanic",
]


class Denied(Exception):  # noqa: N818 - an answer of the server, not a fault of the program
    """The server refuses the request. `message` is its `status.message`, to the letter."""

    def __init__(self, code: int, reason: str, message: str, causes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.causes = causes


class MutationError(Exception):
    """A mutation failed; `failurePolicy` decides. The text is the server's."""


def internal_error(text: str) -> Denied:
    """A 500 of the server."""
    return Denied(500, "InternalError", f"Internal error occurred: {text}", (text,))


def panic(what: str) -> Denied:
    """The server crashes on this input and closes the connection."""
    return Denied(599, "ServerPanic", f"the API server panics and closes the connection: {what}")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one policy under one binding with one parameter object did to a request, in one pass."""

    policy: str
    binding: str
    kind: VerdictKind
    detail: str = ""
    """The constraint that did not match, the condition that was false, or the error in the server's words."""
    param: str = ""
    """`namespace/name` of the parameter object, empty without one."""
    mutating: bool = True
    reinvocation: bool = False
    ignored: bool = False
    """A failure that `failurePolicy: Ignore` swallowed."""
    errors: tuple[str, ...] = ()
    """One text per mutation or validation that failed."""
    variables: Mapping[str, Any] = field(default_factory=dict)
    """Values of the variables that were read, as JSON; an error is text. Filled when asked to explain."""
    changes: tuple[Any, ...] = ()
    """`policygen.merge.diff.Change` of each field that changed. Filled when asked to explain."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The response. `code` is the HTTP status; 599 says that the server panics on this input."""

    allowed: bool
    code: int
    reason: str = ""
    message: str = ""
    object: Object | None = None
    """What would be stored (None on DELETE and on refusals)."""
    causes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    audit_annotations: Mapping[str, str] = field(default_factory=dict)
    verdicts: tuple[Verdict, ...] = ()
    seen: Object | None = None
    """The object as the last stage that ran left it, also when the request was then refused."""
