"""The table of libraries: which exists since which version (mirrors apiserver `pkg/cel/environment/base.go`).

A library is a module of this package that declares functions in a tuple (`FUNCTIONS` unless the table names
another) and may declare opaque types in `TYPES: tuple[Type, ...]`. A function that several libraries
declare (`size`, `reverse`, `_+_`, …) has the overloads of all of them, in the order of the table.
Modules are imported when an environment that contains them is built.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from policygen.cel import macros
from policygen.cel.decls import FunctionDecl
from policygen.cel.parser import Macro
from policygen.cel.types import Type

ALWAYS: Final = 0
NEVER: Final = 10_000


@dataclass(frozen=True, slots=True)
class Library:
    """One row. `since` is the minor version of Kubernetes whose new expressions may use it."""

    name: str
    since: int = ALWAYS
    module: str | None = None
    functions: str = "FUNCTIONS"
    macros: tuple[Macro, ...] = ()
    validators: tuple[str, ...] = ()
    devices_only: bool = False
    """Declared for DRA selectors and nowhere else (`dynamic-resource-allocation/cel`)."""

    def declarations(self) -> tuple[FunctionDecl, ...]:
        """Its functions."""
        if self.module is None:
            return ()
        found: tuple[FunctionDecl, ...] = getattr(self._imported(), self.functions)
        return found

    def types(self) -> tuple[Type, ...]:
        """The opaque types that it declares."""
        if self.module is None:
            return ()
        found: tuple[Type, ...] = getattr(self._imported(), "TYPES", ())
        return found

    def _imported(self) -> object:
        return import_module(f"policygen.cel.lib.{self.module}")


LIBRARIES: Final = (
    Library("operators", module="operators", macros=macros.STANDARD, validators=("homogeneous",)),
    Library("standard", module="standard"),
    Library("optional", module="optionals", macros=macros.OPTIONAL),
    Library("optional operators", module="operators", functions="OPTIONAL_FUNCTIONS"),
    Library("strings", module="strings"),
    Library("urls", module="urls"),
    Library("regex", module="regex"),
    Library("lists", module="lists"),
    Library("authorizer", module="authorizer"),
    Library("quantity", module="quantity"),
    Library("jsonpatch", module="jsonpatch"),
    Library(
        "strings.format",
        29,
        "strings_format",
        validators=("duration", "timestamp", "regex", "format"),
    ),
    Library("sets", 29, "sets"),
    Library("ip", 30, "ip"),
    Library("cidr", 30, "cidr"),
    Library("format", 31, "format"),
    Library("comprehensions", 32, "comprehensions", macros=macros.TWO_VARIABLES),
    Library("semver", 33, "semver"),
    Library("lists (cel-go)", 34, "lists_ext", macros=macros.SORT_BY),
    Library("includes", module="includes", devices_only=True),
    Library("includes", module="includes", devices_only=True),
    Library("bindings", macros=macros.BIND, devices_only=True),
)


def libraries(minor: int, *, devices: bool = False) -> Iterator[Library]:
    """The libraries that new expressions on a minor version may use; `NEVER` gives all of them."""
    for library in LIBRARIES:
        if library.since <= minor and (devices or not library.devices_only):
            yield library
