"""Bodies of watches in pieces of any size, and the queue between a connection and its reader."""

from __future__ import annotations

import pytest

from orchd.client.event_cutters import FrameCutter, LineCutter
from orchd.client.piece_queue import HIGH_WATER, PieceQueue
from orchd.errors import ApiError
from orchd.testing.doubles.server import run
from orchd.txkit.coroutines import start

EVENTS = [b"first", b"2", b"the third one"]
FRAMES = b"".join(len(event).to_bytes(4, "big") + event for event in EVENTS)
LINES = b"".join(event + b"\n" for event in EVENTS)


@pytest.mark.parametrize("size", range(1, len(FRAMES) + 1))
def test_events_do_not_depend_on_the_pieces(size: int) -> None:
    """Both cutters return each event once, complete, in order, with the piece that completes it."""
    for cutter, body in ((FrameCutter(), FRAMES), (LineCutter(), LINES)):
        events: list[bytes] = []
        for at in range(0, len(body), size):
            events += cutter.cut(body[at : at + size])
            complete = [event for event, end in zip(EVENTS, _ends(body is LINES), strict=True) if end <= at + size]
            assert events == complete
        assert events == EVENTS and cutter.pending == 0


def _ends(lines: bool) -> list[int]:
    """Where each event ends in its body."""
    ends, at = [], 0
    for event in EVENTS:
        at += len(event) + (1 if lines else 4)
        ends.append(at)
    return ends


def test_pending_is_the_size_of_the_incomplete_event() -> None:
    """Of a line its bytes so far; of a frame the length that it announces, once that is complete."""
    lines, frames = LineCutter(), FrameCutter()
    assert lines.pending == frames.pending == 0
    for data, pending in ((b"ab", 2), (b"cd", 4), (b"\nx", 1), (b"yz\n", 0)):
        lines.cut(data)
        assert lines.pending == pending
    for data, pending in ((b"\0\0\1", 0), (b"\0", 256), (b"x" * 255, 256), (b"x\0\0\0\2a", 2), (b"a", 0)):
        frames.cut(data)
        assert frames.pending == pending
    assert list(frames.cut(b"\0\0\0\0\0\0\0\1a")) == [b"", b"a"]
    assert list(frames.cut(b"\0\0\0\0")) == [b""]


def test_empty_lines_are_no_events() -> None:
    assert list(LineCutter().cut(b"\n \na\n\n")) == [b"a"]


def test_queue_pauses_its_connection() -> None:
    """Above the limit the connection is paused, once; at half of it, it is resumed, once, unless it has ended."""
    for ended in (False, True):
        holds: list[bool] = []
        queue = PieceQueue(holds.append)
        queue.put(b"x" * HIGH_WATER)
        assert holds == []
        queue.put(b"y")
        queue.put(b"zz")
        assert holds == [True]
        queue.put(b"x" * (HIGH_WATER // 2 - 2))
        if ended:
            queue.end(None)
        run(queue.next())
        assert holds == [True] and run(queue.next()) == b"y"
        assert holds == ([True] if ended else [True, False])
        assert run(queue.next()) == b"zz" and len(holds) == (1 if ended else 2)


def test_queue_delivers_its_pieces_before_its_end() -> None:
    """A reader that waits is woken by a piece and by the end; the error is raised every time; later pieces are
    ignored."""
    queue = PieceQueue(lambda hold: None)
    waiting = start(queue.next())
    queue.put()
    assert not waiting.called
    queue.put(b"a", b"b")
    assert waiting.result == b"a"
    error = ApiError(500, "", "e")
    assert queue.end(error) and queue.ended and not queue.end(None)
    queue.put(b"c")
    assert run(queue.next()) == b"b"
    for _ in range(2):
        with pytest.raises(ApiError, match="e"):
            run(queue.next())
    queue.clear()
    assert run(queue.next()) is None
    holds: list[bool] = []
    queue = PieceQueue(holds.append)
    cancelled = start(queue.next())
    cancelled.addErrback(lambda failure: None)
    cancelled.cancel()
    queue.put(b"x")
    queue.clear()
    queue.put(b"x" * HIGH_WATER)
    assert holds == []
    queue.clear()
    waiting = start(queue.next())
    queue.end(None)
    assert waiting.called and waiting.result is None
