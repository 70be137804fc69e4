"""Declarations of functions: signature, documentation, examples, binding and cost in one entry each.

Names follow cel-go `common/decls`. A library is a module of `policygen.cel.lib` with
`FUNCTIONS: tuple[FunctionDecl, ...]`; the table `policygen.cel.lib.LIBRARIES` says since when it exists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from policygen.cel.types import Type, has_params

Binding: TypeAlias = Callable[..., Any]
"""A plain function over CEL values (receiver first). Raises `EvalError`; must not change its arguments."""

CostFunction: TypeAlias = Callable[[Sequence[Any], Any], int]
"""Run-time cost from the argument values (receiver first) and the result; either may be an `EvalError`."""

Cost: TypeAlias = int | CostFunction

MAX = 2**64 - 1
"""Upper bound of sizes and costs; sums and products stay at it."""


@dataclass(frozen=True, slots=True)
class Range:
    """Least and greatest of a size or a cost (cel-go `SizeEstimate`, `CostEstimate`)."""

    least: int
    greatest: int

    def __add__(self, other: Range) -> Range:
        return Range(min(self.least + other.least, MAX), min(self.greatest + other.greatest, MAX))

    def __mul__(self, other: Range) -> Range:
        return Range(min(self.least * other.least, MAX), min(self.greatest * other.greatest, MAX))

    def scaled(self, factor: float) -> Range:
        """Multiplied by a factor and rounded up, as cel-go's `MultiplyByCostFactor`."""
        return Range(_scale(self.least, factor), _scale(self.greatest, factor))

    def union(self, other: Range) -> Range:
        """The smallest range around both."""
        return Range(min(self.least, other.least), max(self.greatest, other.greatest))


def _scale(number: int, factor: float) -> int:
    from math import ceil

    product = number * factor
    return MAX if product >= MAX else ceil(product)


@dataclass(frozen=True, slots=True)
class Estimated:
    """An argument as a static estimate sees it (cel-go `AstNode`)."""

    type: Type
    size: Range | None
    """Known bounds of its size; None when nothing is known."""
    literal: Any = None
    """The value where the argument is a literal, otherwise None."""

    @property
    def size_or_any(self) -> Range:
        """Its size, or anything at all."""
        return self.size if self.size is not None else Range(0, MAX)


@dataclass(frozen=True, slots=True)
class CallEstimate:
    """Static cost of a call without that of its arguments, and the size of its result where known."""

    cost: Range
    result_size: Range | None = None


Estimate: TypeAlias = Callable[[Sequence[Estimated]], CallEstimate]


@dataclass(frozen=True, slots=True)
class Example:
    """An expression of the library's documentation; it is run as a test and printed in the docs.

    `result` is a CEL expression that the first must equal; None means that `expr` itself must be true;
    `error` is the run-time error or (a part of) the compile error that it must give instead.
    """

    expr: str
    result: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function. `params` includes the receiver of a member overload."""

    id: str
    params: tuple[Type, ...]
    result: Type
    bind: Binding | None = None
    member: bool = False
    cost: Cost = 1
    estimate: Estimate | None = None
    doc: str = ""
    examples: tuple[Example, ...] = ()
    strict: bool = True
    """A non-strict binding is also called when an argument failed, with the `EvalError` as the value."""
    is_parametric: bool = field(init=False, compare=False, default=False)
    """Whether type parameters occur in the signature."""

    def __post_init__(self) -> None:
        parametric = any(map(has_params, (*self.params, self.result)))
        object.__setattr__(self, "is_parametric", parametric)


@dataclass(frozen=True, slots=True)
class FunctionDecl:
    """A function with all its overloads.

    Where argument types are not known before run time, the planner picks the first overload whose parameter
    types fit the values (lists and maps by their first element, as cel-go does) and calls its `bind`; when
    none fits, the error is `no such overload: name(type, …)`. A function with `bind` of its own (cel-go's
    singleton binding) is called for every overload and raises `NoSuchOverloadError` itself.
    """

    name: str
    overloads: tuple[Overload, ...]
    bind: Binding | None = None
    doc: str = ""
    cost: Cost | None = None
    """Cost where arguments of type `dyn` leave open which overload is called; None: the overloads' cost when
    they all have the same, otherwise 1."""
    fold: bool = False
    """Called on constants at plan time (cel-go folds the type conversions: `int(…)`, `timestamp(…)`, …);
    an error then is `program instantiation failed: …`."""
