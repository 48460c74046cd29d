"""The priority and fairness stage: each request gets a seat of its priority level, waits for one, or is rejected.

A request belongs to the first flow schema that matches it, and through it to a priority level. An exempt level is
unlimited. The others share the server's seats (--max-requests-inflight plus --max-mutating-requests-inflight) by their
assured concurrency shares. A watch keeps its seat until its initialization; connections to pods and nodes take none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from orchd.dialect import Dialect
from orchd.kinds.digits import integer
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.users import User
from orchd.server.pipeline.fairness.estimates import WorkEstimates
from orchd.server.pipeline.fairness.metrics import (
    BOUNDS,
    QUEUE_LENGTHS,
    WATCHERS,
    FlowMetrics,
    flow_instruments,
    level_instruments,
)
from orchd.server.pipeline.fairness.queues import Level, Queuing, RejectedError, Ticket
from orchd.server.pipeline.fairness.schemas import Classifier, schema_of
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response
from orchd.server.pipeline.stages.limits import InFlightCount, PeakCount, long_running, mutating, too_many, until_sent

#: Seats of a list: one per this number of objects read, and the maximum.
_OBJECTS_A_SEAT, _MOST_SEATS = 100, 10
#: A syntactically valid limit. Others are rejected later, with the proper error.
_NUMBER = re.compile(r"0*[1-9][0-9]{0,18}")


class LimitedLevel:
    """A limited priority level with its current configuration."""

    __slots__ = ("name", "seats", "shares", "uid", "waking")

    def __init__(self, name: str) -> None:
        self.name = name
        self.uid = ""
        self.shares = 0
        self.seats = Level(1, None)
        #: True while requests are being started: starting one may end it, which re-enters this code.
        self.waking = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Classification result of a request; `level` is None for an exempt one."""

    level: LimitedLevel | None
    numbers: FlowMetrics
    headers: tuple[tuple[str, str], ...]


