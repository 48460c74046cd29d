"""The current span and its child spans."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from twisted.internet.defer import Deferred

from orchd.txkit.coroutines import start
from orchd.txkit.tracing import Value, current_span, trace_headers, traced


class RecordingSpan:
    """A span that records what happens to it and to its children."""

    def __init__(self, name: str, story: list[str], recording: bool = True) -> None:
        self.name, self.story, self.recording = name, story, recording
        self.ended = False

    def child(self, name: str, attributes: Mapping[str, Value], *, outgoing: bool = False) -> RecordingSpan:
        self.story.append(f"{self.name} > {name}")
        return RecordingSpan(name, self.story)

    def set(self, name: str, value: Value) -> None:
        self.story.append(f"{self.name}.{name} = {value}")

    def fail(self, why: str) -> None:
        self.story.append(f"{self.name} failed: {why}")

    def end(self) -> None:
        self.recording, self.ended = False, True
        self.story.append(f"{self.name} ended")

    def headers(self) -> Mapping[str, str]:
        return {"traceparent": self.name}


def test_nothing_is_recorded_outside_of_traces() -> None:
    """Without a current span, or below one that is not recorded, nothing is recorded."""
    with traced("x") as span:
        assert span is None and trace_headers() == {}
    story: list[str] = []
    outer = RecordingSpan("outer", story, recording=False)
    current_span.set(outer)
    try:
        with traced("x") as span:
            assert span is None and current_span.get() is outer and trace_headers() == {"traceparent": "outer"}
    finally:
        current_span.set(None)
    assert story == []
    outer.end()
    current_span.set(outer)
    try:
        assert trace_headers() == {}
    finally:
        current_span.set(None)


def test_spans_follow_concurrent_work() -> None:
    """Concurrent work has its own spans, across awaits; errors are recorded; and the outer span is current again
    afterwards."""
    story: list[str] = []
    gates: dict[str, Deferred[None]] = {"a": Deferred(), "b": Deferred()}

    async def work(name: str) -> str:
        with traced(name) as span:
            await gates[name]
            with traced(f"{name}.inner"):
                pass
            assert span is not None and current_span.get() is span
            return dict(trace_headers())["traceparent"]

    async def outer() -> list[str]:
        current_span.set(RecordingSpan("root", story))
        tasks = [start(work("a")), start(work("b"))]
        assert trace_headers() == {"traceparent": "root"}
        return [await task for task in tasks]

    done = start(outer())
    gates["b"].callback(None)
    gates["a"].errback(ValueError("broken"))
    with pytest.raises(ValueError, match="broken"):
        raise done.result.value  # type: ignore[attr-defined]  # a Failure
    done.addErrback(lambda _: None)
    assert story == [
        "root > a", "root > b", "b > b.inner", "b.inner ended", "b ended", "a failed: broken", "a ended",
    ]  # fmt: skip
    assert current_span.get() is None
