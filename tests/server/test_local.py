"""The in-process client of the pipeline."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from orchd.client.interfaces import ResourceRef, WatchEvent
from orchd.errors import ApiError
from orchd.server import local
from orchd.server.local import LocalClient
from orchd.server.pipeline.representation import Presenter
from orchd.server.registry.registry import Registry
from orchd.testing.doubles.server import run, user
from orchd.txkit.coroutines import start
from orchd.txkit.turns import shared_budget

CONFIGS = ResourceRef("", "v1", "configmaps")
EVENTS, CORE_EVENTS = ResourceRef("events.orch.io", "v1", "events"), ResourceRef("", "v1", "events")
_TOLD = {
    "eventTime": "2027-01-15T08:00:00.000000Z", "reportingController": "c", "reportingInstance": "i", "action": "A", "reason": "R",
}  # fmt: skip
DEPLOYMENTS = ResourceRef("apps", "v1", "deployments")
POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYED = {"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": POD}}


def test_every_method_acts_as_its_request(space: Any) -> None:
    """Create, get, list, update, patch and delete have the results of their requests over HTTP."""
    client, ns = space.server.client("me"), space.name
    config = run(client.create(CONFIGS, ns, {"metadata": {"name": "a"}, "data": {"w": "0"}}))
    assert run(client.get(CONFIGS, ns, "a")) == config
    assert [o["metadata"]["name"] for o in run(client.list(CONFIGS, ns))["items"]] == ["a"]
    updated = run(client.update(CONFIGS, ns, "a", {**config, "data": {"x": "1"}}))
    assert updated["metadata"]["managedFields"][0]["manager"] == "test"
    patched = run(client.patch(CONFIGS, ns, "a", {"data": {"y": "2"}}, content_type="application/merge-patch+json"))
    assert patched["data"] == {"x": "1", "y": "2"}
    assert run(client.create(CONFIGS, ns, {"metadata": {"name": "b"}}, dry_run=True))["metadata"]["name"] == "b"
    assert run(client.delete(CONFIGS, ns, "a", options={"preconditions": {"uid": config["metadata"]["uid"]}}))
    run(client.create(CONFIGS, ns, {"metadata": {"name": "c", "labels": {"x": "y"}}}))
    assert run(client.delete_collection(CONFIGS, ns, label_selector="x=y"))["kind"] == "ConfigMapList"
    assert run(client.list(CONFIGS, ns))["items"] == []


def test_unused_responses_are_not_encoded(space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object of an Event is neither converted nor encoded for a caller that ignores it."""

    def convert(*arguments: object) -> None:
        raise AssertionError("an answer was made")

    client, ns = space.server.client("me"), space.name
    monkeypatch.setattr(Presenter, "in_version", convert)
    event = {
        "metadata": {"name": "e"},
        "regarding": {"namespace": ns, "kind": "Pod", "name": "p"},
        "type": "Normal",
        **_TOLD,
    }
    assert run(client.create(EVENTS, ns, event, need_response=False)) == {}
    change = {"note": "again"}
    assert (
        run(client.patch(EVENTS, ns, "e", change, content_type="application/merge-patch+json", need_response=False))
        == {}
    )
    assert run(client.get(CORE_EVENTS, ns, "e"))["message"] == "again"


