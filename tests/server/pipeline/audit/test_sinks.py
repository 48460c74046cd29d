"""Audit sinks: blocking and batching, their limits, log files and webhooks."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from orchd.dialect import ORCH
from orchd.server.pipeline.audit.logfile import LogFile, Rotation, legacy_line
from orchd.server.pipeline.audit.sinks import Batches, Batching, Direct, Truncation, truncating
from orchd.server.pipeline.audit.webhook_backend import AgainError, Remote
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start

Event = Mapping[str, Any]


def event(number: int, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Event", "apiVersion": "audit.orch.io/v1", "auditID": f"id-{number}", "stage": "ResponseComplete",
        "verb": "get", "requestURI": "/version", "requestReceivedTimestamp": "2001-09-09T01:46:40.000000Z", **more,
    }  # fmt: skip


class Target:
    """A target that accepts batches when the test lets it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.batches: list[list[str]] = []
        self.error = error
        self.gate: Deferred[None] | None = None
        self.ended = 0

    async def send(self, events: Sequence[Event]) -> None:
        if self.gate is not None:
            await self.gate
        if self.error is not None:
            raise self.error
        self.batches.append([each["auditID"] for each in events])

    async def end(self) -> None:
        self.ended += 1


def batching(target: Target, clock: Clock, **chosen: Any) -> Batching:
    batches = {"buffer": 4, "most": 2, "wait": 30.0, "rate": 0.0, "burst": 0, **chosen}
    return Batching("log", target.send, target.end, Batches(**batches), clock)


class TestDirect:
    def test_blocking_sink_waits_for_the_write(self) -> None:
        """The call returns when the event is written."""
        target = Target()
        target.gate = Deferred()
        out: list[bool] = []
        start(Direct("log", target.send, target.end, strict=False).take(event(1))).addCallback(out.append)
        assert not out
        target.gate.callback(None)
        assert out == [True] and target.batches == [["id-1"]]

    def test_failed_write_does_not_fail_the_request(self) -> None:
        """A failure is logged and not raised; the stop reaches the target."""
        target = Target(OSError("disk full"))
        sink = Direct("log", target.send, target.end, strict=True)
        assert run(sink.take(event(1))) is False and sink.strict and sink.lost == 1
        run(sink.stop())
        assert target.ended == 1


class TestBatching:
    def test_full_batch_is_sent_at_once(self) -> None:
        """A batch is sent when it has the maximum size."""
        target, clock = Target(), Clock()
        sink = batching(target, clock)
        for number in range(3):
            assert run(sink.take(event(number)))
        assert target.batches == [["id-0", "id-1"]]
        clock.advance(30)
        assert target.batches == [["id-0", "id-1"], ["id-2"]]

    def test_full_buffer_drops_events(self) -> None:
        """The buffer is bounded while the target is slow."""
        target, clock = Target(), Clock()
        target.gate = Deferred()
        sink = batching(target, clock)
        taken = [run(sink.take(event(number))) for number in range(8)]
        assert taken == [True] * 6 + [False] * 2 and sink.lost == 2
        target.gate.callback(None)
        assert [each for batch in target.batches for each in batch] == [f"id-{n}" for n in range(6)]

    def test_batches_are_throttled(self) -> None:
        """A burst is sent at once, then a number of batches per second."""
        target, clock = Target(), Clock()
        sink = batching(target, clock, most=1, buffer=10, rate=2.0, burst=2)
        for number in range(5):
            run(sink.take(event(number)))
        assert len(target.batches) == 2
        for expected in (3, 4, 5):
            clock.advance(0.5)
            assert len(target.batches) == expected

    def test_failed_batch_does_not_stop_the_sink(self) -> None:
        """Later batches are sent."""
        target, clock = Target(OSError("away")), Clock()
        sink = batching(target, clock, most=1)
        run(sink.take(event(1)))
        target.error = None
        run(sink.take(event(2)))
        assert target.batches == [["id-2"]] and sink.lost == 1

    def test_stop_flushes_pending_events(self) -> None:
        """After the stop no events are accepted, and the stop reaches the target."""
        target, clock = Target(), Clock()
        sink = batching(target, clock, rate=0.001, burst=1)
        run(sink.take(event(1)))
        run(sink.stop())
        assert target.batches == [["id-1"]] and target.ended == 1
        assert not run(sink.take(event(2))) and not clock.getDelayedCalls()

    def test_stop_waits_a_limited_time(self) -> None:
        """A target that does not respond delays a stop for a limited time."""
        target, clock = Target(), Clock()
        target.gate = Deferred()
        sink = batching(target, clock, most=1)
        for number in range(3):
            run(sink.take(event(number)))
        out: list[Any] = []
        start(sink.stop()).addBoth(out.append)
        clock.advance(9)
        assert not out
        clock.advance(2)
        assert out == [None] and target.ended == 1
        # One batch was being sent, two were waiting.
        assert sink.lost == 3


