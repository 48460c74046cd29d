"""KYAML."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.ctl.printing import kyaml
from orchd.kinds.codec import yaml_
from tests.ctl.ctl_runner import Ctl


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"b": [], "a": {}}, "{\n  a: {},\n  b: [],\n}"),
        ({"a": [1, "x", None, True]}, '{\n  a: [\n    1,\n    "x",\n    null,\n    true,\n  ],\n}'),
        ({"a": [{"b": 1}, {}]}, "{\n  a: [{\n    b: 1,\n  }, {}],\n}"),
        ({"a": ["x\ny"]}, '{\n  a: [\n    "\\\n       x\\n\\\n       y\\\n      ",\n  ],\n}'),
        ({"a": [{"b": [1]}]}, "{\n  a: [{\n    b: [\n      1,\n    ],\n  }],\n}"),
        ({"a": {"b": {"c": 1}}}, "{\n  a: {\n    b: {\n      c: 1,\n    },\n  },\n}"),
        ({"a": "x\ny"}, '{\n  a: "\\\n     x\\n\\\n     y\\\n    ",\n}'),
        ({"a": " x\n"}, '{\n  a: "\\\n    \\ x\\n\\\n    ",\n}'),
        ({"a": "\x7f\x80"}, '{\n  a: "\\x7f\\u0080",\n}'),
        ({"a": "\U000e0001\ufffe"}, '{\n  a: "\\U000e0001\\ufffe",\n}'),
        ({"a": '\x1b\x9b\u202e\\"\t'}, '{\n  a: "\\e\\u009b\\u202e\\\\\\"\t",\n}'),
    ],
)
def test_values_as_kyaml(value: Any, text: str) -> None:
    """Keys are sorted, strings quoted; collections in lists share brackets' lines; several lines are folded."""
    assert kyaml.encode(value) == f"---\n{text}\n"
    assert yaml_.decode(kyaml.encode(value).encode()) == value


@pytest.mark.parametrize(
    ("key", "plain"),
    [
        ("a", True), ("a.b/c-d", True), ("é", True), ("1-1", True), ("", False), ("a-", False), ("-a", False),
        ("t", False), ("no", False), ("null", False), ("1e3", False), ("0x1f", False), ("1_0", False), ("nan", False),
        ("2020-01-02", False), ("1:30", False), ("a b", False), ("a\nb", False),
    ],
)  # fmt: skip
def test_keys_are_quoted_where_parsers_disagree(key: str, plain: bool) -> None:
    """A key has quotes if a parser could read another type than a string."""
    line = kyaml.encode({key: 1}).splitlines()[2]
    assert line.startswith('  "') is not plain
    assert yaml_.decode(kyaml.encode({key: 1}).encode()) == {key: 1}


def test_objects_are_printed_as_kyaml(ctl: Ctl) -> None:
    """``-o kyaml`` prints what ``-o yaml`` has."""
    ctl("create", "cm", "a", "--from-literal=x=1")
    out = ctl("get", "cm", "a", "-o", "kyaml").out
    assert '  data: {\n    x: "1",\n  },\n' in out
    assert yaml_.decode(out.encode()) == yaml_.decode(ctl("get", "cm", "a", "-o", "yaml").out.encode())
