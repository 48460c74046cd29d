"""The priority and fairness stage: each request gets a seat of its priority level, waits for one, or is rejected.

A request belongs to the first flow schema that matches it, and through it to a priority level. An exempt level is
unlimited. The others share the server's seats (--max-requests-inflight plus --max-mutating-requests-inflight) as the
rule of the release divides them. A watch keeps its seat until its initialization; connections to pods and nodes take
none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime

from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import ObjectView
from orchd.kinds.release import Release
from orchd.kinds.users import User
from orchd.server.pipeline.fairness.estimates import WorkEstimates
from orchd.server.pipeline.fairness.levels import PriorityLevel
from orchd.server.pipeline.fairness.limits import LIMITS, PERIOD
from orchd.server.pipeline.fairness.metrics import (
    BOUNDS,
    QUEUE_LENGTHS,
    SEATS_SINCE,
    WATCHERS,
    WIDTHS,
    FlowMetrics,
    flow_instruments,
    level_instruments,
)
from orchd.server.pipeline.fairness.queues import RejectedError, Ticket
from orchd.server.pipeline.fairness.schemas import Classifier, Schema, schema_of
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response
from orchd.server.pipeline.stages.limits import InFlightCount, PeakCount, long_running, mutating, too_many, until_sent
from orchd.txkit.metrics.histogram import Histogram
from orchd.txkit.metrics.instruments import Instrument, ObservedGauge


@dataclass(frozen=True, slots=True, kw_only=True)
class Assigned:
    """Classification result of a request; `level` is None for an exempt one of a release whose exempt levels have no
    seats."""

    level: PriorityLevel | None
    numbers: FlowMetrics
    headers: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What requests can occupy: `seats` of all levels together. A request waits for them at most `patience` seconds."""

    seats: int
    patience: float


