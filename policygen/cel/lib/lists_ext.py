"""cel-go's functions on lists: `slice`, `flatten`, `sort`, `distinct`, … (`ext/lists.go`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.cost import LIST_COST, STRING_FACTOR, size_of
from policygen.cel.decls import MAX, CallEstimate, Estimate, Estimated, Example, FunctionDecl, Overload, Range
from policygen.cel.errors import EvalError, NoSuchOverloadError, ServerPanicError
from policygen.cel.lib.lists import COMPARABLE, is_uniform, stop_beyond_limits
from policygen.cel.values import Duration, Timestamp, Uint, Value, equal, go_type, type_name

_DEEPEST: Final = 500
_STABLE: Final = 12
"""Up to so many elements Go sorts by insertion, which is stable."""

_COMPARERS: Final = frozenset({int, Uint, float, bool, Duration, Timestamp, str, bytes})


def int_range(count: int) -> list[int]:
    """0, 1, … up to, and without, a number."""
    stop_beyond_limits(count * 4)
    return list(range(count))


def reverse(items: Sequence[Value]) -> list[Value]:
    """The elements from the last to the first."""
    return list(items[::-1])


def cut(items: Sequence[Value], start: int, end: int) -> list[Value]:
    """The elements from a position up to, and without, another."""
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def flatten(items: Value, depth: Value = 1) -> list[Value]:
    """Lists inside the list replaced by their elements, to a depth."""
    if not isinstance(items, list):
        shown = "" if depth == 1 else type_name(depth)
        raise NoSuchOverloadError(f"no such overload: {type_name(items)}.flatten({shown})")
    if type(depth) is not int:
        raise NoSuchOverloadError(f"no such overload: list.flatten({type_name(depth)})")
    if depth < 0:
        raise EvalError("level must be non-negative")
    flat = list(items)
    for _ in range(min(depth, _DEEPEST)):
        if not any(isinstance(item, list) for item in flat):
            break
        deeper: list[Value] = []
        stop_beyond_limits(sum(len(item) for item in flat if isinstance(item, list)))
        for item in flat:
            if isinstance(item, list):
                deeper.extend(item)
            else:
                deeper.append(item)
        flat = deeper
    return flat


def sort(items: Value) -> list[Value]:
    """The elements in ascending order."""
    if not isinstance(items, list):
        raise NoSuchOverloadError("no such overload: sort")
    return sort_by_keys(items, items)


def sort_by_keys(items: Value, keys: Value) -> list[Value]:
    """The elements in the order of their keys; what `sortBy` becomes."""
    if not isinstance(items, list):
        raise NoSuchOverloadError("no such overload: @sortByAssociatedKeys")
    if not items:
        return items
    kind = type(keys[0])
    if kind not in _COMPARERS:
        raise EvalError("list elements must be comparable")
    if len(items) > 1 and any(type(key) is not kind for key in keys):
        raise EvalError("list elements must have the same type")
    if _depends_on_algorithm(items, keys):
        from policygen.cel.gosort import go_order

        return [items[rank] for rank in go_order(len(items), lambda left, right: keys[left] < keys[right])]
    return [items[rank] for rank in sorted(range(len(items)), key=keys.__getitem__)]


def _depends_on_algorithm(items: list[Value], keys: list[Value]) -> bool:
    """Whether a stable sort may differ from Go's: equal keys of different elements, or NaN."""
    if keys is items and is_uniform(keys):
        return False
    if type(keys[0]) is float and any(key != key for key in keys):  # noqa: PLR0124
        return True
    return len(items) > _STABLE and len(set(keys)) < len(keys)


def distinct(items: Sequence[Value]) -> list[Value]:
    """The elements without those that equal an earlier one."""
    if is_uniform(items):
        return list(dict.fromkeys(items))
    stop_beyond_limits(len(items) ** 2)
    found: list[Value] = []
    for item in items:
        if not any(equal(item, earlier) for earlier in found):
            found.append(item)
    return found


def _allocating(factor: float, size: int) -> int:
    """cel-go `trackAllocatingListCall`, which wraps around like its uint64."""
    return (int(size * factor) + 1 + LIST_COST) % (1 << 64)


def _output_cost(_args: Sequence[Value], result: Value) -> int:
    return _allocating(1, size_of(result))


def _flatten_cost(args: Sequence[Value], _result: Value) -> int:
    depth = args[1] if len(args) == 2 and type(args[1]) is int else 1
    return _allocating(depth, size_of(args[0]))


def _self_compare_cost(items: Value) -> int:
    if not isinstance(items, list):
        shown = "*types.Err" if isinstance(items, EvalError) else go_type(items)
        raise ServerPanicError(f"interface conversion: {shown} is not traits.Lister: missing method Add")
    size, factor = size_of(items), 2.0
    if items and isinstance(items[0], (str, bytes)):
        factor += STRING_FACTOR
    return _allocating(factor, size * size)


def _first_cost(args: Sequence[Value], _result: Value) -> int:
    return _self_compare_cost(args[0])


def _keys_cost(args: Sequence[Value], _result: Value) -> int:
    return _self_compare_cost(args[1])


def _estimated(factor: float, size: Range) -> CallEstimate:
    return CallEstimate(size.scaled(factor) + Range(1 + LIST_COST, 1 + LIST_COST), size)