class Fairness:
    """Priority and fairness with `total` seats for all levels; a request waits at most `patience` seconds. `mandatory`
    are the flow schemas and priority levels that apply even when they are not stored."""

    def __init__(
        self,
        dialect: Dialect,
        clock: IReactorTime,
        underway: InFlightCount,
        *,
        total: int,
        patience: float,
        estimates: WorkEstimates,
        mandatory: tuple[Iterable[ObjectView], Iterable[ObjectView]],
    ) -> None:
        self._clock = clock
        self._underway = underway
        self._total = total
        self._patience = patience
        self._estimates = estimates
        self._schema_header = dialect("X-{Long}-PF-FlowSchema-UID")
        self._level_header = dialect("X-{Long}-PF-PriorityLevel-UID")
        self._mandatory = tuple({each["metadata"]["name"]: each for each in objects} for objects in mandatory)
        self._classifier = Classifier(())
        self._assigned: dict[str, Assigned] = {}
        self._waiting: dict[Ticket, Deferred[None]] = {}
        #: Levels by name, including removed ones that still have requests.
        self.levels: dict[str, LimitedLevel] = {}
        #: Metrics by flow schema and priority level, while both are configured.
        self.numbers: dict[tuple[str, str], FlowMetrics] = {}
        self.instruments = (
            *flow_instruments(lambda: self.numbers),
            *level_instruments(lambda: {name: level.seats for name, level in self.levels.items()}),
        )
        self.configure((), ())

    # -- configuration

    def configure(self, schemas: Iterable[ObjectView], levels: Iterable[ObjectView]) -> list[str]:
        """Apply validated FlowSchema and PriorityLevelConfiguration objects.

        Returns the names of flow schemas whose priority level does not exist; these classify no requests.
        """
        levels_by_name = self._mandatory[1] | {each["metadata"]["name"]: each for each in levels}
        limited = self._limited_levels(levels_by_name)
        dangling, usable = [], []
        for obj in (self._mandatory[0] | {each["metadata"]["name"]: each for each in schemas}).values():
            schema = schema_of(obj)
            if schema.level in levels_by_name:
                usable.append(schema)
            else:
                dangling.append(schema.name)
        numbers, assigned = {}, {}
        for schema in usable:
            key = schema.name, schema.level
            numbers[key] = self.numbers.get(key) or FlowMetrics()
            level = limited.get(schema.level)
            headers = ((self._schema_header, schema.uid), (self._level_header, "" if level is None else level.uid))
            assigned[schema.name] = Assigned(level=level, numbers=numbers[key], headers=headers)
        self.numbers, self._assigned, self._classifier = numbers, assigned, Classifier(usable)
        for level in self.levels.values():
            self._wake(level)
        return dangling

    def _limited_levels(self, levels_by_name: Mapping[str, ObjectView]) -> dict[str, LimitedLevel]:
        """The limited levels among `levels_by_name`, each with its share of all seats."""
        limited: dict[str, LimitedLevel] = {}
        for name, obj in levels_by_name.items():
            spec = obj["spec"]
            if spec["type"] != "Limited":
                continue
            level = limited[name] = self.levels.get(name) or LimitedLevel(name)
            level.uid = obj["metadata"].get("uid", "")
            level.shares = _shares(spec["limited"])
            response = spec["limited"]["limitResponse"]
            queuing = response.get("queuing") if response["type"] == "Queue" else None
            level.seats.queuing = queuing and Queuing(
                queues=queuing["queues"], hand=queuing["handSize"], length=queuing["queueLengthLimit"]
            )
        going = {name: level for name, level in self.levels.items() if name not in limited and not level.seats.idle}
        self.levels = going | limited
        shares = sum(level.shares for level in self.levels.values())
        for level in self.levels.values():
            level.seats.limit = max(1, ceil(self._total * level.shares / max(1, shares)))
        return limited

    def assign(self, user: User, info: RequestInfo) -> tuple[Assigned, str]:
        """Classify a request: level, flow schema and flow."""
        schema = self._classifier.schema(user, info)
        if schema is None:
            # The mandatory schemas match both groups of users; a drop-in authenticator may set neither.
            return self._assigned["catch-all"], user.name
        return self._assigned[schema.name], f"{schema.name}\0{schema.flow(user, info)}"

    # -- requests

    async def __call__(self, request: Request, then: Next) -> Response:
        info, user = request.info, request.user
        assert info is not None and user is not None
        if info.verb != "watch" and long_running(info):
            return await then(request)
        assigned, flow = self.assign(user, info)
        half, underway = mutating(info), self._underway
        if half and info.is_resource:
            assigned.numbers.watchers.observe(WATCHERS, self._estimates.watches(info))
        level = assigned.level
        if level is None:
            underway.executing[half].add()
            return await until_sent(request, then, underway.executing[half].remove)
        request.response_headers += assigned.headers
        numbers = assigned.numbers
        ticket = await self._seat(level, numbers, flow, self._seats(request, info), underway.queued[half])
        if ticket is None:
            underway.rejected[half] += 1
            return too_many(request)
        underway.executing[half].add()
        numbers.executing += 1
        numbers.seats += ticket.seats

        def ended() -> None:
            underway.executing[half].remove()
            self._ended(level, numbers, ticket)

        return await until_sent(request, then, ended)

    def _ended(self, level: LimitedLevel, numbers: FlowMetrics, ticket: Ticket) -> None:
        assert ticket.started is not None
        now = self._clock.seconds()
        numbers.executing -= 1
        numbers.seats -= ticket.seats
        numbers.execution.observe(BOUNDS, now - ticket.started)
        level.seats.leave(ticket, now)
        if level.seats.waiting:
            self._wake(level)

    async def _seat(
        self, level: LimitedLevel, numbers: FlowMetrics, flow: str, seats: int, queued: PeakCount
    ) -> Ticket | None:
        """The ticket of a request that may begin; None when it is rejected."""
        try:
            ticket = level.seats.enter(flow, seats, self._clock.seconds())
        except RejectedError as full:
            numbers.reject(full.reason)
            return None
        if ticket.queue is not None:
            numbers.queue_lengths.observe(QUEUE_LENGTHS, len(ticket.queue.waiting))
        if ticket.started is None:
            # Smaller requests may have waited for a wide one.
            self._wake(level)
            if ticket.started is None and not await self._wait_for_seats(level, numbers, ticket, queued):
                return None
        assert ticket.started is not None
        numbers.dispatched += 1
        numbers.waited.observe(BOUNDS, ticket.started - ticket.arrived)
        return ticket

    async def _wait_for_seats(
        self, level: LimitedLevel, numbers: FlowMetrics, ticket: Ticket, queued: PeakCount
    ) -> bool:
        """Wait until the request of `ticket` may begin. False after the timeout."""
        late = False

        def expire() -> None:
            nonlocal late
            late = True
            waiting.cancel()

        waiting: Deferred[None] = Deferred()
        self._waiting[ticket] = waiting
        timer = self._clock.callLater(self._patience, expire)
        numbers.waiting += 1
        queued.add()
        try:
            await waiting
        except CancelledError:
            del self._waiting[ticket]
            now = self._clock.seconds()
            level.seats.leave(ticket, now)
            numbers.reject("time-out" if late else "cancelled")
            numbers.refused.observe(BOUNDS, now - ticket.arrived)
            # Its departure may unblock others.
            self._wake(level)
            if not late:
                raise
            return False
        finally:
            numbers.waiting -= 1
            queued.remove()
            if timer.active():
                timer.cancel()
        return True

    def _wake(self, level: LimitedLevel) -> None:
        """Start waiting requests while there are free seats."""
        if level.waking:
            return
        level.waking = True
        try:
            while (ticket := level.seats.next(self._clock.seconds())) is not None:
                waiting = self._waiting.pop(ticket, None)
                if waiting is not None:
                    waiting.callback(None)
        finally:
            level.waking = False

    def _seats(self, request: Request, info: RequestInfo) -> int:
        """Number of seats of a request: more than one for large lists."""
        if info.verb != "list" or info.name:
            return 1
        objects = self._estimates.objects(info)
        limit = request.param("limit")
        if _NUMBER.fullmatch(limit) and not (request.param("labelSelector") or request.param("fieldSelector")):
            objects = min(objects, integer(limit))
        return min(max(1, ceil(objects / _OBJECTS_A_SEAT)), _MOST_SEATS)


def _shares(limited: ObjectView) -> int:
    """The shares of a limited level, whose name differs between the versions of the group."""
    nominal = limited.get("nominalConcurrencyShares")
    shares: int = limited["assuredConcurrencyShares"] if nominal is None else nominal
    return shares
