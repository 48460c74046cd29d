"""Statuses of calls ("Status codes and their use in gRPC")."""

from __future__ import annotations

from typing import Final

OK: Final = 0
CANCELLED: Final = 1
UNKNOWN: Final = 2
INVALID_ARGUMENT: Final = 3
DEADLINE_EXCEEDED: Final = 4
NOT_FOUND: Final = 5
RESOURCE_EXHAUSTED: Final = 8
FAILED_PRECONDITION: Final = 9
OUT_OF_RANGE: Final = 11
UNIMPLEMENTED: Final = 12
INTERNAL: Final = 13
UNAVAILABLE: Final = 14


class StatusError(Exception):
    """A call ends with a status other than OK; the message is for the client."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
