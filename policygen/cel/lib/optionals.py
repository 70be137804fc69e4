"""Optional values (cel-go `cel/library.go`, `OptionalTypes`), with `first` and `last` of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from policygen.cel import types
from policygen.cel.decls import Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.gotime import MIN_UNIX, SECOND
from policygen.cel.lib.conversions import string_of
from policygen.cel.values import NONE, Duration, ObjectValue, Optional, Timestamp, Value, type_name

OPTIONAL_TYPE: Final = types.optional_of(types.param("T"))


def some(value: Value) -> Optional:
    """An optional with a value."""
    return Optional(value)


def none() -> Optional:
    """The optional without a value."""
    return NONE


def is_zero(value: Value) -> bool:
    """Whether a value is the empty one of its type (cel-go `traits.Zeroer`)."""
    match value:
        case None:
            return True
        case bool() | int() | float() | str() | bytes() | list() | Mapping():
            return not value
        case Duration():
            return value.ns == 0
        case Timestamp():
            return value.ns == MIN_UNIX * SECOND
        case ObjectValue():
            return not value.fields
        case _:
            return False


def of_non_zero_value(value: Value) -> Optional:
    """An optional with a value unless that is the empty one of its type."""
    return NONE if is_zero(value) else Optional(value)


def value_of(optional: Optional) -> Value:
    """The value, or an error when there is none."""
    if optional is NONE:
        raise EvalError("optional.none() dereference")
    return optional.value


def has_value(optional: Optional) -> bool:
    """Whether there is a value."""
    return optional is not NONE


def either(optional: Optional, other: Optional) -> Optional:
    """The first optional that has a value."""
    return other if optional is NONE else optional


def value_or(optional: Optional, other: Value) -> Value:
    """The value, or another when there is none."""
    return other if optional is NONE else optional.value


def first(items: Sequence[Value]) -> Optional:
    """The first element of a list, if there is one."""
    return Optional(items[0]) if items else NONE


def last(items: Sequence[Value]) -> Optional:
    """The last element of a list, if there is one."""
    return Optional(items[-1]) if items else NONE


def unwrap(items: Sequence[Value]) -> list[Value]:
    """The values of those optionals that have one."""
    for item in items:
        if type(item) is not Optional:
            raise EvalError(f"value {string_of(item) or type_name(item)} is not optional")
    return [item.value for item in items if item is not NONE]


_T: Final = types.param("T")
_LIST: Final = types.list_of(_T)
_OPTIONALS: Final = types.list_of(OPTIONAL_TYPE)

FUNCTIONS: Final = (
    FunctionDecl(
        "optional.of",
        (
            Overload(
                "optional_of",
                (_T,),
                OPTIONAL_TYPE,
                some,
                doc="an optional with a value",
                examples=(Example("optional.of(1).value() == 1"),),
            ),
        ),
    ),
    FunctionDecl(
        "optional.ofNonZeroValue",
        (
            Overload(
                "optional_ofNonZeroValue",
                (_T,),
                OPTIONAL_TYPE,
                of_non_zero_value,
                doc="an optional with a value, without one when that is empty, zero, false or null",
                examples=(
                    Example("optional.ofNonZeroValue('a').hasValue()"),
                    Example("!optional.ofNonZeroValue([]).hasValue()"),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "optional.none",
        (
            Overload(
                "optional_none",
                (),
                OPTIONAL_TYPE,
                none,
                doc="the optional without a value",
                examples=(Example("!optional.none().hasValue()"),),
            ),
        ),
    ),
    FunctionDecl(
        "value",
        (
            Overload(
                "optional_value",
                (OPTIONAL_TYPE,),
                _T,
                value_of,
                member=True,
                doc="the value of an optional; an error when there is none",
                examples=(
                    Example("optional.of('a').value() == 'a'"),
                    Example("optional.none().value()", error="optional.none() dereference"),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "hasValue",
        (
            Overload(
                "optional_hasValue",
                (OPTIONAL_TYPE,),
                types.BOOL,
                has_value,
                member=True,
                doc="whether an optional has a value",
                examples=(Example("optional.of(null).hasValue()"),),
            ),
        ),
    ),
    FunctionDecl(
        "or",
        (
            Overload(
                "optional_or_optional",
                (OPTIONAL_TYPE, OPTIONAL_TYPE),
                OPTIONAL_TYPE,
                either,
                member=True,
                cost=0,
                doc="the optional, or another when it has no value",
                examples=(Example("optional.none().or(optional.of(2)).value() == 2"),),
            ),
        ),
    ),
    FunctionDecl(
        "orValue",
        (
            Overload(
                "optional_orValue_value",
                (OPTIONAL_TYPE, _T),
                _T,
                value_or,
                member=True,
                cost=0,
                doc="the value of an optional, or another when it has none",
                examples=(Example("{'a': 1}[?'b'].orValue(7) == 7"),),
            ),
        ),
    ),
    FunctionDecl(
        "first",
        (
            Overload(
                "list_first",
                (_LIST,),
                OPTIONAL_TYPE,
                first,
                member=True,
                doc="the first element of a list, as an optional",
                examples=(Example("[1, 2].first().value() == 1"),),
            ),
        ),
    ),
    FunctionDecl(
        "last",
        (
            Overload(
                "list_last",
                (_LIST,),
                OPTIONAL_TYPE,
                last,
                member=True,
                doc="the last element of a list, as an optional",
                examples=(Example("[1, 2].last().value() == 2"), Example("![].last().hasValue()")),
            ),
        ),
    ),
    FunctionDecl(
        "optional.unwrap",
        (
            Overload(
                "optional_unwrap",
                (_OPTIONALS,),
                _LIST,
                unwrap,
                doc="the values of those optionals that have one",
                examples=(Example("optional.unwrap([optional.of(1), optional.none()]) == [1]"),),
            ),
        ),
    ),
    FunctionDecl(
        "unwrapOpt",
        (
            Overload(
                "optional_unwrapOpt",
                (_OPTIONALS,),
                _LIST,
                unwrap,
                member=True,
                doc="the values of those optionals that have one",
                examples=(Example("[optional.of(1), optional.none()].unwrapOpt() == [1]"),),
            ),
        ),
    ),
)
