"""Work on large inputs runs in a thread, one call after the other."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred

from orchd.testing.doubles.server import run
from orchd.txkit.compute_thread import LARGE, ComputeThread, current_flow
from orchd.txkit.coroutines import start
from orchd.txkit.fair_lock import MOST_WAITING, TooManyWaitingError


class Thread:
    """A thread that the test runs."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Deferred[None], Any, tuple[Any, ...]]] = []

    async def __call__(self, function: Any, *arguments: Any) -> Any:
        turn: Deferred[None] = Deferred()
        self.waiting.append((turn, function, arguments))
        await turn
        return function(*arguments)

    def work(self) -> None:
        self.waiting.pop(0)[0].callback(None)


def test_small_inputs_are_processed_in_place() -> None:
    """Small inputs are processed at once, and so are all inputs where there are no threads."""
    thread = Thread()
    assert run(ComputeThread(thread)(LARGE, max, 1, 2)) == 2
    assert run(ComputeThread()(LARGE + 1, max, 1, 2)) == 2
    assert not thread.waiting


def test_calls_run_one_at_a_time() -> None:
    """The second call begins when the first one has ended, by result or error."""
    thread = Thread()
    compute = ComputeThread(thread)
    first, second = start(compute(LARGE + 1, int, "x")), start(compute(LARGE + 1, max, 1, 2))
    assert len(thread.waiting) == 1
    thread.work()
    failed: list[Any] = []
    first.addErrback(failed.append)
    assert failed[0].check(ValueError) and len(thread.waiting) == 1
    thread.work()
    got: list[Any] = []
    second.addCallback(got.append)
    assert got == [2]


def test_cancelled_call_still_blocks_the_next() -> None:
    """The thread of a cancelled call cannot be stopped: the next call waits for it."""
    thread = Thread()
    compute = ComputeThread(thread)
    first, second = start(compute(LARGE + 1, int, "x")), start(compute(LARGE + 1, max, 1, 2))
    gone: list[Any] = []
    first.addErrback(gone.append)
    first.cancel()
    assert gone[0].check(CancelledError) and len(thread.waiting) == 1
    thread.work()
    assert len(thread.waiting) == 1
    thread.work()
    got: list[Any] = []
    second.addCallback(got.append)
    assert got == [2]


def test_cancelled_waiting_call_is_dropped() -> None:
    """A call that has not begun is dropped when its caller is cancelled."""
    thread = Thread()
    compute = ComputeThread(thread)
    first, second = start(compute(LARGE + 1, max, 1, 2)), start(compute(LARGE + 1, max, 3, 4))
    second.addErrback(lambda failure: failure.trap(CancelledError))
    second.cancel()
    thread.work()
    assert not thread.waiting
    got: list[Any] = []
    first.addCallback(got.append)
    assert got == [2]


def call_as(compute: ComputeThread, flow: str, ended: list[str]) -> Deferred[Any]:
    """A large call of a flow, which appends the flow to `ended`."""

    async def call() -> None:
        current_flow.set(flow)
        await compute(LARGE + 1, ended.append, flow)

    return start(call())


def test_flows_take_turns() -> None:
    """A flow with many waiting calls delays the calls of others by one of its own at a time."""
    thread, ended = Thread(), list[str]()
    compute = ComputeThread(thread)
    for flow in "aaaabbc":
        call_as(compute, flow, ended)
    for _ in range(7):
        thread.work()
    assert "".join(ended) == "aabcaba" and not thread.waiting


def test_cancelled_call_leaves_its_flow() -> None:
    """Turns are not given to flows whose waiting calls were cancelled."""
    thread, ended = Thread(), list[str]()
    compute = ComputeThread(thread)
    calls = [call_as(compute, flow, ended) for flow in "abbc"]
    for call in calls[1:3]:
        call.addErrback(lambda failure: failure.trap(CancelledError))
        call.cancel()
    thread.work()
    thread.work()
    assert ended == ["a", "c"]


def test_waiting_calls_of_a_flow_are_bounded() -> None:
    """A flow with too many waiting calls is refused another one; other flows are not."""
    thread, ended = Thread(), list[str]()
    compute = ComputeThread(thread)
    for _ in range(MOST_WAITING + 1):
        call_as(compute, "a", ended)
    refused: list[Any] = []
    call_as(compute, "a", ended).addErrback(refused.append)
    assert refused[0].check(TooManyWaitingError)
    call_as(compute, "b", ended)
    for _ in range(3):
        thread.work()
    assert ended == ["a", "a", "b"]
