"""The table of libraries: which exists since which version (mirrors apiserver `pkg/cel/environment/base.go`).

A library is a module of this package with `FUNCTIONS: tuple[FunctionDecl, ...]`.
"""

from __future__ import annotations
