"""The stages of audit: one around everything that an authenticated user asks for, one for those who are nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.internet.interfaces import IReactorTime

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.server.pipeline.audit.interfaces import IAuditSink
from orchd.server.pipeline.audit.policy import COMPLETE, NONE, PANIC, RECEIVED, RESPONSE, STARTED, Policy
from orchd.server.pipeline.audit.record import Record, answer_of, status_of
from orchd.server.pipeline.audit.sinks import GRACE
from orchd.server.pipeline.interfaces import ISink, Next, Request, Response
from orchd.server.pipeline.stages.limits import long_running
from orchd.txkit.background import Background


class AuditTrail:
    """Makes records by `policy` and hands their events to the sinks. `wall` gives seconds since the epoch."""

    def __init__(
        self, dialect: Dialect, policy: Policy, sinks: Sequence[IAuditSink], wall: Callable[[], float], clock: IReactorTime
    ) -> None:
        self._dialect = dialect
        self._policy = policy
        self.sinks = tuple(sinks)
        self._wall = wall
        self._clock = clock
        self._endings = Background()
        #: Events made by level.
        self.made: dict[str, int] = {}
        #: Requests refused because their event could not be taken.
        self.refused = 0

    def record(self, request: Request) -> Record | None:
        """The record of a request, None if the policy does not ask for one."""
        assert request.info is not None
        rule = self._policy.rule(request.user, request.info)
        if rule.level == NONE:
            return None
        return Record(self._dialect, request, rule, request.user, self._wall())

    async def write(self, record: Record, stage: str, status: dict[str, Any] | None = None, answer: Any = None) -> bool:
        """One event to every sink. False when a sink that must have it has not got it."""
        if stage in record.rule.omitted:
            return True
        event = record.event(stage, self._wall(), status, answer)
        self.made[event["level"]] = self.made.get(event["level"], 0) + 1
        well = True
        for sink in self.sinks:
            if not await sink.take(event):
                well = well and not sink.strict
        return well

    def ended(self, record: Record, status: dict[str, Any]) -> None:
        """Write the end of an answer that was a stream. Nobody waits for that."""
        self._endings.add(self.write(record, COMPLETE, status), "the end of a stream in the audit")

    async def stop(self) -> None:
        """Bring out what is under way and what sinks hold back."""
        await self._endings.finish(GRACE, self._clock)
        for sink in self.sinks:
            await sink.stop()


class AuditStage:
    """After authentication. An answer leaves when its events have been taken, as far as the sinks' modes say so."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    async def __call__(self, request: Request, then: Next) -> Response:
        trail = self._trail
        record = trail.record(request)
        if record is None:
            return await then(request)
        request.audited = True
        if not await trail.write(record, RECEIVED):
            trail.refused += 1
            raise errors.internal("failed to store audit event")
        lasting = long_running(request.info)
        try:
            response = await then(request)
        except ApiError as error:
            answer = error.status()
            status = status_of(error.code, answer)
            if lasting:
                await trail.write(record, STARTED, status, answer)
            await trail.write(record, COMPLETE, status, answer)
            raise
        except CancelledError:
            # The client has gone, or time was up: nothing more will be known.
            if lasting:
                await trail.write(record, STARTED, _CLOSED_EARLY)
            await trail.write(record, COMPLETE, _CLOSED_EARLY)
            raise
        except Exception as error:
            await trail.write(record, PANIC, _panic(error))
            raise
        answer = answer_of(response, shown=record.rule.level >= RESPONSE)
        status = status_of(response.code, answer)
        if lasting:
            await trail.write(record, STARTED, status, answer)
        if response.stream is None:
            await trail.write(record, COMPLETE, status, answer)
        else:
            response.stream = _Told(response.stream, lambda: trail.ended(record, status))
        return response


class UnauthenticatedAuditStage:
    """Before authentication: those whom it refuses are written down as well."""

    def __init__(self, trail: AuditTrail) -> None:
        self._trail = trail

    async def __call__(self, request: Request, then: Next) -> Response:
        try:
            return await then(request)
        except ApiError as error:
            if error.code == 401 and request.user is None:
                record = self._trail.record(request)
                if record is not None:
                    answer = error.status()
                    await self._trail.write(record, STARTED, status_of(error.code, answer), answer)
            raise


#: How a request ended whose client did not wait for the answer.
_CLOSED_EARLY = {"metadata": {}, "status": "Success", "message": "Connection closed early", "code": 200}


def _panic(error: Exception) -> dict[str, Any]:
    return {
        "metadata": {}, "status": "Failure", "message": f"APIServer panic'd: {type(error).__name__}",
        "reason": "InternalError", "code": 500,
    }  # fmt: skip


class _Told:
    """A stream that tells once that it is over."""

    def __init__(self, stream: Any, over: Callable[[], None]) -> None:
        self._stream = stream
        self._over: Callable[[], None] | None = over

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def start(self, sink: Any) -> None:
        self._stream.start(_Ended(sink, self._tell))

    def stop(self) -> None:
        self._stream.stop()
        self._tell()

    def _tell(self) -> None:
        over, self._over = self._over, None
        if over is not None:
            over()


class _Ended:
    """A sink that tells when its stream has ended. Everything else is the sink's own."""

    def __init__(self, sink: ISink, tell: Callable[[], None]) -> None:
        self._sink = sink
        self._tell = tell
        #: Without a call in between: the frames of a watch go through here.
        self.write = sink.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sink, name)

    def finish(self) -> None:
        self._sink.finish()
        self._tell()

    def abort(self) -> None:
        self._sink.abort()
        self._tell()
