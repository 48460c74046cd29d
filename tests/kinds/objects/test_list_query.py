"""Parameters of lists and watches: which exclude each other, and which objects a query selects."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from orchd.dialect import KUBERNETES
from orchd.errors import ApiError
from orchd.kinds.catalog import Resource, builtin_catalog
from orchd.kinds.objects.list_options import ListOptions, option_rules, parse_unsigned, parse_version
from orchd.kinds.objects.list_query import EVERYTHING, ListQuery, selection
from orchd.kinds.release import NEWEST, SPECIFICATION

CATALOG = builtin_catalog(KUBERNETES)
EARLY, LATER = option_rules(SPECIFICATION), option_rules(NEWEST)
EXACT, OLDER = {"match": "Exact"}, {"match": "NotOlderThan"}
WATCH: dict[str, Any] = {"watch": True}
INITIAL: dict[str, Any] = {"watch": True, "initial_events": True}

FOR_WATCH = "forbidden for watch"
NO_VERSION = "forbidden unless resourceVersion is provided"
CONTINUED = "forbidden when continue is provided"
UNSUPPORTED = "Unsupported value"
REQUIRES = "requires setting resourceVersionMatch to NotOlderThan"
UNLESS = "forbidden for watch unless sendInitialEvents"


def resource(plural: str) -> Resource:
    known = CATALOG.resource("", "v1", plural)
    assert known is not None
    return known


@pytest.mark.parametrize(
    "rules, options, expected",
    [
        (EARLY, {}, []),
        (EARLY, {**EXACT, "resource_version": "5"}, []),
        (EARLY, {**OLDER, "resource_version": "0"}, []),
        (EARLY, EXACT, [NO_VERSION]),
        (EARLY, {**EXACT, "resource_version": "0"}, ['"exact" is forbidden']),
        (EARLY, {**OLDER, "resource_version": "5", "continue_": "x"}, [CONTINUED]),
        (EARLY, {"match": "x", "resource_version": "5"}, [UNSUPPORTED]),
        (EARLY, {**WATCH, **OLDER, "resource_version": "5"}, [FOR_WATCH]),
        (EARLY, {**WATCH, "match": "x", "continue_": "x"}, [FOR_WATCH, NO_VERSION, CONTINUED, UNSUPPORTED]),
        # A server of that release honors the parameter of later clients.
        (EARLY, {**INITIAL, **OLDER}, []),
        (EARLY, INITIAL, [REQUIRES]),
        (EARLY, {"initial_events": True}, []),
        (LATER, {}, []),
        (LATER, WATCH, []),
        (LATER, EXACT, [NO_VERSION]),
        (LATER, {"initial_events": False}, ["sendInitialEvents is forbidden for list"]),
        (LATER, {"initial_events": True, **EXACT}, [NO_VERSION, "sendInitialEvents is forbidden for list"]),
        (LATER, {**INITIAL, **OLDER}, []),
        (LATER, INITIAL, [REQUIRES]),
        (LATER, {**INITIAL, **EXACT}, [REQUIRES, UNSUPPORTED]),
        (LATER, {**INITIAL, **OLDER, "continue_": "x"}, [CONTINUED]),
        (LATER, {**INITIAL, "continue_": "x"}, [REQUIRES]),
        (LATER, {**WATCH, **OLDER}, [UNLESS]),
        (LATER, {**WATCH, **EXACT}, [UNLESS, UNSUPPORTED]),
        (LATER, {**WATCH, **OLDER, "continue_": "x"}, [UNLESS, CONTINUED]),
    ],
)
def test_options_that_exclude_each_other(rules: Any, options: dict[str, Any], expected: list[str]) -> None:
    pods = resource("pods")
    if not expected:
        ListQuery.of(KUBERNETES, pods, "", ListOptions(**options), rules=rules)
        return
    with pytest.raises(ApiError) as refused:
        ListQuery.of(KUBERNETES, pods, "", ListOptions(**options), rules=rules)
    assert refused.value.code == 422
    messages = [cause["message"] for cause in (refused.value.details or {})["causes"]]
    assert len(messages) == len(expected)
    assert all(words in message for words, message in zip(expected, messages, strict=True)), messages


@pytest.mark.parametrize("bad", [{"label_selector": "a in"}, {"field_selector": "x"}])
def test_malformed_selectors_come_first(bad: dict[str, str]) -> None:
    for options in (bad, {**bad, **WATCH, **EXACT}):
        with pytest.raises(ApiError) as refused:
            ListQuery.of(KUBERNETES, resource("pods"), "", ListOptions(**options), rules=EARLY)
        assert refused.value.code == 400


@pytest.mark.parametrize(
    "options, completed",
    [
        (WATCH, True),
        ({**WATCH, "resource_version": "0"}, True),
        ({**WATCH, "resource_version": "5"}, False),
        ({**WATCH, "initial_events": False}, False),
        ({**WATCH, **OLDER}, False),
        ({}, False),
    ],
)
def test_watches_from_the_present_state(options: dict[str, Any], completed: bool) -> None:
    """Later releases mark the end of the present state in watches that begin with it."""
    sent = ListOptions(**options)
    assert EARLY.complete(sent) == option_rules(NEWEST, watch_list=False).complete(sent) == sent
    result = LATER.complete(sent)
    assert (result.initial_events, result.match) == (
        (True, "NotOlderThan") if completed else (sent.initial_events, sent.match)
    )


@pytest.mark.parametrize("text, value", [("", 0), ("0", 0), ("7", 7), ("0" * 30 + "7", 7), (str(2**64 - 1), 2**64 - 1)])
def test_versions(text: str, value: int) -> None:
    assert parse_version(text) == value


@pytest.mark.parametrize(
    "text, why",
    [
        ("-1", "invalid syntax"),
        ("x", "invalid syntax"),
        ("\u0661", "invalid syntax"),
        (str(2**64), "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
)
def test_malformed_versions(text: str, why: str) -> None:
    with pytest.raises(ApiError) as refused:
        parse_version(text)
    assert refused.value.code == 500
    assert refused.value.message == (
        f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": {why}'
    )


def test_bounds_of_numbers() -> None:
    assert parse_unsigned("9", limit=10) == 9
    with pytest.raises(ApiError):
        parse_unsigned("10", limit=10)


@dataclass
class Entry:
    labels: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=dict)


NAMED = Entry({"a": "1", "b": "2"}, {"metadata.name": "x", "spec.nodeName": "n"})


@pytest.mark.parametrize(
    "labels, fields, accepted, rest",
    [
        ("", "", True, False),
        ("a=1", "", True, False),
        ("a=2", "", False, False),
        ("a=1,b=2", "", True, False),
        ("a=1,b=3", "", False, False),
        ("a!=1", "", False, True),
        ("a=1,c", "", False, True),
        ("a=1,!c", "", True, True),
        ("a in (1,2)", "", True, True),
        ("a in (2,3)", "", False, True),
        ("", "metadata.name=x", True, False),
        ("", "metadata.name=y", False, False),
        ("", "metadata.name!=x", False, True),
        ("", "metadata.name=x,spec.nodeName!=n", False, True),
        ("", "metadata.name=x,spec.nodeName!=m", True, True),
        ("a=1", "metadata.name=y", False, False),
        ("a!=2", "metadata.name!=x", False, True),
        ("a!=1", "metadata.name!=y", False, True),
    ],
)
def test_selection(labels: str, fields: str, accepted: bool, rest: bool) -> None:
    """Exact requirements are apart from the rest, for which there is a predicate."""
    chosen = selection(resource("pods"), labels, fields, SPECIFICATION)
    assert chosen.accepts(NAMED) is accepted
    assert (chosen.match is not None) is rest
    assert chosen.everything is (not labels and not fields)
    assert chosen.texts == (labels, fields)


def test_choices() -> None:
    """The values of a label of which an object has one, for an index; any value for a label that must be there."""
    chosen = selection(resource("pods"), "a in (1,2),b", "", SPECIFICATION)
    assert chosen.choices == {"a": {"1", "2"}, "b": set()}
    assert selection(resource("pods"), "", "", SPECIFICATION) is EVERYTHING


@pytest.mark.parametrize(
    "plural, namespace, fields, name, prefix, path",
    [
        ("pods", "", "", "", "", ""),
        ("pods", "a", "", "", "a/", ""),
        ("pods", "a", "metadata.name=x", "", "a/", "a/x"),
        ("pods", "", "metadata.name=x", "", "", ""),
        ("pods", "a", "metadata.name!=x", "", "a/", ""),
        ("pods", "a", "", "x", "a/", "a/x"),
        ("pods", "a", "metadata.name=x", "x", "a/", "a/x"),
        ("nodes", "", "", "", "", ""),
        ("nodes", "", "metadata.name=x", "", "", "x"),
        ("namespaces", "a", "", "a", "", "a"),
    ],
)
def test_keys(plural: str, namespace: str, fields: str, name: str, prefix: str, path: str) -> None:
    """The keys of one namespace, or of the only object that can match."""
    options = ListOptions(field_selector=fields)
    query = ListQuery.of(KUBERNETES, resource(plural), namespace, options, rules=EARLY, name=name)
    assert (query.prefix, query.path, query.scope) == (prefix, path, path or prefix)
    assert query.selection.everything is (not fields and not name)


def test_another_name() -> None:
    options = ListOptions(field_selector="metadata.name=y")
    with pytest.raises(ApiError, match="doesn't match requested name") as refused:
        ListQuery.of(KUBERNETES, resource("pods"), "a", options, rules=EARLY, name="x")
    assert refused.value.code == 400


def test_whole_lists() -> None:
    query = ListQuery.of(KUBERNETES, resource("pods"), "", ListOptions(limit=5, continue_="x"), rules=EARLY)
    assert query.unpaged().options == ListOptions()
