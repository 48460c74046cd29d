"""Scalars with their own JSON format."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchd.kinds.objects import scalars
from orchd.kinds.objects.scalars import Quantity, ScalarError, canonical_quantity

QUANTITIES = [
    ("0", "0"), ("-0", "0"), ("0Ki", "0"), ("-", "0"), ("1", "1"), ("+1", "1"), ("001", "1"), ("1000m", "1"),
    ("0.1", "100m"), ("1.5", "1500m"), ("100m", "100m"), (".5", "500m"), ("1.", "1"), ("1024Ki", "1Mi"),
    ("1023Ki", "1023Ki"), ("1Gi", "1Gi"), ("1.5Gi", "1536Mi"), ("0.5Ki", "512"), ("1.1Ki", "1126400m"), ("1Ki", "1Ki"),
    ("1000Ki", "1000Ki"), ("1000", "1k"), ("1500k", "1500k"), ("1000k", "1M"), ("12e6", "12e6"), ("1e3", "1e3"),
    ("1E3", "1e3"), ("1e0", "1"), ("1e1", "10"), ("1e-3", "1e-3"), ("1E", "1E"), ("-5", "-5"), ("-1.5Gi", "-1536Mi"),
    ("1n", "1n"), ("0.1n", "1n"), ("1u", "1u"), ("0.001", "1m"), ("1000E", "1e21"), ("16Ei", "9223372036854775807"),
    ("8589934592Gi", "9223372036854775807"), ("100Mi", "100Mi"), ("1048576", "1048576"), ("0.0001Ki", "102400u"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "canonical"), QUANTITIES)
def test_quantities_are_canonical(text: str, canonical: str) -> None:
    """A quantity has no fraction and the largest suffix of its own family that needs none."""
    assert canonical_quantity(text) == canonical
    assert canonical_quantity(canonical) == canonical


@pytest.mark.parametrize(("number", "canonical"), [(1, "1"), (0.1, "100m"), (1000.0, "1k"), (2.5, "2500m"), (-3, "-3")])
def test_quantities_may_be_numbers(number: float, canonical: str) -> None:
    """A JSON number is a valid quantity."""
    assert canonical_quantity(number) == canonical


@pytest.mark.parametrize("text", ["", "abc", "1.2.3", "1 Gi", "1KI", "1e3Ki", True, None, {}])
def test_invalid_quantities_are_refused(text: object) -> None:
    """The error for an invalid quantity has the pattern."""
    with pytest.raises(ScalarError, match="quantities must match the regular expression"):
        canonical_quantity(text)


@pytest.mark.parametrize("text", ["--1", "1ki", "1e", "1ee3", "1mm", "1Kii", "1e999999999"])
def test_unknown_suffixes(text: str) -> None:
    """An unknown suffix has its own error."""
    with pytest.raises(ScalarError, match="unable to parse quantity's suffix"):
        canonical_quantity(text)


@given(st.integers(-(10**30), 10**30), st.sampled_from([scalars.DECIMAL, scalars.EXPONENT]))
def test_decimal_quantities_are_exact(nano: int, family: str) -> None:
    """Formatting and parsing a decimal quantity is lossless."""
    assert Quantity.parse(str(Quantity(nano, family))).nano == nano


@given(st.integers(-(2**60), 2**60))
def test_binary_quantities_are_exact(whole: int) -> None:
    """Formatting and parsing a binary quantity is lossless."""
    assert Quantity.parse(str(Quantity.of(whole, scalars.BINARY))).value == whole


def test_quantity_arithmetic() -> None:
    """Sums are exact and have the suffix family of the left operand; comparison ignores the family."""
    assert str(Quantity.parse("1Gi") + Quantity.parse("1")) == "1073741825"
    assert str(Quantity.parse("0") + Quantity.parse("1Gi")) == "1Gi"
    assert str(Quantity.parse("1") - Quantity.parse("100m")) == "900m"
    assert Quantity.parse("1024") < Quantity.parse("2Ki")
    assert Quantity.parse("1024").same(Quantity.parse("1Ki"))
    assert Quantity.parse("1500m").value == 2
    assert Quantity.parse("-1500m").value == -2
    assert Quantity.parse("1.0001").milli == 1001


def test_percentages() -> None:
    """A percentage is digits and a percent sign."""
    assert scalars.percent("25%") == 25
    assert scalars.percent("x%") is None