class TestTruncation:
    LIMITS = Truncation(event=300, batch=700)

    def sent(self, *events: Event) -> list[list[Event]]:
        out: list[list[Event]] = []

        async def send(batch: Sequence[Event]) -> None:
            out.append(list(batch))

        async def sending() -> None:
            await truncating(send, self.LIMITS, "audit.orch.io/truncated")(events)

        run(sending())
        return out

    def test_large_event_loses_its_objects(self) -> None:
        """An event that is too large loses its objects and is marked; one that fits is unchanged."""
        small, large = (
            event(1, requestObject={"a": 1}),
            event(2, responseObject={"a": "x" * 300}, annotations={"b": "c"}),
        )
        ((first, second),) = self.sent(small, large)
        assert first == small
        assert second["annotations"] == {"b": "c", "audit.orch.io/truncated": "true"} and "responseObject" not in second

    def test_event_too_large_without_objects_is_dropped(self) -> None:
        """The rest of the batch is sent."""
        ((only,),) = self.sent(event(1, userAgent="x" * 400), event(2))
        assert only["auditID"] == "id-2"

    def test_batches_are_divided_by_size(self) -> None:
        """Batches have a maximum of bytes, and keep the order."""
        batches = self.sent(*(event(n, annotations={"a": "x" * 60}) for n in range(5)))
        assert [len(batch) for batch in batches] == [2, 2, 1]


def log_file(
    path: Path, *, legacy: bool = False, wall: Callable[[], float] = lambda: 1_000_000_000.5, **chosen: Any
) -> LogFile:
    async def aside(function: Callable[[], None]) -> None:
        function()

    rotation = Rotation(**{"megabytes": 0, "backups": 0, "days": 0, "compress": False, **chosen})
    return LogFile(str(path), rotation, legacy=legacy, wall=wall, in_thread=aside)


def ids(path: Path) -> list[str]:
    return [json.loads(line)["auditID"].removeprefix("id-") for line in path.read_bytes().splitlines()]


