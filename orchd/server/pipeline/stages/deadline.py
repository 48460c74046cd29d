"""Request timeouts and client disconnects.

Reads are cancelled. Writes continue without the client, so that each is either stored or not, and values allocated from
a range are not released during the write; the stage waits for them on stop.
"""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from orchd import errors
from orchd.errors import ApiError
from orchd.kinds.gotext.durations import DurationError, parse_seconds
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.pipeline.stages.limits import long_running, mutating
from orchd.txkit.coroutines import enter
from orchd.txkit.log import Logger
from orchd.txkit.metrics.instruments import Counter

#: Where a request is timed out, as a label value.
_SOURCE = "timeout-handler"
_LATE = "Timeout: request did not complete within the allotted timeout"


class Deadline:
    """`seconds` is --request-timeout; a request's own ``timeout`` parameter may shorten it."""

    log = Logger()

    def __init__(self, clock: IReactorTime, seconds: float) -> None:
        self._clock = clock
        self._seconds = seconds
        self._after_timeout = Counter(
            "apiserver_request_post_timeout_total",
            "Requests whose handler ended after the response to their timeout, by result.",
            ("source", "status"),
        )
        for status in ("ok", "error"):
            self._after_timeout.add(_SOURCE, status, by=0.0)
        self.instruments = (self._after_timeout,)
        #: Writes that continue after their clients disconnected.
        self.detached: set[Deferred[Any]] = set()

    async def __call__(self, request: Request, then: Next) -> Response:
        if long_running(request.info):
            return await then(request)
        seconds = self._timeout(request)
        #: The response or failure, if `then` ends without suspending.
        outcome: list[Any] = []
        waiting: list[Deferred[Response]] = []

        def done(response: Response) -> None:
            if not waiting:
                outcome.append(response)
            elif not waiting[0].called:
                waiting[0].callback(response)

        def failed(failure: Failure) -> None:
            if not waiting:
                outcome.append(failure.value)
            elif not waiting[0].called:
                waiting[0].errback(failure)
            else:
                if not failure.check(ApiError, CancelledError):
                    # There is no client to report to.
                    self.log.failure(
                        "{method} {path} continued after the client disconnected, and failed",
                        failure,
                        method=request.method,
                        path=errors.quoted(request.raw_path),
                    )
                # Its frames refer to the failure: they would keep the request and its body until a collection.
                failure.cleanFailure()

        # Next gives an Awaitable, always a coroutine here.
        rest = enter(then(request), done, failed)  # type: ignore[arg-type]
        if rest is None:
            result: Response | BaseException = outcome.pop()
            if not isinstance(result, BaseException):
                return result
            try:
                raise result
            finally:
                # The traceback refers to this frame: a reference back would keep the request's objects until a
                # collection.
                del result
        return await self._wait(request, rest, waiting, seconds)

    def _timeout(self, request: Request) -> float:
        """Timeout of this request in seconds. Raises ApiError 400."""
        text = request.param("timeout")
        if not text:
            return self._seconds
        try:
            asked = parse_seconds(text)
        except DurationError as error:
            raise errors.bad_request(f"invalid timeout specified in the request URL - {error}") from None
        return asked if 0 < asked < self._seconds else self._seconds

    async def _wait(
        self, request: Request, rest: Deferred[Any], waiting: list[Deferred[Response]], seconds: float
    ) -> Response:
        late = False

        def leave(_: Deferred[Response]) -> None:
            if mutating(request.info):
                self.detached.add(rest)
                rest.addBoth(self._attached, rest, late)
            else:
                rest.cancel()

        response: Deferred[Response] = Deferred(leave)
        waiting.append(response)

        def expire() -> None:
            nonlocal late
            late = True
            response.cancel()

        timer = self._clock.callLater(seconds, expire)
        try:
            return await response
        except CancelledError:
            if late:
                request.trace.terminated = True
                raise errors.timeout(_LATE) from None
            raise
        finally:
            if timer.active():
                timer.cancel()

    def _attached(self, result: object, rest: Deferred[Any], late: bool) -> object:
        self.detached.discard(rest)
        if late:
            self._after_timeout.add(_SOURCE, "error" if isinstance(result, Failure) else "ok")
        return result

    async def drained(self) -> None:
        """Wait until every write without a client has ended."""
        while self.detached:
            await self._ends(next(iter(self.detached)))

    def _ends(self, rest: Deferred[Any]) -> Deferred[None]:
        ended: Deferred[None] = Deferred()

        def tell(result: object) -> object:
            ended.callback(None)
            return result

        rest.addBoth(tell)
        return ended