class Fairness:
    """Priority and fairness of a release. `mandatory` are the flow schemas and priority levels that apply even when
    they are not stored."""

    #: Seconds between calls of `adjust`.
    period = PERIOD

    def __init__(
        self,
        dialect: Dialect,
        release: Release,
        clock: IReactorTime,
        underway: InFlightCount,
        *,
        capacity: Capacity,
        estimates: WorkEstimates,
        mandatory: tuple[Iterable[ObjectView], Iterable[ObjectView]],
    ) -> None:
        self._clock = clock
        self._underway = underway
        self.capacity = capacity
        self._estimates = estimates
        self._schema_header = dialect("X-{Long}-PF-FlowSchema-UID")
        self._level_header = dialect("X-{Long}-PF-PriorityLevel-UID")
        schemas, levels = mandatory
        self._mandatory_schemas = {each["metadata"]["name"]: schema_of(each) for each in schemas}
        self._mandatory_levels = {each["metadata"]["name"]: each for each in levels}
        self._classifier = Classifier(())
        self._assigned: dict[str, Assigned] = {}
        self._waiting: dict[Ticket, Deferred[None]] = {}
        self._limits = release.choose(LIMITS)()
        self._bounds = release.choose(BOUNDS)
        #: Levels with seats by name, including removed ones that still have requests.
        self.levels: dict[str, PriorityLevel] = {}
        #: Metrics by flow schema and priority level, while both are configured.
        self.numbers: dict[tuple[str, str], FlowMetrics] = {}
        self.instruments: tuple[Instrument, ...] = (
            *flow_instruments(lambda: self.numbers, release),
            *level_instruments(lambda: self.levels, release),
        )
        if release.includes(SEATS_SINCE):
            self.instruments += (
                ObservedGauge(
                    "apiserver_flowcontrol_seat_fair_frac",
                    "Fraction of its demand that each priority level gets, within its bounds.",
                    lambda: self._limits.fraction,
                ),
            )
        self.configure((), ())

    # -- configuration

    def configure(self, schemas: Iterable[Schema], levels: Iterable[ObjectView]) -> list[str]:
        """Apply flow schemas and validated PriorityLevelConfiguration objects.

        Returns the names of flow schemas whose priority level does not exist; these classify no requests.
        """
        levels_by_name = self._mandatory_levels | {each["metadata"]["name"]: each for each in levels}
        with_seats = self._configure_levels(levels_by_name)
        dangling, usable = [], []
        for schema in (self._mandatory_schemas | {each.name: each for each in schemas}).values():
            if schema.level in levels_by_name:
                usable.append(schema)
            else:
                dangling.append(schema.name)
        numbers, assigned = {}, {}
        for schema in usable:
            key = schema.name, schema.level
            numbers[key] = self.numbers.get(key) or FlowMetrics(self._bounds)
            level = with_seats.get(schema.level)
            headers = ((self._schema_header, schema.uid), (self._level_header, "" if level is None else level.uid))
            assigned[schema.name] = Assigned(level=level, numbers=numbers[key], headers=headers)
        self.numbers, self._assigned, self._classifier = numbers, assigned, Classifier(usable)
        self._wake_all()
        return dangling

    def adjust(self) -> None:
        """Divide the seats among the levels by their demand since the last time. Call once per `period`."""
        self._limits.adjust(self.levels.values(), self._clock.seconds())
        self._wake_all()

    def _wake_all(self) -> None:
        for level in list(self.levels.values()):
            self._wake(level)

    def _configure_levels(self, levels_by_name: Mapping[str, ObjectView]) -> dict[str, PriorityLevel]:
        """Those of `levels_by_name` that have seats. Divides all seats among them and those that are going."""
        now = self._clock.seconds()
        with_seats: dict[str, PriorityLevel] = {}
        for name, obj in levels_by_name.items():
            if obj["spec"]["type"] == "Limited" or self._limits.exempt:
                level = with_seats[name] = self.levels.get(name) or PriorityLevel(name, now)
                level.configure(obj)
        going = {name: level for name, level in self.levels.items() if name not in with_seats and not level.seats.idle}
        self.levels = going | with_seats
        self._limits.configure(self.capacity.seats, self.levels.values(), now)
        return with_seats

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
        seats = self._estimates.seats(request, info, level.widest)
        numbers.widths.observe(WIDTHS, seats)
        ticket = self._enter(level, numbers, flow, seats)
        if ticket is None or (
            ticket.started is None and not await self._wait_for_seats(level, numbers, ticket, underway.queued[half])
        ):
            underway.rejected[half] += 1
            return too_many(request)
        assert ticket.started is not None
        if not level.seats.exempt:
            numbers.waited.observe(self._bounds, ticket.started - ticket.arrived)
        underway.executing[half].add()
        numbers.dispatched += 1
        numbers.executing += 1
        numbers.seats += ticket.seats
        execution = numbers.watches if info.verb == "watch" else numbers.execution

        def ended() -> None:
            underway.executing[half].remove()
            self._ended(level, numbers, ticket, execution)

        return await until_sent(request, then, ended)

    def _ended(self, level: PriorityLevel, numbers: FlowMetrics, ticket: Ticket, execution: Histogram) -> None:
        assert ticket.started is not None
        now = self._clock.seconds()
        numbers.executing -= 1
        numbers.seats -= ticket.seats
        execution.observe(self._bounds, now - ticket.started)
        level.seats.leave(ticket, now)
        if level.seats.waiting:
            self._wake(level)

    def _enter(self, level: PriorityLevel, numbers: FlowMetrics, flow: str, seats: int) -> Ticket | None:
        """The ticket of a request that may begin or waits; None when it is rejected."""
        try:
            ticket = level.seats.enter(flow, seats, self._clock.seconds())
        except RejectedError as full:
            numbers.reject(full.reason)
            return None
        if ticket.queue is not None:
            numbers.queue_lengths.observe(QUEUE_LENGTHS, len(ticket.queue.waiting))
            # Smaller requests may have waited for a wide one.
            self._wake(level)
        return ticket

    async def _wait_for_seats(
        self, level: PriorityLevel, numbers: FlowMetrics, ticket: Ticket, queued: PeakCount
    ) -> bool:
        """Wait until the request of `ticket` may begin. False after the timeout."""
        late = False

        def expire() -> None:
            nonlocal late
            late = True
            waiting.cancel()

        waiting: Deferred[None] = Deferred()
        self._waiting[ticket] = waiting
        timer = self._clock.callLater(self.capacity.patience, expire)
        numbers.waiting += 1
        numbers.seats_waiting += ticket.seats
        queued.add()
        try:
            await waiting
        except CancelledError:
            del self._waiting[ticket]
            now = self._clock.seconds()
            level.seats.leave(ticket, now)
            numbers.reject("time-out" if late else "cancelled")
            numbers.refused.observe(self._bounds, now - ticket.arrived)
            # Its departure may unblock others.
            self._wake(level)
            if not late:
                raise
            return False
        finally:
            numbers.waiting -= 1
            numbers.seats_waiting -= ticket.seats
            numbers.blocked += ticket.blocked
            queued.remove()
            if timer.active():
                timer.cancel()
        return True

    def _wake(self, level: PriorityLevel) -> None:
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
