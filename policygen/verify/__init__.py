"""Suites and properties: prove that a bundle does what was meant.

The package can be called: `policygen.verify(policies, fixtures)` is `policygen.verify.api.verify`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class _Callable(ModuleType):
    """A module with a function of its own name."""

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        from policygen.verify.api import verify

        return verify(*arguments, **options)


sys.modules[__name__].__class__ = _Callable
