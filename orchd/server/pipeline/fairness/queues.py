"""Seats and queues of one priority level: a pure data structure, with time as an argument.

A request occupies one or more seats while it executes. Without free seats it waits in one of a few queues assigned to
its flow (shuffle sharding), so that a flow that sends too much fills its own queues and rarely those of others. The
next queue is chosen by virtual time (start-time fair queuing, Goyal et al. 1996): each gets the same share of
seat-seconds, however many requests wait in it. A request's seat-seconds are estimated when it begins and corrected when
it ends.

A request that finds a free seat and an empty queue begins immediately, without being charged to a queue: fairness
applies among waiting requests.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from hashlib import blake2b

from orchd.server.pipeline.fairness.demand import Demand

#: Estimated duration of a request in seconds, until it is known.
ESTIMATED_SECONDS = 0.003


class RejectedError(Exception):
    """The request is rejected; `reason` is the reference's label value ("queue-full", "concurrency-limit")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A queued or executing request: executing once `started` is set. `blocked` counts how often it was the next to
    begin while some seats were free, but fewer than it needs."""

    seats: int
    arrived: float
    started: float | None = None
    queue: _Queue | None = None
    blocked: int = 0


class _Queue:
    """Waiting requests, in order, and the virtual time at which the next of them may begin."""

    __slots__ = ("next_start", "running", "waiting")

    def __init__(self, now: float) -> None:
        self.next_start = now
        self.waiting: deque[Ticket] = deque()
        self.running = 0

    @property
    def seats_waiting(self) -> int:
        return sum(ticket.seats for ticket in self.waiting)


@dataclass(frozen=True, slots=True, kw_only=True)
class Queuing:
    """Queue configuration of a level: number of queues, queues per flow (`hand`), and maximum `length` of each."""

    queues: int
    hand: int
    length: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Watermarks:
    """Highest and lowest values during a period."""

    seats: tuple[int, int]
    running: tuple[int, int]
    waiting: tuple[int, int]


class Level:
    """One priority level with `limit` seats; `queuing` is None if requests without a free seat are rejected. The limit
    does not apply if the level is `exempt`.

    All three may change at any time: executing requests continue, waiting ones stay in their queue.
    """

    def __init__(self, limit: int, queuing: Queuing | None, now: float = 0.0) -> None:
        self.limit = limit
        self.queuing = queuing
        self.exempt = False
        #: Occupied seats, and those that waiting requests need.
        self.demand = Demand(now)
        #: Occupied seats, executing requests, waiting requests.
        self.seats = self.running = self.waiting = 0
        #: Extremes of these three since `read_watermarks`.
        self._most_seats = self._most_running = self._most_waiting = 0
        self._least_seats = self._least_running = self._least_waiting = 0
        self._queues: dict[int, _Queue] = {}
        self._virtual = 0.0

    @property
    def places(self) -> int:
        """The number of requests that can wait."""
        return 0 if self.queuing is None else self.queuing.queues * self.queuing.length

    @property
    def idle(self) -> bool:
        return not self.running and not self.waiting

    def enter(self, flow: str, seats: int, now: float) -> Ticket:
        """Admit a request of `flow`, executing or waiting. Raises RejectedError."""
        ticket = Ticket(seats=seats, arrived=now)
        if not self.waiting and self._fits(seats):
            self._begin(ticket, now)
            self.demand.change(seats, now)
            return ticket
        if self.queuing is None:
            raise RejectedError("concurrency-limit")
        queue = self._choose(flow, self.queuing)
        if len(queue.waiting) >= self.queuing.length:
            raise RejectedError("queue-full")
        if not queue.waiting:
            # An idle queue accumulates no credit; one with executing requests keeps its virtual time.
            queue.next_start = max(queue.next_start, self._virtual) if queue.running else self._virtual
        ticket.queue = queue
        queue.waiting.append(ticket)
        self.demand.change(seats, now)
        self.waiting += 1
        if self.waiting > self._most_waiting:
            self._most_waiting = self.waiting
        return ticket

    def leave(self, ticket: Ticket, now: float) -> None:
        """Remove a request that ended or stopped waiting. `next` then returns the requests to begin."""
        queue = ticket.queue
        self.demand.change(-ticket.seats, now)
        if ticket.started is None:
            assert queue is not None
            queue.waiting.remove(ticket)
            self._dequeued()
        else:
            self.running -= 1
            if self.running < self._least_running:
                self._least_running = self.running
            self.seats -= ticket.seats
            if self.seats < self._least_seats:
                self._least_seats = self.seats
            if queue is not None:
                queue.running -= 1
                queue.next_start += (now - ticket.started - ESTIMATED_SECONDS) * ticket.seats
        if queue is not None and not queue.running and not queue.waiting:
            self._forget(queue)

    def next(self, now: float) -> Ticket | None:
        """Begin the next request if enough seats are free: call until it returns None.

        If the next request needs more seats than are free, all others wait for it, to prevent starvation.
        """
        busy = [queue for queue in self._queues.values() if queue.waiting] if self.waiting else ()
        if not busy:
            return None
        queue = min(busy, key=lambda q: q.next_start + ESTIMATED_SECONDS * q.waiting[0].seats)
        if not self._fits(queue.waiting[0].seats):
            if self.seats < self.limit:
                queue.waiting[0].blocked += 1
            return None
        ticket = queue.waiting.popleft()
        self._dequeued()
        self._virtual = max(self._virtual, queue.next_start)
        queue.next_start += ESTIMATED_SECONDS * ticket.seats
        queue.running += 1
        self._begin(ticket, now)
        return ticket

    def _fits(self, seats: int) -> bool:
        """True if there are enough free seats. A request wider than the whole level executes alone; where there are no
        seats at all, those that can wait do."""
        if self.seats + seats <= self.limit or self.exempt:
            return True
        return not self.running and (self.limit > 0 or self.queuing is None)

    def _begin(self, ticket: Ticket, now: float) -> None:
        ticket.started = now
        self.running += 1
        if self.running > self._most_running:
            self._most_running = self.running
        self.seats += ticket.seats
        if self.seats > self._most_seats:
            self._most_seats = self.seats

    def _dequeued(self) -> None:
        self.waiting -= 1
        if self.waiting < self._least_waiting:
            self._least_waiting = self.waiting

    def read_watermarks(self) -> Watermarks:
        """The highest and lowest numbers of seats, executing and waiting requests since the last call."""
        watermarks = Watermarks(
            seats=(self._most_seats, self._least_seats),
            running=(self._most_running, self._least_running),
            waiting=(self._most_waiting, self._least_waiting),
        )
        self._most_seats = self._least_seats = self.seats
        self._most_running = self._least_running = self.running
        self._most_waiting = self._least_waiting = self.waiting
        return watermarks

    @property
    def latest_start(self) -> float:
        """Virtual time at which the last request of a queue began."""
        return self._virtual

    def next_starts(self) -> list[tuple[float, int]]:
        """For each queue in which requests wait: the virtual time at which the oldest may begin, and its executing
        requests."""
        return [(queue.next_start, queue.running) for queue in self._queues.values() if queue.waiting]

    def _choose(self, flow: str, queuing: Queuing) -> _Queue:
        """The queue among the flow's queues in which the fewest seats wait."""
        best: int | None = None
        least = 0
        digest = int.from_bytes(blake2b(flow.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        for index in hand(digest, queuing.queues, queuing.hand):
            queue = self._queues.get(index)
            waiting = 0 if queue is None else queue.seats_waiting
            if best is None or waiting < least:
                best, least = index, waiting
        assert best is not None
        return self._queues.setdefault(best, _Queue(self._virtual))

    def _forget(self, queue: _Queue) -> None:
        for index, each in self._queues.items():
            if each is queue:
                del self._queues[index]
                return


def hand(flow: int, deck: int, size: int) -> list[int]:
    """`size` different numbers below `deck`, from the digits of `flow` in mixed radix: all hands are equally likely if
    `flow` is uniform."""
    dealt: list[int] = []
    for left in range(deck, deck - size, -1):
        flow, card = divmod(flow, left)
        for other in sorted(dealt):
            if card >= other:
                card += 1
        dealt.append(card)
    return dealt
