"""JSONPath expressions of printer columns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from orchd.kinds.jsonpath import MAX_VISITED, JsonPathError, Visits, compile_path

OBJECT: Any = {
    "a": {"b": 1, "x.y/z": "dotted", "c": [{"n": "p", "v": 1}, {"n": "q", "v": 2}, {"n": "r", "v": 3.5}]},
    "l": ["s", "t", "u", "v"],
    "deep": {"n": "inner", "more": {"n": "innermost"}},
    "null": None,
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".a.b", [1]),
        ("{.a.b}", [1]),
        ("$.a.b", [1]),
        (".a['b']", [1]),
        ('.a["b"]', [1]),
        ("['a']['b']", [1]),
        (".a['b','x.y/z']", [1, "dotted"]),
        (r".a.x\.y/z", ["dotted"]),
        (".a.missing", []),
        (".l.b", []),
        (".null", [None]),
        (".null.b", []),
        (".l[*]", ["s", "t", "u", "v"]),
        (".l[0]", ["s"]),
        (".l[-1]", ["v"]),
        (".l[9]", []),
        (".l[0,2]", ["s", "u"]),
        (".l[1:3]", ["t", "u"]),
        (".l[:2]", ["s", "t"]),
        (".l[-2:]", ["u", "v"]),
        (".l[::2]", ["s", "u"]),
        (".a.c[*].n", ["p", "q", "r"]),
        (".a.c[?(@.n=='q')].v", [2]),
        ('.a.c[?(@.n=="q")].v', [2]),
        (".a.c[?(@.v>1)].n", ["q", "r"]),
        (".a.c[?(@.v<=2)].n", ["p", "q"]),
        (".a.c[?(@.v!=2)].n", ["p", "r"]),
        (".a.c[?(@.n>1)].n", []),
        (".a.c[?(@.v)].n", ["p", "q", "r"]),
        (".a.c[?(@.none)].n", []),
        (".deep..n", ["inner", "innermost"]),
        ("..more.n", ["innermost"]),
        (".deep.*", [{"n": "innermost"}, "inner"]),
        (".", [OBJECT]),
    ],
)
def test_path_results(path: str, found: list[Any]) -> None:
    """A path finds all matching values in order; no match is not an error."""
    compiled = compile_path(path)
    assert compiled.find(OBJECT) == found
    assert [*compiled.first(OBJECT)] == found[:1]


@pytest.mark.parametrize("path", ["a", ".a[", ".a[x]", ".a['b]", ".l[::0]", ".a.c[?(@.n==q)]", ".a b", "." + "."])
def test_invalid_paths_are_refused(path: str) -> None:
    """An invalid path is rejected."""
    with pytest.raises(JsonPathError):
        compile_path(path)


@given(
    st.text(max_size=20), st.recursive(st.integers() | st.text(), lambda s: st.lists(s) | st.dictionaries(st.text(), s))
)
def test_any_text_is_a_path_or_an_error(path: str, value: Any) -> None:
    """Any text parses to a path or raises its own error, and no value makes a path fail."""
    try:
        compiled = compile_path("." + path)
    except JsonPathError:
        return
    assert isinstance(compiled.find(value), list)


@given(st.text(min_size=1), st.integers())
@example(key="',", value=0)
@example(key="\\',\\\\", value=0)
def test_any_key_can_be_quoted(key: str, value: int) -> None:
    """A quoted name may contain any characters."""
    quoted = key.replace("\\", "\\\\").replace("'", "\\'")
    assert compile_path(f"['{quoted}']").find({key: value}) == [value]


def _nested(depth: int) -> Any:
    value: Any = {"z": 1}
    for _ in range(depth):
        value = {"a": value, "b": [value]}
    return value


@pytest.mark.parametrize(
    "path",
    [
        "..a..a..z",
        "..b..a..b..z",
        ".a..z",
        "..*..z",
        "..[?(@.z)]",
        "..a[?(@..z)]..a",
        "..['a','b']..z",
        "..a[0]..b",
        "..q..a",
    ],
)
def test_the_first_value_is_the_first_of_all(path: str) -> None:
    """Looking at each value once finds the same first value as looking at it whenever it is found."""
    compiled = compile_path(path)
    for depth in range(5):
        assert [*compiled.first(_nested(depth))] == compiled.find(_nested(depth))[:1]


@pytest.mark.parametrize("steps", [1, 2, 3, 10])
def test_repeated_descent_is_linear(steps: int) -> None:
    """The first value of a path with several descents costs a few visits per value and step."""
    value: Any = {}
    for _ in range(300):
        value = {"a": value}
    visits = Visits()
    assert compile_path("..a" * steps + "..z").first(value, visits) == ()
    assert visits.left is not None and MAX_VISITED - visits.left < 3000 * (steps + 1)


def test_visits_end_a_search() -> None:
    """Nested filters cost a power of the depth; the budget ends them without a value."""
    value: Any = {}
    for _ in range(200):
        value = {"a": value}
    visits = Visits()
    assert compile_path("..[?(@..[?(@..[?(@..z)])])]").first(value, visits) == ()
    assert visits.left is not None and -300 < visits.left < 0
