"""The seats and queues of one priority level: pure bookkeeping, with the time as an argument.

A request takes one seat or several while it is served. When there is none left it waits in one of a few queues dealt to
its flow (shuffle sharding), so that a flow that sends too much fills its own hand of queues and hardly anybody else's.
Among the queues the next one is chosen by virtual time (start-time fair queuing, Goyal et al. 1996): each gets the same
share of seat-seconds, however many requests wait in it. A request's seat-seconds are guessed when it begins and put
right when it ends.

A request that finds a seat free and nobody waiting begins at once, without being accounted to a queue: fairness is
among those who wait.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from hashlib import blake2b

#: Seconds that a request is taken to need until it is known.
GUESS = 0.003


class Full(Exception):
    """There is no room; `reason` is the reference's word for it ("queue-full", "concurrency-limit")."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(slots=True, kw_only=True, eq=False)
class Ticket:
    """A request's place: running once `started` is set."""

    seats: int
    arrived: float
    started: float | None = None
    queue: _Queue | None = None


class _Queue:
    """Requests that wait, in order, and the virtual time at which the next of them may begin."""

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
    """How a level lets requests wait: so many queues, of which a flow is dealt `hand`, each `length` requests long."""

    queues: int
    hand: int
    length: int


class Level:
    """One priority level with `limit` seats; `queuing` is None where requests that find no seat are refused.

    `limit` and `queuing` may be changed at any time: what runs goes on, what waits stays in its queue.
    """

    def __init__(self, limit: int, queuing: Queuing | None) -> None:
        self.limit = limit
        self.queuing = queuing
        #: Seats taken, requests running, requests waiting.
        self.seats = self.running = self.waiting = 0
        self._queues: dict[int, _Queue] = {}
        self._virtual = 0.0

    @property
    def idle(self) -> bool:
        return not self.running and not self.waiting

    def enter(self, flow: str, seats: int, now: float) -> Ticket:
        """A place for a request of `flow`, running or waiting. Raises Full."""
        ticket = Ticket(seats=seats, arrived=now)
        if not self.waiting and self._fits(seats):
            self._begin(ticket, now)
            return ticket
        if self.queuing is None:
            raise Full("concurrency-limit")
        queue = self._choose(flow, self.queuing)
        if len(queue.waiting) >= self.queuing.length:
            raise Full("queue-full")
        if not queue.waiting:
            # One that has been idle does not save up; one with requests under way goes on where it is.
            queue.next_start = max(queue.next_start, self._virtual) if queue.running else self._virtual
        ticket.queue = queue
        queue.waiting.append(ticket)
        self.waiting += 1
        return ticket

    def leave(self, ticket: Ticket, now: float) -> None:
        """A request has ended, or does not want to wait any longer. Who begins next is what `next` says."""
        queue = ticket.queue
        if ticket.started is None:
            assert queue is not None
            queue.waiting.remove(ticket)
            self.waiting -= 1
        else:
            self.running -= 1
            self.seats -= ticket.seats
            if queue is not None:
                queue.running -= 1
                queue.next_start += (now - ticket.started - GUESS) * ticket.seats
        if queue is not None and not queue.running and not queue.waiting:
            self._forget(queue)

    def next(self, now: float) -> Ticket | None:
        """Begin the request whose turn it is, if there is a seat for it: call this until it gives None.

        Where the one whose turn it is needs more seats than are free, all wait for it: it would never get them else.
        """
        busy = [queue for queue in self._queues.values() if queue.waiting] if self.waiting else ()
        if not busy:
            return None
        queue = min(busy, key=lambda q: q.next_start + GUESS * q.waiting[0].seats)
        if not self._fits(queue.waiting[0].seats):
            return None
        ticket = queue.waiting.popleft()
        self.waiting -= 1
        self._virtual = max(self._virtual, queue.next_start)
        queue.next_start += GUESS * ticket.seats
        queue.running += 1
        self._begin(ticket, now)
        return ticket

    def _fits(self, seats: int) -> bool:
        """Is there room? A request that is wider than the whole level is served alone."""
        return self.seats + seats <= self.limit or not self.running

    def _begin(self, ticket: Ticket, now: float) -> None:
        ticket.started = now
        self.running += 1
        self.seats += ticket.seats

    def _choose(self, flow: str, queuing: Queuing) -> _Queue:
        """The queue of the flow's hand in which the fewest seats wait."""
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
    """`size` different numbers below `deck`, dealt by the digits of `flow` in mixed radix: any hand is as likely as
    another when `flow` is uniform."""
    dealt: list[int] = []
    for left in range(deck, deck - size, -1):
        flow, card = divmod(flow, left)
        for other in sorted(dealt):
            if card >= other:
                card += 1
        dealt.append(card)
    return dealt
