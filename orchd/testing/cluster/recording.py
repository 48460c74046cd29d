"""`RequestLog`: a stage that records the requests of clients for tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import Next, Request, Response

#: Maximum number of recorded requests; the oldest are dropped first.
MOST_REQUESTS = 10_000


class RequestLog:
    """Records requests over the network in the order of their responses; requests of components inside the server are
    not recorded. `wall` gives the times of `entries`, which have the members of `orchd.testing.RecordedRequest`."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self._wall = wall
        self.entries: deque[dict[str, Any]] = deque(maxlen=MOST_REQUESTS)

    async def __call__(self, request: Request, then: Next) -> Response:
        if is_internal(request):
            return await then(request)
        began = self._wall()
        code = 0
        try:
            response = await then(request)
            code = response.code
            return response
        except ApiError as error:
            code = error.code
            raise
        finally:
            self.entries.append(_entry(request, began, code))

    def take(self, *, clear: bool) -> list[dict[str, Any]]:
        """The recorded requests; with `clear`, the log is emptied."""
        taken = list(self.entries)
        if clear:
            self.entries.clear()
        return taken


def is_internal(request: Request) -> bool:
    """True for a request of the server's own components, whose user is known before authentication."""
    return request.user is not None


def _entry(request: Request, began: float, code: int) -> dict[str, Any]:
    info, user = request.info, request.user
    assert info is not None
    return {
        "time": began,
        "code": code,
        "method": request.method,
        "path": request.path,
        "query": {name: list(request.query.all(name)) for name in request.query},
        "verb": info.verb,
        "group": info.group,
        "version": info.version,
        "resource": info.resource,
        "subresource": info.subresource,
        "namespace": info.namespace,
        "name": info.name,
        "user": "" if user is None else user.name,
        "groups": [] if user is None else list(user.groups),
        "agent": request.header("user-agent"),
    }
