"""The work queue: each key once, one worker per key, increasing backoff."""

from __future__ import annotations

from typing import Any

from twisted.internet.task import Clock

from orchd.txkit.coroutines import start
from orchd.txkit.work_queue import WorkQueue


def take(queue: WorkQueue[str]) -> list[Any]:
    """The key that `get` returns, once it does."""
    got: list[Any] = []
    start(queue.get()).addBoth(got.append)
    return got


def test_queued_key_is_added_once() -> None:
    """Adding a queued key changes nothing."""
    queue: WorkQueue[str] = WorkQueue(Clock())
    for key in ("a", "b", "a"):
        queue.add(key)
    assert len(queue) == 2
    assert take(queue) + take(queue) == ["a", "b"]


def test_first_waiting_worker_gets_the_first_key() -> None:
    """The first waiting worker gets the first key."""
    queue: WorkQueue[str] = WorkQueue(Clock())
    first, second = take(queue), take(queue)
    queue.add("a")
    assert (first, second) == (["a"], [])


def test_key_in_progress_is_requeued_once() -> None:
    """A key that is added while it is being processed is queued once when the processing ends."""
    queue: WorkQueue[str] = WorkQueue(Clock())
    queue.add("a")
    assert take(queue) == ["a"]
    queue.add("a")
    queue.add("a")
    second = take(queue)
    assert second == []
    queue.done("a")
    assert second == ["a"]
    queue.done("a")
    assert len(queue) == 0


def test_backoff_doubles_up_to_a_limit() -> None:
    """Consecutive failures of a key increase its backoff up to a limit; `forget` resets it."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock, first_pause=1, longest_pause=4)
    for pause in (1, 2, 4, 4):
        queue.add_limited("a")
        clock.advance(pause - 0.5)
        assert len(queue) == 0
        clock.advance(0.5)
        assert take(queue) == ["a"]
        queue.done("a")
    assert queue.failures("a") == 4
    queue.forget("a")
    queue.add_limited("a")
    clock.advance(1)
    assert len(queue) == 1


def test_earlier_of_two_delays_wins() -> None:
    """Of two delays for a key the earlier time counts, and the key is queued once."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add_after("a", 10)
    queue.add_after("a", 2)
    queue.add_after("a", 5)
    clock.advance(2)
    assert take(queue) == ["a"]
    queue.done("a")
    clock.advance(20)
    assert len(queue) == 0
    assert clock.getDelayedCalls() == []


def test_all_delayed_keys_share_one_timer() -> None:
    """The clock holds one call for any number of delayed keys, and none for an idle queue."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    assert clock.getDelayedCalls() == []
    for number in range(50):
        queue.add_after(str(number), 50 - number)
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(1)
    assert take(queue) == ["49"]


def test_keys_beyond_the_limit_are_dropped_and_refilled() -> None:
    """Keys beyond the limit are dropped and counted; when the queue is empty all keys are requested again."""
    asked = []
    queue: WorkQueue[str] = WorkQueue(Clock(), limit=2, refill=lambda: asked.append(True))
    for key in "abc":
        queue.add(key)
    assert (len(queue), queue.dropped) == (2, 1)
    for _ in range(2):
        queue.done(take(queue)[0])
    assert asked == [True]


def test_closed_queue_releases_workers() -> None:
    """Closing the queue ends waiting workers, drops its keys and rejects new ones."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    waiting = take(queue)
    queue.add_after("later", 1)
    queue.close()
    queue.add("a")
    assert waiting == [None]
    assert take(queue) == [None]
    assert clock.getDelayedCalls() == []


def test_cancelled_worker_takes_no_key() -> None:
    """A worker that is cancelled while it waits takes no key."""
    queue: WorkQueue[str] = WorkQueue(Clock())
    gone = start(queue.get())
    gone.addErrback(lambda failure: None)
    gone.cancel()
    queue.add("a")
    assert take(queue) == ["a"]


def test_refill_waits_for_the_last_key() -> None:
    """Dropped keys are requested again when no key is queued or being processed."""
    refills: list[str] = []
    queue: WorkQueue[str] = WorkQueue(Clock(), limit=2, refill=lambda: refills.append("refill"))
    for key in ("a", "b", "c"):
        queue.add(key)
    assert take(queue) + take(queue) == ["a", "b"]
    queue.done("a")
    assert refills == []
    queue.done("b")
    assert refills == ["refill"]


def test_a_queue_on_hold_collects_keys() -> None:
    """No key is handed out before the end of the longest hold; then all waiting workers get one."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    first, second = take(queue), take(queue)
    queue.hold(2)
    queue.hold(5)
    queue.hold(1)
    for key in ("a", "b", "a"):
        queue.add(key)
    clock.advance(4.9)
    assert (first, second) == ([], [])
    clock.advance(0.1)
    assert (first, second) == (["a"], ["b"])
    assert take(queue) == []


def test_closing_ends_a_hold() -> None:
    """Waiting workers end when the queue is closed during a hold."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.hold(5)
    queue.add("a")
    worker = take(queue)
    queue.close()
    assert worker == [None]
    queue.hold(5)
    assert not clock.getDelayedCalls()


def test_delayed_keys_can_be_dropped() -> None:
    """Keys that are not due are dropped with their timer; queued keys stay."""
    clock = Clock()
    queue: WorkQueue[str] = WorkQueue(clock)
    queue.add("a")
    queue.add_after("b", 1)
    assert "a" in queue and "b" not in queue
    queue.drop_delayed()
    assert clock.getDelayedCalls() == [] and take(queue) == ["a"] and "a" not in queue
    queue.add_after("b", 1)
    clock.advance(1)
    assert take(queue) == ["b"]
