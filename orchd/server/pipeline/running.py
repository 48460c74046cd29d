"""`RunningStreams`: the register of running streams, which ends those whose permission was withdrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, Protocol, TypeVar

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.errors import ApiError
from orchd.server.authz.interfaces import Action, Decision, IAuthorizer
from orchd.txkit.background import Background

#: Seconds between reviews of a stream's permission.
REVIEW_EVERY = 60.0
#: Reviews begun in one turn of the reactor: with an authorizer that reads memory they take some milliseconds.
_AT_ONCE = 50


class Stream(Protocol):
    """A watch, or a connection or response of another server that is passed on."""

    #: What the client must be allowed to do as long as the stream runs.
    permitted: tuple[Action, ...]

    def fail(self, error: ApiError) -> None:
        """End the stream, and say why as far as its protocol can."""


S = TypeVar("S", bound=Stream)


class RunningStreams(Generic[S]):
    """Running streams in the order of their next review.

    Each is authorized again every `REVIEW_EVERY` seconds, all with one timer. A stream that is no longer allowed fails
    with what `refused` makes of the action and the reason. While an authorizer fails, streams continue."""

    def __init__(
        self, clock: IReactorTime, authorizer: IAuthorizer, refused: Callable[[Action, str], ApiError]
    ) -> None:
        self._clock = clock
        self._authorizer = authorizer
        self._refused = refused
        #: Stream -> time of its next review.
        self._due: dict[S, float] = {}
        self._timer: IDelayedCall | None = None
        self._reviews = Background()

    def __len__(self) -> int:
        return len(self._due)

    def __contains__(self, stream: object) -> bool:
        return stream in self._due

    def __iter__(self) -> Iterator[S]:
        return iter(self._due)

    def add(self, stream: S) -> None:
        self._due[stream] = self._clock.seconds() + REVIEW_EVERY
        if self._timer is None:
            self._timer = self._clock.callLater(REVIEW_EVERY, self._review)

    def discard(self, stream: S) -> None:
        self._due.pop(stream, None)
        if not self._due and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _review(self) -> None:
        self._timer = None
        now = self._clock.seconds()
        for _ in range(_AT_ONCE):
            stream = next(iter(self._due), None)
            if stream is None or self._due[stream] > now:
                break
            del self._due[stream]
            self._due[stream] = now + REVIEW_EVERY
            self._reviews.add(self._check(stream), "reviewing the permission of a stream")
        first = next(iter(self._due.values()), None)
        if first is not None and self._timer is None:
            self._timer = self._clock.callLater(max(first - now, 0), self._review)

    async def _check(self, stream: S) -> None:
        for action in stream.permitted:
            verdict = await self._authorizer.authorize(action)
            if verdict.decision is not Decision.ALLOW and not verdict.error:
                stream.fail(self._refused(action, verdict.reason))
                return

    async def stop(self) -> None:
        """Cancel reviews under way."""
        await self._reviews.stop()
