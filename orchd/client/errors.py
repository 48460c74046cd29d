"""Client errors without a response of the server."""

from __future__ import annotations

from orchd.errors import ApiError


class UnreachableError(ApiError):
    """The server is unreachable, or the connection was lost before the response. A write may or may not have been
    applied.

    Has code 503, so that callers can treat it like a response of the server.
    """

    def __init__(self, server: str, why: str) -> None:
        super().__init__(503, "ServiceUnavailable", f"cannot reach {server}: {why}")


class NoResponseError(ApiError):
    """The server did not respond within the timeout."""

    def __init__(self, server: str, seconds: float) -> None:
        super().__init__(504, "Timeout", f"no response from {server} within {seconds:g} s")