def test_unused_responses_of_deletions_are_not_encoded(space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The object that a deletion marks is not encoded for a caller that ignores it."""

    def encode(*arguments: object) -> None:
        raise AssertionError("an answer was made")

    client, ns = space.server.client("me"), space.name
    monkeypatch.setattr(Registry, "deleted_entry", encode)
    run(client.create(CONFIGS, ns, {"metadata": {"name": "f", "finalizers": ["a.b/c"]}}))
    assert run(client.delete(CONFIGS, ns, "f", need_response=False)) == {}
    assert run(client.get(CONFIGS, ns, "f"))["metadata"]["deletionTimestamp"]


def test_refusals_are_api_errors(space: Any) -> None:
    """An error Status is raised as ApiError."""
    client = space.server.client("me")
    with pytest.raises(ApiError) as missing:
        run(client.get(CONFIGS, space.name, "a"))
    assert (missing.value.code, missing.value.reason, missing.value.details["name"]) == (404, "NotFound", "a")  # type: ignore[index]  # a Status with details
    with pytest.raises(ApiError) as unknown:
        run(client.list(ResourceRef("none", "v1", "none"), space.name))
    assert unknown.value.code == 404


def test_objects_are_passed_without_encoding(space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Objects of creates and updates are neither encoded nor modified."""

    async def read(self: local.ValueBody, limit: int) -> bytes:
        raise AssertionError("an object was encoded")

    client, ns = space.server.client("me"), space.name
    monkeypatch.setattr(local.ValueBody, "read", read)
    for ref, spec in ((CONFIGS, {}), (DEPLOYMENTS, DEPLOYED)):
        sent = {"metadata": {"name": "v", "labels": {"x": "y"}}, **spec}
        before = copy.deepcopy(sent)
        made = run(client.create(ref, ns, sent))
        again = {**made, "metadata": {**made["metadata"], "labels": {"x": "z"}}}
        given = copy.deepcopy(again)
        assert run(client.update(ref, ns, "v", again))["metadata"]["labels"] == {"x": "z"}
        assert (sent, again) == (before, given)


def test_local_requests_are_authorized(space: Any) -> None:
    """An in-process user without permissions is rejected, too."""
    client = space.server.client("nobody", "nobodies")
    with pytest.raises(ApiError) as refused:
        run(client.list(CONFIGS, space.name))
    assert refused.value.code == 403
    with pytest.raises(ApiError):
        run(client.watch(CONFIGS, space.name))


def test_large_objects_are_read_without_their_content(space: Any) -> None:
    """A client that wants metadata alone gets no more of a large object; errors are those of any get."""
    server = space.server
    made = space.make("configmaps", {"metadata": {"name": "a"}, "data": {"k": "v" * local.LARGE}})
    client = LocalClient(
        server.server.pipeline, user("me", "system:masters"), agent="t", clock=server.clock.seconds,
        turns=shared_budget(server.clock),
    )  # fmt: skip

    def read(name: str, *, metadata_only: bool) -> Any:
        reading = start(client.get(CONFIGS, space.name, name, metadata_only=metadata_only))
        reading.addErrback(lambda failure: failure.value)
        server.clock.pump([0.0] * 9)
        return reading.result

    assert read("a", metadata_only=False)["data"] == made["data"]
    reduced = {name: value for name, value in made["metadata"].items() if name != "managedFields"}
    assert read("a", metadata_only=True) == {"metadata": reduced}
    assert read("x" * local.LARGE, metadata_only=True).code == 404


class TestWatch:
    def test_events_are_buffered_until_next(self, space: Any) -> None:
        """Events are buffered until `next` is called, and `next` waits for events."""
        client = space.server.client("me")
        stream = run(client.watch(CONFIGS, space.name, label_selector="x"))
        waiting = start(stream.next())
        assert not waiting.called
        space.config("a", labels={"x": "1"})
        event = waiting.result
        assert isinstance(event, WatchEvent) and (event.type, event.object["metadata"]["name"]) == ("ADDED", "a")
        space("DELETE", "configmaps/a")
        assert run(stream.next()).type == "DELETED"
        stream.close()
        stream.close()
        assert run(stream.next()) is None

    def test_large_objects_are_reduced_to_metadata(self, space: Any) -> None:
        """A watch of metadata gets no data of objects of any size."""
        stream = run(space.server.client("me").watch(CONFIGS, space.name, metadata_only=True))
        space.config("a", labels={"x": "1"}, data={"k": "v"})
        large_map = {"metadata": {"name": "b", "labels": {"x": "2"}}, "data": {"k": "v" * local.LARGE}}
        space.make("configmaps", large_map)
        small, large = run(stream.next()).object, run(stream.next()).object
        assert "data" not in small and "data" not in large
        assert large["metadata"]["labels"] == {"x": "2"} and large["metadata"]["uid"]
        assert "managedFields" not in large["metadata"]
        stream.close()

    def test_close_ends_a_pending_next(self, space: Any) -> None:
        """Closing a watch ends a pending `next` with None, and removes the subscription."""
        client, watching = space.server.client("me"), space.server.server.api.watches
        before = len(watching.running)
        stream = run(client.watch(CONFIGS, space.name))
        waiting = start(stream.next())
        stream.close()
        assert waiting.result is None and len(watching.running) == before

    def test_error_event_is_raised_as_api_error(self, space: Any) -> None:
        """An ERROR event is raised as ApiError."""
        space.config("a")
        server = space.server.server
        server.registry.cache(server.catalog.resource("", "v1", "configmaps")).expire(space.server.clock.seconds() + 1)
        stream = run(space.server.client("me").watch(CONFIGS, space.name, resource_version="1"))
        with pytest.raises(ApiError) as old:
            run(stream.next())
        assert old.value.code == 410

    def test_slow_local_watch_ends_with_410(self, space: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A watcher beyond its bound gets the queued events, then 410."""
        monkeypatch.setattr(local, "_MOST_EVENTS", 3)
        stream = run(space.server.client("me").watch(CONFIGS, space.name))
        before = len(space.server.server.api.watches.running)
        for number in range(5):
            space.config(f"c{number}")
        assert len(space.server.server.api.watches.running) == before - 1
        seen = [run(stream.next()).object["metadata"]["name"] for _ in range(3)]
        assert seen == ["c0", "c1", "c2"]
        with pytest.raises(ApiError) as behind:
            run(stream.next())
        assert behind.value.code == 410

    def test_cancelled_next_loses_no_event(self, space: Any) -> None:
        """A cancelled `next` loses no event."""
        stream = run(space.server.client("me").watch(CONFIGS, space.name))
        waiting = start(stream.next())
        waiting.addErrback(lambda failure: None)
        waiting.cancel()
        space.config("a")
        assert run(stream.next()).object["metadata"]["name"] == "a"
        stream.close()
