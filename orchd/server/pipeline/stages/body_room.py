"""Bounds the bytes of request bodies that are in memory at once.

A request with a larger body takes room for it before it takes a seat, and gives the room back when it has a response,
so that what is decoded from bodies is bounded, too. Until it has room, its connection receives no more than it does
ahead of any reader. Smaller bodies, and those that arrived with their heads, are bounded by the number of seats; those
that are passed on to pods, nodes and services are never held as a whole.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Final

from twisted.internet.defer import TimeoutError
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.errors import ApiError, too_many_requests
from orchd.server.pipeline.interfaces import IArrival, Next, Request, Response
from orchd.server.pipeline.stages.limits import long_running
from orchd.txkit.byte_budget import ByteBudget, NoRoomError
from orchd.txkit.metrics.instruments import ObservedCounter, ObservedGauge
from orchd.txkit.timeouts import within

#: Bytes of all bodies together, and of those of one user.
TOTAL: Final = 64 << 20
SHARE: Final = TOTAL // 2
#: Bytes up to which a body needs no room; fewer than are received ahead of a reader.
SMALL: Final = 32 << 10
#: Seconds in which a body has to arrive while others wait for room, and between two looks at those that arrive.
ARRIVAL: Final = 10.0
_LOOK_AGAIN: Final = 1.0


class BodyRoom:
    """`largest` is the maximum size of a body that is read as a whole. A request waits for room for at most `patience`
    seconds."""

    def __init__(self, clock: IReactorTime, *, largest: int, patience: float, budget: ByteBudget | None = None) -> None:
        self._clock = clock
        self._largest = largest
        self._patience = patience
        self.budget = ByteBudget(TOTAL, SHARE) if budget is None else budget
        #: Bodies that arrive, and since when they have room.
        self._arriving: dict[IArrival, float] = {}
        self._looking: IDelayedCall | None = None
        self._rejected = 0
        self.instruments = (
            ObservedGauge(
                "orchd_request_body_bytes", "Size of large request bodies in memory in bytes.", lambda: self.budget.held
            ),
            ObservedGauge(
                "orchd_request_bodies_waiting",
                "Requests that wait for room in memory for their bodies.",
                lambda: self.budget.waiting,
            ),
            ObservedCounter(
                "orchd_request_bodies_rejected_total",
                "Requests rejected because there was no room in memory for their bodies.",
                lambda: self._rejected,
            ),
        )

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        body = request.body
        arrival, length = body.arrival, body.length
        # Larger ones than the largest are refused or passed on.
        if (
            arrival is None
            or (length is not None and not SMALL < length <= self._largest)
            or long_running(request.info)
        ):
            return then(request)
        return self._with_room(request, then, arrival, length)

    async def _with_room(self, request: Request, then: Next, arrival: IArrival, length: int | None) -> Response:
        assert request.user is not None
        user, size = request.user.name, self._largest if length is None else length
        if length is None and not self.budget.has_room(user, size) and await arrival.ends_within(SMALL):
            return await then(request)
        await self._take(request, user, size)
        self._arriving[arrival] = self._clock.seconds()
        try:
            return await then(request)
        finally:
            self._arriving.pop(arrival, None)
            self.budget.give_back(user, size)

    async def _take(self, request: Request, user: str, size: int) -> None:
        """Wait for room. Raises ApiError 429."""
        try:
            turn = self.budget.take(user, size)
            self._look_later()
            await within(turn, self._patience, self._clock)
        except (NoRoomError, TimeoutError):
            request.trace.terminated = True
            raise self._rejection() from None
        finally:
            if not self.budget.waiting and self._looking is not None:
                self._looking.cancel()
                self._looking = None

    def _look_later(self) -> None:
        if self.budget.waiting and self._looking is None:
            self._looking = self._clock.callLater(_LOOK_AGAIN, self._refuse_slow_ones)

    def _refuse_slow_ones(self) -> None:
        """While others wait, refuse bodies that take too long to arrive."""
        self._looking = None
        latest = self._clock.seconds() - ARRIVAL
        for arrival in [arrival for arrival, since in self._arriving.items() if since <= latest]:
            del self._arriving[arrival]
            if not arrival.complete:
                arrival.refuse(self._rejection())
        self._look_later()

    def _rejection(self) -> ApiError:
        self._rejected += 1
        return too_many_requests("too many large request bodies are in memory, please try again later")
