"""Coverage of tolerations by others, and lists of them without redundant ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchd.server.admission.plugins.tolerations import covers_all, merge
from tests.kinds.test_body_bounds import lines


def toleration(text: str) -> dict[str, Any]:
    """``key=value:effect/seconds``; ``key`` or ``*`` alone is the operator Exists."""
    head, _, seconds = text.partition("/")
    head, _, effect = head.partition(":")
    key, equals, value = head.partition("=")
    obj: dict[str, Any] = {"key": key, "value": value} if equals else {"operator": "Exists"}
    if not equals and key != "*":
        obj["key"] = key
    if effect:
        obj["effect"] = effect
    return {**obj, "tolerationSeconds": int(seconds)} if seconds else obj


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        ("a", "a", True),
        ("a", "a=x", True),
        ("a", "a:NoSchedule", True),
        ("a:NoSchedule", "a", False),
        ("a:NoSchedule", "a:NoExecute", False),
        ("a:NoSchedule", "a=x:NoSchedule", True),
        ("a", "b", False),
        ("*", "b=x:NoExecute", True),
        ("*:NoExecute", "b=x:NoSchedule", False),
        ("=x", "b=x", False),
        ("a=x", "a=x:NoExecute", True),
        ("a=x", "a=y", False),
        ("a=x", "a", False),
        ("a=", "a", False),
        ("a:NoExecute/60", "a:NoExecute/60", True),
        ("a:NoExecute/60", "a=x:NoExecute/60", True),
        ("a:NoExecute/60", "a:NoExecute/59", True),
        ("a:NoExecute/60", "a:NoExecute/61", False),
        ("a:NoExecute/60", "a:NoExecute", False),
        ("a:NoExecute", "a:NoExecute/60", True),
        ("a/60", "a:NoExecute/90", True),
    ],
)
def test_a_toleration_covers_another(wide: str, narrow: str, expected: bool) -> None:
    """One of every key, value or effect covers the others; one for a limited time covers those for no longer."""
    assert covers_all([toleration(wide)], [toleration(narrow)]) is expected


def test_operator_of_a_covered_toleration() -> None:
    """The operator Equal is the default; a toleration of an unknown operator is covered by Exists and by itself
    alone."""
    wide, odd = {"key": "a", "value": "x"}, {"key": "a", "operator": "Gt", "value": "x"}
    assert covers_all([wide], [{**wide, "operator": "Equal"}, {**wide, "operator": ""}])
    assert not covers_all([wide], [odd]) and covers_all([odd], [odd]) and covers_all([toleration("a")], [odd])


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("a:NoSchedule", "a", "a"),
        ("a", "a:NoSchedule", "a"),
        ("a", "a", "a"),
        ("a=x", "a=y", "a=x a=y"),
        ("a:NoSchedule b", "a c", "b a c"),
        ("a=x b=y", "b c=z", "a=x b c=z"),
        ("a a=x b", "", "a b"),
        ("", "", ""),
    ],
)
def test_covered_tolerations_are_merged(first: str, second: str, expected: str) -> None:
    """A toleration that another one covers is removed, in either list; of equal ones the first is kept."""
    lists = ([toleration(each) for each in text.split()] for text in (first, second, expected))
    one, other, merged = lists
    assert merge(one, other) == merged


def test_every_toleration_has_to_be_covered() -> None:
    """Each one needs one that covers it; no list of allowed ones is no limit."""
    allowed = [toleration("a"), toleration("b=x")]
    assert covers_all(allowed, [toleration("b=x"), toleration("a=y")]) and covers_all(allowed, [])
    assert not covers_all(allowed, [toleration("a"), toleration("b=y")])
    assert covers_all([], [toleration("c")])


@pytest.mark.parametrize(
    "form",
    [
        lambda n: {"key": f"k{n}", "operator": "Exists"},
        lambda n: {"key": "k", "value": f"v{n}"},
        lambda n: {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": n},
        lambda n: {"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 10_000 - n},
    ],
)
def test_work_on_thousands_of_tolerations_is_linear(form: Callable[[int], dict[str, Any]]) -> None:
    """Tolerations are not compared with each other, whatever they have in common."""

    def work(count: int) -> int:
        many = [form(n) for n in range(count)]
        return lines(lambda: merge(many, [{"key": "k0"}])) + lines(lambda: covers_all(many, many))

    assert work(400) < 2.5 * work(200)


def test_the_longest_toleration_covers_the_others() -> None:
    """Of tolerations that differ in their seconds alone the longest stays, wherever it is."""
    every = [toleration(f"*:NoExecute/{seconds}") for seconds in (3, 9, 1, 9, 5)]
    assert merge(every, ()) == [every[1]]
    assert merge(every, [toleration("*:NoExecute")]) == [toleration("*:NoExecute")]
