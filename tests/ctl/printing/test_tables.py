"""Tables: of objects without a table of the server, in an order, and ages."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.ctl.printing.tables import View, age_text, plain_table, sorted_rows

NOW = 1_800_000_000.0


def test_tables_of_objects_without_one() -> None:
    """Name and age of each object of a list, or of one."""
    young = {"metadata": {"name": "a", "creationTimestamp": "2027-01-15T07:59:55Z"}}
    bare: dict[str, Any] = {}
    for value, names in (({"items": [young, bare], "metadata": {"resourceVersion": "7"}}, ["a", ""]), (young, ["a"])):
        table = plain_table(value, NOW)
        assert [row["cells"] for row in table["rows"]] == [[name, "5s" if name else "<unknown>"] for name in names]
        assert [row["object"]["metadata"] for row in table["rows"]][:1] == [young["metadata"]]
        assert [each["name"] for each in table["columnDefinitions"]] == ["Name", "Age"]
        assert all(each["priority"] == 0 for each in table["columnDefinitions"])
        assert table["kind"] == "Table" and table["metadata"] == value["metadata"]


def test_order_of_rows() -> None:
    """Objects without the value come first, then numbers by value, then texts."""
    values: tuple[Any, ...] = ("b", 10, 9.5, None, "a", 2)
    rows = [{"cells": [at], "object": {"v": value} if value is not None else {}} for at, value in enumerate(values)]
    assert [row["cells"] for row in sorted_rows(rows, View(sort_by=".v"))] == [[3], [5], [2], [1], [4], [0]]
    assert sorted_rows(rows, View()) == rows


@pytest.mark.parametrize(
    ("stamp", "text"),
    [("2027-01-15T07:58:00Z", "2m"), ("2027-01-15T09:00:00Z", "0s"), ("", "<unknown>"), ("yesterday", "<unknown>")],
)
def test_ages(stamp: str, text: str) -> None:
    """Those of the future are none."""
    assert age_text(NOW, stamp) == text
