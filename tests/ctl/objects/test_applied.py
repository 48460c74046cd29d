"""The part of an object that a manager owns."""

from __future__ import annotations

from orchd.ctl.objects.applied import owned_part


def test_the_owned_part_of_a_value() -> None:
    """Fields and list items by key and by value are taken; the rest is left out."""
    value = {
        "a": 1,
        "b": {"c": 2, "d": 3},
        "l": [{"name": "x", "v": 1, "w": 2}, {"name": "y"}],
        "s": ["p", "q"],
        "e": {"f": 1},
    }
    fields = {
        "f:a": {}, "f:b": {"f:c": {}}, "f:l": {'k:{"name":"x"}': {".": {}, "f:name": {}, "f:v": {}}}, "f:s": {'v:"q"': {}},
        "f:e": {".": {}}, "f:gone": {},
    }  # fmt: skip
    assert owned_part(value, fields) == {"a": 1, "b": {"c": 2}, "l": [{"name": "x", "v": 1}], "s": ["q"], "e": {}}
