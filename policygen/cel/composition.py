"""`variables`: named expressions, evaluated on first use, once (apiserver `plugin/cel/composition.go`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from policygen.cel.errors import EvalError


class LazyVariables(Mapping[str, Any]):
    """The value of `variables`: names to functions that evaluate them. A failure is kept as well."""

    __slots__ = ("_known", "_pending")
    cel_type_name = "kubernetes.variables"

    def __init__(self, pending: Mapping[str, Callable[[], Any]]) -> None:
        self._pending = pending
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        known = self._known
        if name not in known:
            try:
                known[name] = self._pending[name]()
            except EvalError as error:
                text = f'composited variable "{name}" fails to evaluate: {error.message}'
                known[name] = EvalError(text)
        value = known[name]
        if isinstance(value, EvalError):
            raise value
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._pending)

    def __len__(self) -> int:
        return len(self._pending)
