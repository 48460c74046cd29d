"""Audit stages: one for authenticated requests, one for requests that fail authentication."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.server.pipeline.audit.metrics import AuditMetrics
from orchd.server.pipeline.audit.policy import COMPLETE, NONE, PANIC, RECEIVED, RESPONSE, STARTED
from orchd.server.pipeline.audit.record import STATUS_MEMBERS, Record, recorded_response, status_of
from orchd.server.pipeline.audit.sinks import GRACE
from orchd.server.pipeline.audit.tail import IRules
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.pipeline.observed_stream import ObservedStream
from orchd.server.pipeline.stages.limits import long_running
from orchd.txkit.background import Background


class AuditTrail:
    """Creates records by `policy` and sends their events to the sinks. `wall` returns epoch seconds."""

    def __init__(
        self,
        dialect: Dialect,
        policy: IRules,
        sinks: Sequence[IAuditSink],
        wall: Callable[[], float],
        clock: IReactorTime,
        *,
        status_members: Sequence[str] = STATUS_MEMBERS,
    ) -> None:
        """`status_members` are the members of a Status that events repeat."""
        self._status_members = status_members
        self._dialect = dialect
        self._policy = policy
        self.sinks = tuple(sinks)
        self._wall = wall
        self._clock = clock
        self._endings = Background()
        self.metrics = AuditMetrics(self.sinks)

    def status(self, code: int, response: Any = None) -> dict[str, Any]:
        """The responseStatus of a response with this body."""
        return status_of(code, response, self._status_members)

    def record(self, request: Request) -> Record | None:
        """The record of a request, None if the policy does not record it."""
        assert request.info is not None
        rule = self._policy.rule(request.user, request.info)
        if rule.level == NONE:
            return None
        return Record(self._dialect, request, rule, request.user, self._wall())

    async def write(
        self, record: Record, stage: str, status: dict[str, Any] | None = None, response: Any = None
    ) -> bool:
        """Send one event to every sink. False when a blocking-strict sink failed."""
        if stage in record.rule.omitted:
            return True
        event = record.event(stage, self._wall(), status, response)
        self.metrics.events.add(event["level"])
        well = True
        for sink in self.sinks:
            if not await sink.take(event):
                well = well and not sink.strict
        return well

    def record_end(self, record: Record, status: dict[str, Any]) -> None:
        """Record the end of a streamed response, in the background."""
        self._endings.add(self.write(record, COMPLETE, status), "the end of a stream in the audit")

    async def stop(self) -> None:
        """Finish background events and stop the sinks."""
        await self._endings.finish(GRACE, self._clock)
        for sink in self.sinks:
            await sink.stop()


class AuditStage:
    """Runs after authentication. A response is sent after its events were recorded, as far as the sinks' modes
    require."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    def __call__(self, request: Request, then: Next) -> Awaitable[Response]:
        record = self._trail.record(request)
        return then(request) if record is None else self._record(record, request, then)

    async def _record(self, record: Record, request: Request, then: Next) -> Response:
        trail = self._trail
        request.trace.audited = True
        if not await trail.write(record, RECEIVED):
            trail.metrics.rejected.add()
            raise errors.internal("failed to store audit event")
        lasting = long_running(request.info)
        try:
            response = await then(request)
        except ApiError as error:
            recorded = error.status()
            status = self._trail.status(error.code, recorded)
            if lasting:
                await trail.write(record, STARTED, status, recorded)
            await trail.write(record, COMPLETE, status, recorded)
            raise
        except CancelledError:
            # The client disconnected or the request timed out: the outcome is unknown.
            if lasting:
                await trail.write(record, STARTED, _CLOSED_EARLY)
            await trail.write(record, COMPLETE, _CLOSED_EARLY)
            raise
        except Exception as error:
            await trail.write(record, PANIC, _panic(error))
            raise
        recorded = recorded_response(response, with_body=record.rule.level >= RESPONSE)
        status = self._trail.status(response.code, recorded)
        if lasting:
            await trail.write(record, STARTED, status, recorded)
        if response.stream is None:
            await trail.write(record, COMPLETE, status, recorded)
        else:
            response.stream = ObservedStream(response.stream, lambda: trail.record_end(record, status))
        return response


class UnauthenticatedAuditStage:
    """Runs around authentication: also records rejected requests."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    async def __call__(self, request: Request, then: Next) -> Response:
        try:
            return await then(request)
        except ApiError as error:
            if error.code == 401 and request.user is None:
                record = self._trail.record(request)
                if record is not None:
                    response = error.status()
                    await self._trail.write(record, STARTED, self._trail.status(error.code, response), response)
            raise


#: Status of a request whose client did not wait for the response.
_CLOSED_EARLY = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}


def _panic(error: Exception) -> dict[str, Any]:
    return {
        "metadata": {}, "status": "Failure", "message": f"APIServer panic'd: {type(error).__name__}",
        "reason": "InternalError", "code": 500,
    }  # fmt: skip
