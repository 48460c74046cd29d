"""The stages of audit: one around everything that an authenticated user asks for, one for those who are nobody."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger

from orchd import errors
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.server.pipeline.audit.policy import COMPLETE, NONE, PANIC, RECEIVED, STARTED, Policy
from orchd.server.pipeline.audit.record import Record, answer_of, status_of
from orchd.server.pipeline.interfaces import ISink, Next, Request, Response

_log = Logger(namespace="orchd.audit")


class Trail:
    """Makes records by `policy` and hands their events to the sinks. `wall` gives seconds since the epoch."""

    def __init__(self, dialect: Dialect, policy: Policy, sinks: Sequence[Any], wall: Callable[[], float]) -> None:
        self._dialect = dialect
        self._policy = policy
        self.sinks = tuple(sinks)
        self._wall = wall
        #: Events made by level, and those lost by sink.
        self.made: dict[str, int] = {}
        self.lost: dict[str, int] = {}
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
                self.lost[sink.name] = self.lost.get(sink.name, 0) + 1
                well = well and not sink.strict
        return well

    async def stop(self) -> None:
        for sink in self.sinks:
            await sink.stop()


class Auditing:
    """After authentication. An answer leaves when its events have been taken, as far as the sinks' modes say so."""

    def __init__(self, trail: Trail) -> None:
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
        try:
            response = await then(request)
        except ApiError as error:
            status = error.status()
            await trail.write(record, COMPLETE, status_of(error.code, status), status)
            raise
        except CancelledError:
            # The client has gone, or time was up: nothing more will be known.
            await trail.write(record, COMPLETE)
            raise
        except Exception as error:
            await trail.write(record, PANIC, _panic(error))
            raise
        if response.stream is None:
            answer = answer_of(response)
            await trail.write(record, COMPLETE, status_of(response.code, answer), answer)
            return response
        status = status_of(response.code)
        await trail.write(record, STARTED, status)
        response.stream = _Told(response.stream, lambda: trail.write(record, COMPLETE, status))
        return response


class AuditingStrangers:
    """Before authentication: those whom it refuses are written down as well."""

    def __init__(self, trail: Trail) -> None:
        self._trail = trail

    async def __call__(self, request: Request, then: Next) -> Response:
        try:
            return await then(request)
        except ApiError as error:
            if error.code == 401 and request.user is None:
                record = self._trail.record(request)
                if record is not None:
                    await self._trail.write(record, STARTED, _stranger(request))
            raise


def _stranger(request: Request) -> dict[str, Any]:
    method = request.header("authorization").partition(" ")[0].lower()
    said = f", attempted: {method}" if method in ("basic", "bearer") else ""
    return {
        "metadata": {}, "status": "Failure", "message": f"Authentication failed{said}", "reason": "Unauthorized",
        "code": 401,
    }  # fmt: skip


def _panic(error: Exception) -> dict[str, Any]:
    return {
        "metadata": {}, "status": "Failure", "message": f"APIServer panic'd: {type(error).__name__}",
        "reason": "InternalError", "code": 500,
    }  # fmt: skip


class _Told:
    """A stream that tells once that it is over."""

    def __init__(self, stream: Any, over: Callable[[], Any]) -> None:
        self._stream = stream
        self._over: Callable[[], Any] | None = over

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
            writing = Deferred.fromCoroutine(over())
            writing.addErrback(lambda failure: _log.failure("the end of a stream was not recorded", failure=failure))


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
