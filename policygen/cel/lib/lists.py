"""Kubernetes' functions on lists: `sum`, `min`, `max`, `isSorted`, … (apiserver `library/lists.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import first_traversal_cost
from policygen.cel.decls import Binding, Example, FunctionDecl, Overload
from policygen.cel.errors import CostLimitExceededError, EvalError, NoSuchOverloadError
from policygen.cel.lib.strings import estimate_index
from policygen.cel.operations import add, compare
from policygen.cel.types import Type
from policygen.cel.values import Duration, Timestamp, Uint, Value, equal

COMPARABLE: Final = (
    ("int", types.INT),
    ("uint", types.UINT),
    ("double", types.DOUBLE),
    ("bool", types.BOOL),
    ("duration", types.DURATION),
    ("timestamp", types.TIMESTAMP),
    ("string", types.STRING),
    ("bytes", types.BYTES),
)
_SUMMABLE: Final = tuple(
    (name, kind, zero)
    for (name, kind), zero in zip(
        (COMPARABLE[0], COMPARABLE[1], COMPARABLE[2], COMPARABLE[4]),
        (0, Uint(0), 0.0, Duration(0)),
        strict=True,
    )
)
_HEAVIEST: Final = 20_000_000
_UNIFORM: Final = frozenset({int, str})
_ORDERED: Final = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})


def stop_beyond_limits(steps: int) -> None:
    """Refuse work that costs far more than any limit lets through; the server cancels after it."""
    if steps > _HEAVIEST:
        raise CostLimitExceededError


def order(left: Value, right: Value) -> int | None:
    """Less, equal, greater; None where the two cannot be compared, which upstream then ignores."""
    try:
        return compare("", left, right)
    except EvalError:
        return None


def is_uniform(items: Sequence[Value]) -> bool:
    """Whether all are texts, or all are ints: then Python compares as CEL does."""
    kinds = set(map(type, items))
    return len(kinds) == 1 and kinds <= _UNIFORM


def _ordered(items: Sequence[Value]) -> Sequence[Value]:
    for item in items:
        if type(item) not in _ORDERED:
            raise NoSuchOverloadError
    return items


def is_sorted(items: Sequence[Value]) -> bool:
    """Whether no element is greater than the next."""
    if is_uniform(items):
        return all(items[at] <= items[at + 1] for at in range(len(items) - 1))
    _ordered(items)
    return not any((order(items[at], items[at + 1]) or 0) > 0 for at in range(len(items) - 1))


def greatest(items: Sequence[Value]) -> Value:
    """The greatest element, the first of equal ones."""
    return _best(items, -1, "max")


def least(items: Sequence[Value]) -> Value:
    """The least element, the first of equal ones."""
    return _best(items, 1, "min")


def _best(items: Sequence[Value], sign: int, name: str) -> Value:
    if not items:
        raise EvalError(f"{name} called on empty list")
    if is_uniform(items):
        return max(items) if sign < 0 else min(items)
    best = _ordered(items)[0]
    for item in items[1:]:
        if (order(best, item) or 0) * sign > 0:
            best = item
    return best


def index_of(items: Sequence[Value], wanted: Value) -> int:
    """Where an element first occurs, or -1."""
    return next((at for at, item in enumerate(items) if equal(item, wanted)), -1)


def last_index_of(items: Sequence[Value], wanted: Value) -> int:
    """Where an element last occurs, or -1."""
    return next((at for at in range(len(items) - 1, -1, -1) if equal(items[at], wanted)), -1)


def _summed(zero: Value) -> Binding:
    def total(items: Sequence[Value]) -> Value:
        result = zero
        for item in items:
            result = add(result, item)
        return result

    return total


def _over_comparable(name: str, suffix: str, bind: Binding, doc: str, *examples: Example) -> FunctionDecl:
    """A function with an overload for each type whose values can be compared."""

    def overload(at: int, kind_name: str, kind: Type) -> Overload:
        return Overload(
            f"list_{kind_name}_{suffix.format(kind_name)}",
            (types.list_of(kind),),
            types.BOOL if name == "isSorted" else kind,
            bind,
            member=True,
            cost=first_traversal_cost,
            estimate=estimate_index,
            doc=doc if at == 0 else "",
            examples=examples if at == 0 else (),
        )

    return FunctionDecl(name, tuple(overload(at, *named) for at, named in enumerate(COMPARABLE)), doc=doc)


def _index(name: str, overload: str, bind: Binding, doc: str, example: str) -> FunctionDecl:
    element = types.param("A")
    return FunctionDecl(
        name,
        (
            Overload(
                overload,
                (types.list_of(element), element),
                types.INT,
                bind,
                member=True,
                cost=first_traversal_cost,
                estimate=estimate_index,
                doc=doc,
                examples=(Example(example),),
            ),
        ),
    )


_SUM_DOC = "the sum of numbers or durations, 0 for an empty list"

FUNCTIONS: Final = (
    _over_comparable(
        "isSorted",
        "is_sorted_bool",
        is_sorted,
        "whether the elements are in ascending order",
        Example("[1, 2, 2].isSorted()"),
        Example("!['b', 'a'].isSorted()"),
    ),
    FunctionDecl(
        "sum",
        tuple(
            Overload(
                f"list_{name}_sum_{name}",
                (types.list_of(kind),),
                kind,
                _summed(zero),
                member=True,
                cost=first_traversal_cost,
                estimate=estimate_index,
                doc=_SUM_DOC if name == "int" else "",
                examples=(
                    Example("[1, 3].sum() == 4"),
                    Example("[duration('1m'), duration('1s')].sum() == duration('61s')"),
                    Example("[9223372036854775807, 1].sum()", error="integer overflow"),
                )
                if name == "int"
                else (),
            )
            for name, kind, zero in _SUMMABLE
        ),
        doc=_SUM_DOC,
    ),
    _over_comparable(
        "max",
        "max_{}",
        greatest,
        "the greatest element",
        Example("[1, 3, 2].max() == 3"),
        Example("[].max()", error="max called on empty list"),
    ),
    _over_comparable(
        "min",
        "min_{}",
        least,
        "the least element",
        Example("['b', 'a'].min() == 'a'"),
        Example("[].min()", error="min called on empty list"),
    ),
    _index(
        "indexOf",
        "list_a_index_of_int",
        index_of,
        "where an element first occurs, or -1",
        "['a', 'b', 'b'].indexOf('b') == 1",
    ),
    _index(
        "lastIndexOf",
        "list_a_last_index_of_int",
        last_index_of,
        "where an element last occurs, or -1",
        "['a', 'b', 'b'].lastIndexOf('b') == 2",
    ),
)
