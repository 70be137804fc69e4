"""The two things that can go wrong with an expression: it does not compile, or it fails at run time."""

from __future__ import annotations

from dataclasses import dataclass

COST_LIMIT_EXCEEDED = "operation cancelled: actual cost limit exceeded"


class EvalError(Exception):
    """A CEL run-time error; `message` is the server's text. Bindings raise it; `&&`, `||`, macros absorb it.

    Where costs are tracked an instance also stands for the value of the failed sub-expression: a cost
    function may be handed one among its arguments or as the result (its size is 1).
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.cost: int | None = None
        """Cost spent up to the error; set by `Program.evaluate_with_cost`."""

    def __str__(self) -> str:
        return self.message


class NoSuchOverloadError(EvalError):
    """No overload takes values of these types."""

    def __init__(self, message: str = "no such overload") -> None:
        super().__init__(message)


class CostLimitExceededError(EvalError):
    """The cost limit of one call was reached. Nothing absorbs it."""

    def __init__(self, message: str = COST_LIMIT_EXCEEDED) -> None:
        super().__init__(message)


class ServerPanicError(EvalError):
    """The server's code panics here and recovers: nothing absorbs it, and no more cost is counted."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"internal error: {problem}")


@dataclass(frozen=True, slots=True)
class Issue:
    """One fault in an expression. `offset` counts code points; line from 1, column from 0 (cel-go's)."""

    message: str
    offset: int
    line: int
    column: int
    undefined_field: str | None = None
    """The name, where the fault is that a declared type has no such field."""
    node: int | None = None
    """The id of the node at fault, where the checker found it."""


class CompileError(Exception):
    """The expression does not compile; `str()` is the server's text, several lines with carets.

    `stage` is `compile` (parse, check, validate) or `program` (the checked expression cannot be planned,
    such as a constant conversion that fails); the server introduces them with `compilation failed: ` and
    `program instantiation failed: `, and `server_text` includes that.
    """

    def __init__(self, text: str, issues: tuple[Issue, ...] = (), stage: str = "compile") -> None:
        super().__init__(text)
        self.text = text
        self.issues = issues
        self.stage = stage

    @property
    def server_text(self) -> str:
        """The text as the API server begins it."""
        prefix = "compilation failed" if self.stage == "compile" else "program instantiation failed"
        return f"{prefix}: {self.text}"
