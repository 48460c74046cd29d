"""Failures of a client that no server answered with."""

from __future__ import annotations

from orchd.errors import ApiError


class UnreachableError(ApiError):
    """The server could not be reached, or the connection broke before it had answered: whether a write was done is
    unknown. Shaped as 503, so that callers may treat it as any other refusal."""

    def __init__(self, server: str, why: str) -> None:
        super().__init__(503, "ServiceUnavailable", f"cannot reach {server}: {why}")


class NoAnswerError(ApiError):
    """The server did not answer in time."""

    def __init__(self, server: str, seconds: float) -> None:
        super().__init__(504, "Timeout", f"no answer from {server} within {seconds:g} s")
