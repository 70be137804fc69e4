"""Quantities such as `1.5Gi` (apiserver `library/quantity.go`)."""

from __future__ import annotations

from typing import Final

from policygen.cel import types
from policygen.cel.cost import first_text_cost
from policygen.cel.decls import Binding, Example, FunctionDecl, Overload
from policygen.cel.errors import EvalError
from policygen.cel.types import Type
from policygen.kube import quantity as kube
from policygen.kube.quantity import Format, Quantity, QuantityError

QUANTITY_TYPE: Final = types.struct("kubernetes.Quantity")


def quantity(text: str) -> Quantity:
    """The quantity that a text means."""
    try:
        return Quantity.parse(text)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def is_integer(value: Quantity) -> bool:
    """Whether `asInteger` works."""
    return value.as_int64() is not None


def as_integer(value: Quantity) -> int:
    """The value as an int."""
    number = value.as_int64()
    if number is None:
        raise EvalError("cannot convert value to integer")
    return number


def as_approximate_float(value: Quantity) -> float:
    """The value as a double, which may not be exact."""
    return value.approximate_float()


def sign(value: Quantity) -> int:
    """-1, 0 or 1."""
    return value.sign


def add(left: Quantity, right: Quantity | int) -> Quantity:
    """The sum with a quantity or an int."""
    try:
        return left + _operand(right)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def subtract(left: Quantity, right: Quantity | int) -> Quantity:
    """The difference to a quantity or an int."""
    try:
        return left - _operand(right)
    except QuantityError as error:
        raise EvalError(str(error)) from None


def _operand(value: Quantity | int) -> Quantity:
    return value if isinstance(value, Quantity) else Quantity.of(value, Format.DECIMAL_EXPONENT)


def is_greater(left: Quantity, right: Quantity) -> bool:
    """Whether the first is greater."""
    return left.compare(right) > 0


def is_less(left: Quantity, right: Quantity) -> bool:
    """Whether the first is less."""
    return left.compare(right) < 0


def compare(left: Quantity, right: Quantity) -> int:
    """-1, 0 or 1."""
    return left.compare(right)


def _member(
    name: str,
    overload: str,
    params: tuple[Type, ...],
    result: Type,
    bind: Binding,
    *,
    doc: str,
    example: Example,
) -> FunctionDecl:
    return FunctionDecl(
        name, (Overload(overload, params, result, bind, member=True, doc=doc, examples=(example,)),)
    )


def _arithmetic(name: str, bind: Binding, doc: str, *examples: Example) -> FunctionDecl:
    return FunctionDecl(
        name,
        (
            Overload(
                f"quantity_{name}",
                (QUANTITY_TYPE, QUANTITY_TYPE),
                QUANTITY_TYPE,
                bind,
                member=True,
                doc=doc,
                examples=examples,
            ),
            Overload(f"quantity_{name}_int", (QUANTITY_TYPE, types.INT), QUANTITY_TYPE, bind, member=True),
        ),
    )


_Q: Final = QUANTITY_TYPE

FUNCTIONS: Final = (
    FunctionDecl(
        "quantity",
        (
            Overload(
                "string_to_quantity",
                (types.STRING,),
                _Q,
                quantity,
                cost=first_text_cost,
                doc="the quantity that a text means",
                examples=(
                    Example("quantity('1Gi') == quantity('1024Mi')"),
                    Example("quantity('1KI')", error="quantities must match the regular expression"),
                ),
            ),
        ),
    ),
    FunctionDecl(
        "isQuantity",
        (
            Overload(
                "is_quantity_string",
                (types.STRING,),
                types.BOOL,
                kube.is_quantity,
                cost=first_text_cost,
                doc="whether a text is a quantity",
                examples=(Example("isQuantity('1.5Gi')"), Example("!isQuantity('ten')")),
            ),
        ),
    ),
    FunctionDecl(
        "sign",
        (
            Overload(
                "quantity_sign",
                (_Q,),
                types.INT,
                sign,
                doc="-1, 0 or 1; not a member, as the server has it",
                examples=(Example("sign(quantity('-5')) == -1"),),
            ),
        ),
    ),
    _member(
        "isInteger",
        "quantity_is_integer",
        (_Q,),
        types.BOOL,
        is_integer,
        doc="whether `asInteger` works: some whole numbers are kept in a form that refuses it",
        example=Example("!quantity('1.5Gi').isInteger()"),
    ),
    _member(
        "asInteger",
        "quantity_as_integer",
        (_Q,),
        types.INT,
        as_integer,
        doc="the value as an int",
        example=Example("quantity('1Ki').asInteger() == 1024"),
    ),
    _member(
        "asApproximateFloat",
        "quantity_as_float",
        (_Q,),
        types.DOUBLE,
        as_approximate_float,
        doc="the value as a double, which may not be exact",
        example=Example("quantity('100m').asApproximateFloat() == 0.1"),
    ),
    _member(
        "isGreaterThan",
        "quantity_is_greater_than",
        (_Q, _Q),
        types.BOOL,
        is_greater,
        doc="whether the quantity is greater than another",
        example=Example("quantity('1Gi').isGreaterThan(quantity('1G'))"),
    ),
    _member(
        "isLessThan",
        "quantity_is_less_than",
        (_Q, _Q),
        types.BOOL,
        is_less,
        doc="whether the quantity is less than another",
        example=Example("quantity('100m').isLessThan(quantity('1'))"),
    ),
    _member(
        "compareTo",
        "quantity_compare_to",
        (_Q, _Q),
        types.INT,
        compare,
        doc="-1, 0 or 1: less, equal or greater",
        example=Example("quantity('1k').compareTo(quantity('1Ki')) == -1"),
    ),
    _arithmetic(
        "add",
        add,
        "the sum with a quantity or an int",
        Example("quantity('1Gi').add(quantity('1Gi')) == quantity('2Gi')"),
        Example("quantity('1k').add(24) == quantity('1Ki')"),
    ),
    _arithmetic(
        "sub",
        subtract,
        "the difference to a quantity or an int",
        Example("quantity('1').sub(quantity('100m')) == quantity('900m')"),
    ),
)
