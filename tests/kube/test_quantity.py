"""Quantities: the table beside this file, and laws that every one obeys."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from policygen.kube.quantity import Format, Quantity, QuantityError, is_quantity

CASES = yaml.safe_load(Path(__file__).with_name("quantities.yaml").read_text("utf-8"))

numbers = st.from_regex(r"\A[+-]?[0-9]{1,12}(\.[0-9]{0,10})?\Z").filter(
    lambda text: sum(map(str.isdigit, text)) != 19  # of which those above 64 bits are refused
)
suffixes = st.sampled_from(
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "e3", "E-4", "e2"]
)
quantities = st.builds(lambda number, suffix: Quantity.parse(number + suffix), numbers, suffixes)


def exact(quantity: Quantity) -> Fraction:
    return Fraction(quantity.unscaled) * Fraction(10) ** quantity.scale


@pytest.mark.parametrize("case", CASES, ids=[str(case[0]) for case in CASES])
def test_table(case: list[Any]) -> None:
    """The canonical form and the numbers, or the server's words."""
    text = str(case[0])
    if case[1] is None:
        assert not is_quantity(text)
        with pytest.raises(QuantityError) as error:
            Quantity.parse(text)
        assert str(error.value) == case[2]
        return
    quantity = Quantity.parse(text)
    assert [str(quantity), quantity.as_int64(), quantity.value(), quantity.milli_value()] == case[1:]


@given(quantities)
def test_canonical_form_keeps_the_value(quantity: Quantity) -> None:
    """Writing and reading again gives an equal quantity, written alike."""
    again = Quantity.parse(str(quantity))
    assert again == quantity
    assert hash(again) == hash(quantity)


@given(quantities, quantities)
def test_arithmetic_is_exact(left: Quantity, right: Quantity) -> None:
    """Sums, differences and comparison agree with exact rationals."""
    assert exact(left + right) == exact(left) + exact(right)
    assert exact(left - right) == exact(left) - exact(right)
    assert left.compare(right) == (exact(left) > exact(right)) - (exact(left) < exact(right))
    assert (left == right) == (exact(left) == exact(right))


@given(quantities)
def test_whole_numbers_round_away_from_zero(quantity: Quantity) -> None:
    """`value` is the next whole number away from zero."""
    if abs(exact(quantity)) < 1 << 62:
        assert abs(quantity.value()) == -(-abs(exact(quantity)) // 1)


@given(st.text(alphabet="+-.0123456789eEinumkKMGTP ", max_size=12))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    """No text does anything else."""
    if is_quantity(text):
        quantity = Quantity.parse(text)
        assert quantity.approximate_float() is not None
        assert str(quantity)


def test_exponents_far_apart() -> None:
    """Comparison settles by magnitude; a sum that would need a billion digits is refused."""
    huge, small = Quantity.parse("1e2000000000"), Quantity.parse("1")
    assert huge > small > -huge
    with pytest.raises(QuantityError, match="too far apart"):
        huge + small


def test_zero_takes_the_other_format() -> None:
    """`0` plus an int is written with an exponent, as the CEL library's int is."""
    assert str(Quantity.parse("0") + Quantity.of(1000, Format.DECIMAL_EXPONENT)) == "1e3"
    assert str(Quantity.parse("0") + Quantity.parse("2Ki")) == "2Ki"
