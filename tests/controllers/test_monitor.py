"""The watch of one resource without a store: what is reported, and what follows a failure."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.client.interfaces import ResourceRef, WatchEvent
from orchd.controllers.monitor import Monitor
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start

PODS = ResourceRef("", "v1", "pods")


def pod(uid: str, version: str = "1") -> dict[str, Any]:
    return {"metadata": {"uid": uid, "resourceVersion": version}}


class Stream:
    """A watch that a test feeds; None is its end."""

    def __init__(self) -> None:
        self._waiting: Deferred[Any] | None = None
        self.closed = False

    async def next(self) -> Any:
        self._waiting = Deferred(self._forget)
        return await self._waiting

    def _forget(self, _: Deferred[Any]) -> None:
        self._waiting = None

    def send(self, kind: str, obj: Any) -> None:
        self._fire(WatchEvent(kind, obj))

    def _fire(self, event: Any) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting.callback(event)

    def end(self) -> None:
        self._fire(None)

    def close(self) -> None:
        self.closed = True
        self._fire(None)


class Bench:
    """A monitor of a server with `pages`; requests fail with the errors that are left in `errors`."""

    def __init__(self, *pages: list[Any], errors: Any = (), reported: Any = ()) -> None:
        self.clock = Clock()
        self.pages = pages
        self.errors = list(errors)
        self.requests: list[str] = []
        self.streams: list[Stream] = []
        self.news: list[str] = []
        client: Any = self
        self.monitor = Monitor(
            client,
            PODS,
            self.clock,
            Random(1),
            seen=lambda ref, obj: self.news.append(f"+{obj['metadata']['uid']}"),
            gone=lambda ref, uid: self.news.append(f"-{uid}"),
            node_uids=lambda ref: set(reported),
        )
        self.running = start(self.monitor.run())

    def _fail(self) -> None:
        if self.errors:
            error = self.errors.pop(0)
            if error is not None:
                raise error

    async def list(self, ref: ResourceRef, namespace: str, *, limit: int, continue_: str, metadata_only: bool) -> Any:
        assert (ref, namespace, limit, metadata_only) == (PODS, "", 500, True)
        self.requests.append(f"list {continue_}".strip())
        self._fail()
        at = int(continue_ or 0)
        more = {"continue": str(at + 1)} if at + 1 < len(self.pages) else {}
        return {"metadata": {"resourceVersion": f"{at + 5}", **more}, "items": self.pages[at]}

    async def watch(self, ref: ResourceRef, *, resource_version: str, metadata_only: bool) -> Any:
        assert (ref, metadata_only) == (PODS, True)
        self.requests.append(f"watch {resource_version}")
        self._fail()
        self.streams.append(Stream())
        return self.streams[-1]


def test_pages_and_events_are_reported() -> None:
    """Every object of the list, then what the watch shows; objects that the list lacks are gone. The next watch begins
    where the last event was."""
    bench = Bench([pod("a")], [pod("b")], reported=("b", "x"))
    assert bench.monitor.synced and bench.requests == ["list", "list 1", "watch 6"]
    assert bench.news == ["+a", "+b", "-x"]
    bench.news.clear()
    for kind, version in (("MODIFIED", "7"), ("DELETED", "8"), ("BOOKMARK", "9")):
        bench.streams[0].send(kind, pod("a", version))
    assert bench.news == ["+a", "-a"]
    bench.streams[0].end()
    assert bench.streams[0].closed and bench.requests[-1] == "watch 9" and bench.monitor.failed == 0
    bench.monitor.close()


@pytest.mark.parametrize(
    ("error", "failed"),
    [(ApiError(410, "Expired", ""), 0), (ApiError(404, "NotFound", ""), 0), (ApiError(500, "", ""), 1)],
)
def test_failures_lead_to_another_list(error: ApiError, failed: int) -> None:
    """After a pause; expired versions and resources that are gone do not count as failures."""
    bench = Bench([], errors=[None, error])
    assert bench.requests == ["list", "watch 5"]
    bench.clock.advance(0.09)
    assert len(bench.requests) == 2
    bench.clock.advance(0.22)
    assert bench.requests == ["list", "watch 5", "list", "watch 5"] and bench.monitor.failed == failed
    bench.monitor.close()


def test_pauses_double_up_to_half_a_minute() -> None:
    """Each is a random part of one half to one and a half; a list that succeeds begins anew."""
    bench = Bench([], errors=[ApiError(500, "", "")] * 12)
    pauses = []
    while len(bench.requests) < 12:
        (call,) = bench.clock.getDelayedCalls()
        pauses.append(call.getTime() - bench.clock.seconds())
        bench.clock.advance(pauses[-1])
    longest = [min(0.2 * 2**number, 30.0) for number in range(11)]
    assert all(0.5 * most <= pause < 1.5 * most for pause, most in zip(pauses, longest, strict=True))
    assert len({round(pause / most, 6) for pause, most in zip(pauses, longest, strict=True)}) > 5
    bench.errors[:] = [None, ApiError(500, "", "")]
    bench.clock.advance(45)
    (call,) = bench.clock.getDelayedCalls()
    assert call.getTime() - bench.clock.seconds() < 0.3
    bench.monitor.close()


def test_closing_ends_the_watch_and_the_waits() -> None:
    bench = Bench([], errors=[ApiError(500, "", "")])
    waiting = start(bench.monitor.wait_synced())
    assert not waiting.called
    bench.clock.advance(1)
    assert waiting.called
    run(bench.monitor.wait_synced())
    bench.monitor.close()
    assert bench.streams[0].closed and bench.running.called and not bench.clock.getDelayedCalls()
    unsynced = Bench([], errors=[ApiError(500, "", "")])
    waiting = start(unsynced.monitor.wait_synced())
    unsynced.monitor.close()
    assert waiting.called
    run(unsynced.monitor.wait_synced())
    unsynced.clock.advance(1)
    assert unsynced.running.called and unsynced.requests == ["list"]


def test_cancelling_ends_the_monitor() -> None:
    """A bug elsewhere does not: it counts as a failure."""
    bench = Bench([], errors=[RuntimeError("bug")])
    assert bench.monitor.failed == 1
    bench.clock.advance(1)
    assert bench.streams
    bench.running.addErrback(lambda failure: None)
    bench.running.cancel()
    assert bench.running.called and not bench.clock.getDelayedCalls()