def _unsigned(arg: Estimated, otherwise: int) -> int:
    value = arg.literal
    return value if type(value) in (int, Uint) and value >= 0 else otherwise


def _estimate_slice(args: Sequence[Estimated]) -> CallEstimate:
    length = _unsigned(args[2], args[0].size_or_any.greatest) - _unsigned(args[1], 0)
    return _estimated(1, Range(length % (1 << 64), length % (1 << 64)))


def _estimate_range(args: Sequence[Estimated]) -> CallEstimate:
    length = _unsigned(args[0], MAX)
    return _estimated(1, Range(length, length))


def _estimate_reverse(args: Sequence[Estimated]) -> CallEstimate:
    return _estimated(1, args[0].size_or_any)


def _estimate_flatten(args: Sequence[Estimated]) -> CallEstimate:
    return _estimated(_unsigned(args[1], MAX) if len(args) > 1 else 1, args[0].size_or_any)


def _estimate_distinct(args: Sequence[Estimated]) -> CallEstimate:
    return _estimated(2, args[0].size_or_any * args[0].size_or_any)


def _estimate_sort(kind_name: str, at: int) -> Estimate:
    factor = 2 + STRING_FACTOR if kind_name in ("string", "bytes") else 2

    def estimate(args: Sequence[Estimated]) -> CallEstimate:
        return _estimated(factor, args[at].size_or_any * args[at].size_or_any)

    return estimate


_T: Final = types.param("T")
_LIST: Final = types.list_of(_T)
_TYPE_NAMES: Final = {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}

FUNCTIONS: Final = (
    FunctionDecl(
        "slice",
        (
            Overload(
                "list_slice",
                (_LIST, types.INT, types.INT),
                _LIST,
                cut,
                member=True,
                cost=_output_cost,
                estimate=_estimate_slice,
                doc="the elements from a position up to, and without, another",
                examples=(
                    Example("[1, 2, 3, 4].slice(1, 3) == [2, 3]"),
                    Example("[1].slice(0, 2)", error="cannot slice(0, 2), list is length 1"),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "flatten",
        (
            Overload(
                "list_flatten",
                (types.list_of(_LIST),),
                _LIST,
                flatten,
                member=True,
                cost=_flatten_cost,
                estimate=_estimate_flatten,
                doc="the list with the lists in it replaced by their elements, once or to a depth",
                examples=(Example("[[1, 2], [], [3]].flatten() == [1, 2, 3]"),),
            ),
            Overload(
                "list_flatten_int",
                (types.LIST_DYN, types.INT),
                types.LIST_DYN,
                flatten,
                member=True,
                cost=_flatten_cost,
                estimate=_estimate_flatten,
                doc="the same to a depth",
                examples=(Example("[[[1]], [[2]]].flatten(2) == [1, 2]"),),
            ),
        ),
        bind=flatten,
    ),
    FunctionDecl(
        "sort",
        tuple(
            Overload(
                f"list_{_TYPE_NAMES.get(name, name)}_sort",
                (types.list_of(kind),),
                types.list_of(kind),
                sort,
                member=True,
                cost=_first_cost,
                estimate=_estimate_sort(name, 0),
                doc="the elements in ascending order" if name == "int" else "",
                examples=(Example("[3, 1, 2].sort() == [1, 2, 3]"),) if name == "int" else (),
            )
            for name, kind in COMPARABLE
        ),
        bind=sort,
        doc="the elements in ascending order",
        cost=1,
    ),
    FunctionDecl(
        "@sortByAssociatedKeys",
        tuple(
            Overload(
                f"list_{_TYPE_NAMES.get(name, name)}_sortByAssociatedKeys",
                (_LIST, types.list_of(kind)),
                _LIST,
                sort_by_keys,
                member=True,
                cost=_keys_cost,
                estimate=_estimate_sort(name, 1),
                doc="the elements in the order of keys: what `sortBy` becomes" if name == "int" else "",
                examples=(Example("['ccc', 'a', 'bb'].sortBy(e, size(e)) == ['a', 'bb', 'ccc']"),)
                if name == "int"
                else (),
            )
            for name, kind in COMPARABLE
        ),
        bind=sort_by_keys,
        cost=1,
    ),
    FunctionDecl(
        "lists.range",
        (
            Overload(
                "lists_range",
                (types.INT,),
                types.list_of(types.INT),
                int_range,
                cost=_output_cost,
                estimate=_estimate_range,
                doc="the integers from 0 up to, and without, a number",
                examples=(Example("lists.range(3) == [0, 1, 2]"),),
            ),
        ),
    ),
    FunctionDecl(
        "reverse",
        (
            Overload(
                "list_reverse",
                (_LIST,),
                _LIST,
                reverse,
                member=True,
                cost=_output_cost,
                estimate=_estimate_reverse,
                doc="the elements from the last to the first",
                examples=(Example("[1, 2, 3].reverse() == [3, 2, 1]"),),
            ),
        ),
    ),
    FunctionDecl(
        "distinct",
        (
            Overload(
                "list_distinct",
                (_LIST,),
                _LIST,
                distinct,
                member=True,
                cost=_first_cost,
                estimate=_estimate_distinct,
                doc="the elements without those that equal an earlier one",
                examples=(Example("[1, 2, 2, 1].distinct() == [1, 2]"),),
            ),
        ),
    ),
)
