"""JSON of custom kinds: the format of numbers and the order of members."""

from __future__ import annotations

import pytest

from orchd.kinds.codec.sortedjson import encode
from orchd.kinds.gotext.values import json_number

NUMBERS = [
    (1.0, "1"),
    (-0.0, "-0"),
    (1500.0, "1500"),
    (-2.5, "-2.5"),
    (0.1, "0.1"),
    (1e-5, "0.00001"),
    (1e-6, "0.000001"),
    (1e-7, "1e-7"),
    (1.5e-10, "1.5e-10"),
    (123456789.125, "123456789.125"),
    (1.2345678901234567e19, "12345678901234567000"),
    (1234567890123456789.0, "1234567890123456800"),
    (1e20, "100000000000000000000"),
    (1e21, "1e+21"),
    (1e300, "1e+300"),
]


@pytest.mark.parametrize(("value", "text"), NUMBERS)
def test_shortest_number_spelling(value: float, text: str) -> None:
    """Numbers have the shortest form, without an exponent from 1e-6 to 1e21."""
    assert json_number(value) == text
    assert encode({"a": [value]}) == f'{{"a":[{text}]}}'.encode()


def test_large_integers() -> None:
    """Integers beyond 64 bits are floats."""
    assert encode([2**63 - 1, 2**63, -(2**63)]) == b"[9223372036854775807,9223372036854776000,-9223372036854775808]"
    assert encode([12345678901234567890]) == b"[12345678901234567000]"


def test_members_are_sorted_by_bytes() -> None:
    """Members are sorted by the bytes of their names, at every depth."""
    assert encode({"b": 1, "a": {"\u00e9": 1, "z": 2, "Z": 3}}) == '{"a":{"Z":3,"z":2,"\u00e9":1},"b":1}'.encode()