class TestLogFile:
    def test_log_file_has_a_json_line_per_event(self, tmp_path: Path) -> None:
        """A line of JSON per event is appended to the file, which only the owner can read."""
        path = tmp_path / "made" / "audit.log"
        for number in (1, 2):
            file = log_file(path)
            run(file.send([event(number)]))
            run(file.close())
        assert [json.loads(line)["auditID"] for line in path.read_text().splitlines()] == ["id-1", "id-2"]
        assert path.stat().st_mode & 0o777 == 0o600

    def test_log_to_standard_output(self, capfd: pytest.CaptureFixture[str]) -> None:
        """Events go to the file descriptor, even if the stream was replaced; it stays open for others."""
        file = log_file(Path("-"))
        run(file.send([event(1)]))
        run(file.close())
        os.write(1, b"still open")
        out = capfd.readouterr().out
        assert '"auditID":"id-1"' in out and "still open" in out

    def test_legacy_format(self) -> None:
        """The legacy format has placeholders for missing values."""
        known = event(
            1, user={"username": "alice", "groups": ["a", "b"]}, impersonatedUser={"username": "bob"},
            sourceIPs=["10.0.0.1"], objectRef={"namespace": "n"}, responseStatus={"code": 200}, userAgent="k/1",
        )  # fmt: skip
        assert legacy_line(known) == (
            b'2001-09-09T01:46:40.000000Z AUDIT: id="id-1" stage="ResponseComplete" ip="10.0.0.1" method="get" '
            b'user="alice" groups="\\"a\\",\\"b\\"" as="bob" asgroups="<lookup>" user-agent="k/1" namespace="n" '
            b'uri="/version" response="200"\n'
        )
        assert b'user="<none>" groups="<none>" as="<self>"' in legacy_line(event(1))
        assert b'ip="<unknown>"' in legacy_line(event(1)) and b'response="<deferred>"' in legacy_line(event(1))

    def test_full_log_files_are_rotated(self, tmp_path: Path) -> None:
        """A full file is renamed with its time; a limited number is kept, the newest, compressed if configured."""
        moments = iter(range(1_000_000_000, 1_000_000_100))
        now = [0.0]

        def wall() -> float:
            now[0] = float(next(moments))
            return now[0]

        path = tmp_path / "audit.log"
        file = log_file(path, wall=wall, megabytes=1, backups=2, compress=True)
        big = event(1, responseObject={"a": "x" * 700_000})
        for _ in range(5):
            run(file.send([big]))
        run(file.close())
        kept = sorted(each.name for each in tmp_path.iterdir())
        assert len(kept) == 3 and kept[-1] == "audit.log" and all(name.endswith(".log.gz") for name in kept[:-1])
        with gzip.open(tmp_path / kept[0], "rt") as packed:
            assert json.loads(packed.read())["auditID"] == "id-1"

    def test_old_log_files_are_deleted(self, tmp_path: Path) -> None:
        """Files are deleted by age; files with similar names stay."""
        (tmp_path / "audit-2001-09-01T00-00-00.000.log").write_text("old")
        (tmp_path / "audit-2001-09-08T00-00-00.000.log").write_text("new")
        (tmp_path / "audit-notes.log").write_text("mine")
        file = log_file(tmp_path / "audit.log", megabytes=1, days=5)
        for _ in range(2):
            run(file.send([event(1, responseObject={"a": "x" * 700_000})]))
        run(file.close())
        names = {each.name for each in tmp_path.iterdir()}
        assert "audit-2001-09-01T00-00-00.000.log" not in names
        assert {"audit-2001-09-08T00-00-00.000.log", "audit-notes.log"} < names

    def test_cleanup_runs_in_the_background(self, tmp_path: Path) -> None:
        """Cleanup runs beside the events, one at a time; only closing waits for it. Its failures lose no event."""
        cleared: list[Deferred[None]] = []

        async def aside(function: Callable[[], None]) -> None:
            cleared.append(Deferred())
            await cleared[-1]
            raise OSError("no place")

        rotation = Rotation(megabytes=1, backups=1, days=0, compress=False)
        moments = iter(range(1_000_000_000, 1_000_000_100))
        file = LogFile(
            str(tmp_path / "a.log"), rotation, legacy=False, wall=lambda: float(next(moments)), in_thread=aside
        )
        big = event(1, responseObject={"a": "x" * 700_000})
        for _ in range(4):
            run(file.send([big]))
        assert len(cleared) == 1 and len(list(tmp_path.iterdir())) == 4
        closed: list[Any] = []
        start(file.close()).addBoth(closed.append)
        cleared[0].callback(None)
        assert len(cleared) == 2 and not closed
        cleared[1].callback(None)
        assert closed == [None]

    def test_failed_rotation_drops_the_event(self, tmp_path: Path) -> None:
        """The event that would begin a new file is lost; events that fit the old one are still written."""
        path = tmp_path / "[a].log"
        file = log_file(path, megabytes=1, wall=lambda: 1_000_000_000.0)
        run(file.send([event(1, responseObject={"a": "x" * 700_000})]))
        (tmp_path / "[a]-2001-09-09T01-46-40.000.log").mkdir()
        with pytest.raises(OSError):
            run(file.send([event(2, responseObject={"a": "x" * 700_000})]))
        run(file.send([event(3)]))
        run(file.close())
        assert ids(path) == ["1", "3"]

    def test_writers_of_one_file_rotate_it_once(self, tmp_path: Path) -> None:
        """What several processes write to one file is there once, in whole lines; a writer follows the rotation of
        another."""
        path = tmp_path / "a.log"
        moments = iter(range(1_000_000_000, 1_000_000_100))
        files = [log_file(path, megabytes=1, wall=lambda: float(next(moments))) for _ in range(3)]
        for number in range(12):
            run(files[number % 3].send([event(number, responseObject={"a": "x" * 300_000})]))
        for file in files:
            run(file.close())
        ids_by_file = [ids(each) for each in tmp_path.iterdir()]
        assert sorted(map(len, ids_by_file)) == [3, 3, 3, 3]
        assert sorted(name for each in ids_by_file for name in each) == sorted(map(str, range(12)))

    def test_removed_file_is_made_again(self, tmp_path: Path) -> None:
        """Events after the file was renamed or removed are in a new file of its name."""
        path = tmp_path / "a.log"
        file = log_file(path, megabytes=0)
        run(file.send([event(1)]))
        path.rename(tmp_path / "b.log")
        run(file.send([event(2)]))
        path.unlink()
        run(file.send([event(3)]))
        run(file.close())
        assert ids(path) == ["3"]


class TestRemote:
    def remote(self, outcomes: list[Exception | None], clock: Clock) -> tuple[Remote, list[Mapping[str, Any]]]:
        sent: list[Mapping[str, Any]] = []

        async def post(document: Mapping[str, Any]) -> None:
            sent.append(document)
            outcome = outcomes.pop(0)
            if outcome is not None:
                raise outcome

        return Remote(ORCH, post, backoff=10, clock=clock, random=Random(1)), sent

    def test_event_list_items_have_no_kind(self) -> None:
        """The items of an EventList do not repeat their kind."""
        remote, sent = self.remote([None], Clock())
        run(remote.send([event(1)]))
        (document,) = sent
        assert document["kind"] == "EventList" and document["apiVersion"] == "audit.orch.io/v1"
        assert document["items"][0]["auditID"] == "id-1" and "kind" not in document["items"][0]

    def test_transient_webhook_failures_are_retried(self) -> None:
        """Temporary failures are retried with backoff, up to five attempts."""
        clock = Clock()
        remote, sent = self.remote([AgainError("503")] * 5, clock)
        out: list[Any] = []
        start(remote.send([event(1)])).addBoth(out.append)
        for tries, pause in ((1, 9.9), (2, 14.9), (3, 22.4), (4, 33.7)):
            assert len(sent) == tries
            clock.advance(pause)
            assert len(sent) == tries
            clock.advance(pause * 0.25)
        assert len(sent) == 5 and out[0].check(AgainError)

    def test_permanent_webhook_failures_are_not_retried(self) -> None:
        """A permanent failure is reported without a retry."""
        remote, sent = self.remote([ValueError("400")], Clock())
        with pytest.raises(ValueError, match="400"):
            run(remote.send([event(1)]))
        assert len(sent) == 1
