"""The outermost stage: converts every exception to a response, exactly once (docs/decisions.md 9)."""

from __future__ import annotations

import uuid
from collections.abc import Callable

from twisted.internet.defer import CancelledError, FirstError

from orchd import errors
from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.txkit.fair_lock import TooManyWaitingError
from orchd.txkit.log import Logger

#: Makes the response of an error, in a format that the request accepts.
Render = Callable[[Request, ApiError], Response]


class Failure:
    """ApiError becomes its Status; any other exception a 500 with an id that is also logged."""

    log = Logger()

    def __init__(self, render: Render) -> None:
        self._render = render

    async def __call__(self, request: Request, then: Next) -> Response:
        try:
            if request.parse_error is not None:
                raise request.parse_error
            return await then(request)
        except ApiError as error:
            response = self._render(request, error)
            _drop_tracebacks(error)
            return response
        except CancelledError:
            raise
        except TooManyWaitingError:
            return self._render(
                request, errors.too_many_requests("too many large requests of this user wait, please try again later")
            )
        except FirstError as wrapped:
            inner = wrapped.subFailure.value
            if isinstance(inner, ApiError):
                return self._render(request, inner)
            if isinstance(inner, CancelledError):
                raise inner from None
            return self._bug(request)
        except Exception:  # an unexpected exception must produce a response, not a lost connection
            return self._bug(request)

    def _bug(self, request: Request) -> Response:
        request.trace.terminated = True
        incident = uuid.uuid4().hex[:12]
        self.log.failure(
            "incident {incident}: {method} {path} failed",
            incident=incident,
            method=request.method,
            path=errors.quoted(request.raw_path),
        )
        text = f"this request has failed, see the server's log for incident {incident}"
        return self._render(request, errors.internal(text))


def _drop_tracebacks(error: BaseException | None) -> None:
    """Drop the tracebacks of a handled exception and of those that it was raised from.

    Their frames hold the request's objects, and a frame that has an exception in a local variable is in a cycle with
    it: a large object would stay until a full collection, up to an hour later."""
    while error is not None and error.__traceback__ is not None:
        error.__traceback__ = None
        error = error.__cause__ or error.__context__
