"""Which permissions cover others."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.errors import ApiError
from orchd.kinds.objects.rule_coverage import breakdown, compact, uncovered

Rule = dict[str, Any]


def rule(resources: str, verbs: str = "get", group: str = "", names: str = "") -> Rule:
    held: Rule = {
        "apiGroups": group.split(",") if group else [""],
        "resources": resources.split(),
        "verbs": verbs.split(),
    }
    return {**held, "resourceNames": names.split()} if names else held


def paths(listed: str, verbs: str = "get") -> Rule:
    return {"nonResourceURLs": listed.split(), "verbs": verbs.split()}


@pytest.mark.parametrize(
    "held, needed, covered",
    [
        (rule("pods"), rule("pods"), True),
        (rule("pods nodes", "get list"), rule("pods", "list"), True),
        (rule("pods", "get"), rule("pods", "list"), False),
        (rule("pods", "*"), rule("pods", "list"), True),
        (rule("pods"), rule("pods", "*"), False),
        (rule("pods"), rule("nodes"), False),
        (rule("*"), rule("nodes"), True),
        (rule("pods"), rule("pods/log"), False),
        (rule("pods/log"), rule("pods/log"), True),
        (rule("*/log"), rule("pods/log"), True),
        (rule("*/log"), rule("pods"), False),
        (rule("*/log"), rule("pods/status"), False),
        (rule("pods", group="apps"), rule("pods"), False),
        (rule("pods", group="*"), rule("pods", group="apps"), True),
        # A rule for some names does not cover one for all, but the other way round.
        (rule("pods", names="a b"), rule("pods", names="a"), True),
        (rule("pods", names="a"), rule("pods", names="b"), False),
        (rule("pods", names="a"), rule("pods"), False),
        (rule("pods"), rule("pods", names="a"), True),
        (paths("/a"), paths("/a"), True),
        (paths("/a"), paths("/b"), False),
        (paths("/a/*"), paths("/a/b"), True),
        (paths("/a/*"), paths("/b/a"), False),
        (paths("/a/"), paths("/a/b"), False),
        (paths("/a/*"), paths("/a/b", "post"), False),
        (rule("*"), paths("/a"), False),
        (paths("*"), rule("pods"), False),
    ],
)
def test_coverage(held: Rule, needed: Rule, covered: bool) -> None:
    assert uncovered([held], [needed]) == ([] if covered else [needed])


def test_parts_are_covered_each_by_one_rule() -> None:
    """Rules together cover a rule if each of its parts is covered by one of them."""
    needed = rule("pods nodes", "get list")
    assert uncovered([rule("pods", "get list"), rule("nodes", "get")], [needed]) == [rule("nodes", "list")]
    assert uncovered([], [paths("/a /b", "get")]) == [paths("/a"), paths("/b")]
    assert uncovered([needed], [dict(reversed(needed.items()))]) == []


def test_breakdown() -> None:
    """A part has one verb, group and resource and at most one name, or one verb and one path."""
    assert breakdown({**rule("pods", "get list", names="a b"), "nonResourceURLs": ["/a"]}) == [
        *(rule("pods", verb, names=name) for verb in ("get", "list") for name in ("a", "b")),
        paths("/a", "get"),
        paths("/a", "list"),
    ]


def test_too_many_parts() -> None:
    """Rules whose parts would take too long to compare are refused, unless they are held as they are."""
    many = rule(" ".join(f"r{i}" for i in range(3000)), " ".join(f"v{i}" for i in range(2000)))
    with pytest.raises(ApiError) as refused:
        uncovered([], [many])
    assert refused.value.code == 413
    assert uncovered([many], [many]) == []
    named = rule(" ".join(f"r{i}" for i in range(3000)), names=" ".join(f"n{i}" for i in range(2000)))
    with pytest.raises(ApiError):
        uncovered([], [named])
    with pytest.raises(ApiError):
        uncovered([], [paths(" ".join(f"/{i}" for i in range(3000)), " ".join(f"v{i}" for i in range(2000)))])


def test_compact() -> None:
    """Simple rules about the same resource become one; others stay as they are."""
    several = rule("pods nodes", "watch")
    rules = [
        rule("pods", "get list"),
        rule("pods", "get", names="a"),
        several,
        rule("pods", "list watch"),
        rule("pods", "list", names="a"),
        rule("pods", "get", group="apps"),
        rule("pods", "watch", names="a b"),
        paths("/a"),
    ]
    assert compact(rules) == [
        rule("pods", "get list watch"),
        rule("pods", "get list", names="a"),
        several,
        rule("pods", "get", group="apps"),
        rule("pods", "watch", names="a b"),
        paths("/a"),
    ]
    assert rules[0] == rule("pods", "get list")
