"""sendInitialEvents: watches with or without the current objects, and the bookmark after them."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.dialect import ORCH, STOCK_INITIAL_EVENTS_END
from orchd.kinds.objects.list_options import ListOptions, option_rules
from orchd.kinds.release import NEWEST, SPECIFICATION
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start
from tests.server.pipeline.test_watches import Reader, Watch

STREAMED = "configmaps?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"
OWN = ORCH("{abbr}.io/initial-events-end")


def marked(event: Any) -> bool:
    """True for the bookmark after the initial state."""
    annotations = event["object"]["metadata"].get("annotations") or {}
    return event["type"] == "BOOKMARK" and annotations == {OWN: "true", STOCK_INITIAL_EVENTS_END: "true"}


def revision(space: Any) -> int:
    return int(space("GET", "configmaps").json["metadata"]["resourceVersion"])


def kinds(events: list[Any]) -> list[str]:
    return [event["type"] for event in events]


@pytest.mark.parametrize("version", ["", "&resourceVersion=", "&resourceVersion=0", "&resourceVersion=1"])
def test_initial_state_ends_with_a_bookmark(space: Any, version: str) -> None:
    """Every object is sent as ADDED, then a bookmark with the version of that state, then changes."""
    space.config("a")
    space.config("b")
    with Watch(space, f"{STREAMED}&allowWatchBookmarks=true{version}") as reader:
        events = reader.events()
        assert [event["object"]["metadata"].get("name") for event in events[:-1]][-2:] == ["a", "b"]
        assert set(kinds(events[:-1])) == {"ADDED"} and marked(events[-1])
        assert int(events[-1]["object"]["metadata"]["resourceVersion"]) == revision(space)
        assert events[-1]["object"]["kind"] == "ConfigMap"
        space.config("c")
        assert reader.seen() == ["ADDED c"]


def test_empty_state_ends_with_a_bookmark(space: Any) -> None:
    """An empty state is followed by its bookmark as well."""
    with Watch(space, f"{STREAMED}&allowWatchBookmarks=true&fieldSelector=metadata.name=none") as reader:
        assert [marked(event) for event in reader.events()] == [True]


def test_client_without_bookmarks_gets_none(space: Any) -> None:
    """A client that does not allow bookmarks gets none."""
    space.config("a")
    with Watch(space, STREAMED) as reader:
        assert "BOOKMARK" not in kinds(reader.events())


def test_ordinary_bookmarks_are_not_marked(space: Any) -> None:
    """Only the first bookmark is annotated."""
    with Watch(space, f"{STREAMED}&allowWatchBookmarks=true&timeoutSeconds=300") as reader:
        assert marked(reader.events()[-1])
        space.server.clock.advance(160)
        events = reader.events()
        assert set(kinds(events)) == {"BOOKMARK"} and not any(map(marked, events))
    with Watch(space, "configmaps?watch=1&allowWatchBookmarks=true") as reader:
        assert "BOOKMARK" not in kinds(reader.events())


def test_send_initial_events_false(space: Any) -> None:
    """With false the watch begins with changes from now on, or after a version."""
    space.config("a")
    at = revision(space)
    space.config("b")
    without = STREAMED.replace("true", "false")
    for version in ("", "&resourceVersion=0"):
        with Watch(space, without + version) as reader:
            assert reader.events() == []
            space.config("c" + str(len(version)))
            assert len(reader.seen()) == 1
    with Watch(space, f"{without}&resourceVersion={at}") as reader:
        assert reader.seen()[0] == "ADDED b"


def test_future_version_is_an_error_event(space: Any) -> None:
    """If the version is not reached in time, the stream has an error event."""
    space.config("a")
    path = f"/api/v1/namespaces/{space.name}/{STREAMED}&resourceVersion={revision(space) + 1000}"
    got: list[Any] = []
    start(space.server.request("GET", path)).addBoth(got.append)
    for _ in range(10):
        space.server.clock.advance(1)
    assert got and got[0].code == 200
    reader = Reader()
    got[0].response.stream.start(reader)
    (event,) = reader.events()
    assert event["type"] == "ERROR" and event["object"]["code"] == 504 and reader.ended == "finished"


@pytest.mark.parametrize(("query", "causes"), [
    ("watch=1&sendInitialEvents=true", [
        ("resourceVersionMatch", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")]),
    ("watch=1&sendInitialEvents=false", [
        ("resourceVersionMatch", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan")]),
    ("watch=1&sendInitialEvents=true&resourceVersionMatch=Exact", [
        ("resourceVersionMatch", "Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"),
        ("resourceVersionMatch", 'Unsupported value: "Exact": supported values: "NotOlderThan"')]),
    ("watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&continue=x", [
        ("resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden when continue is provided")]),
    ("sendInitialEvents=false&resourceVersionMatch=NotOlderThan", [
        ("resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided")]),
    ("watch=1&resourceVersionMatch=NotOlderThan&resourceVersion=1", [
        ("resourceVersionMatch", "Forbidden: resourceVersionMatch is forbidden for watch")]),
])  # fmt: skip
def test_conflicting_options_are_refused(space: Any, query: str, causes: list[tuple[str, str]]) -> None:
    """Conflicting options are rejected with the messages of later releases; without the parameter with those of release
    1.23."""
    response = space("GET", f"configmaps?{query}")
    assert response.code == 422
    assert [(cause["field"], cause["message"]) for cause in response.json["details"]["causes"]] == causes


def test_lists_of_the_specification_ignore_the_parameter(space: Any) -> None:
    """A list does not know sendInitialEvents in release 1.23; in 1.35 it refuses the parameter."""
    assert space("GET", "configmaps?sendInitialEvents=true").code == 200
    rules = option_rules(NEWEST)
    (cause,) = rules.causes(ListOptions(initial_events=True))
    assert cause.message == "Forbidden: sendInitialEvents is forbidden for list"


@pytest.mark.parametrize("form", ["PartialObjectMetadata", "Table"])
def test_initial_events_mark_in_other_representations(space: Any, form: str) -> None:
    """Partial metadata has the annotation, a table has no place for it."""
    space.config("a")
    accept = f"application/json;as={form};v=v1;g={ORCH.meta_group}"
    with Watch(space, f"{STREAMED}&allowWatchBookmarks=true", Accept=accept) as reader:
        events = reader.events()
        assert kinds(events)[-1] == "BOOKMARK" and marked(events[-1]) is (form == "PartialObjectMetadata")


def test_slow_client_gets_the_state_and_its_end(space: Any) -> None:
    """The state and its bookmark wait for a client that does not read."""
    for name in "abcdef":
        body = {"metadata": {"name": name}, "data": {"x": "x" * 100_000}}
        assert run(space.server.request("POST", f"/api/v1/namespaces/{space.name}/configmaps", body=body)).code == 201
    with Watch(space, f"{STREAMED}&allowWatchBookmarks=true", slow=True) as reader:
        assert "BOOKMARK" not in kinds(reader.events())
        for _ in range(10):
            reader.read()
        assert marked(reader.events()[-1])


@pytest.mark.parametrize(("version", "completed"), [("", True), ("0", True), ("7", False)])
def test_watches_of_later_releases_mark_their_initial_state(version: str, completed: bool) -> None:
    """A watch from the present state is one with initial events, so that the end of this state is marked."""
    options = ListOptions(watch=True, resource_version=version)
    made = option_rules(NEWEST).complete(options)
    assert (made.initial_events, made.match) == ((True, "NotOlderThan") if completed else (None, ""))
    assert option_rules(NEWEST, watch_list=False).complete(options) is options
    assert option_rules(SPECIFICATION).complete(options) is options
    sent = ListOptions(watch=True, initial_events=False)
    assert option_rules(NEWEST).complete(sent) is sent
