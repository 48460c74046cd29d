"""`Logger`: Twisted's, with the request that a line belongs to, and debug lines by namespace (-v, --vmodule)."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from twisted.logger import LogLevel

from twisted import logger

#: Verbosity from which debug lines are logged.
DEBUG: Final = 4
#: The audit id of the request that is being handled; "" outside of requests.
current_request: ContextVar[str] = ContextVar("current_request", default="")


class _Process:
    """The verbosity of this process, like the log itself shared by everything in it."""

    verbosity_of: Callable[[str], int] = staticmethod(lambda namespace: 0)


def set_verbosity(verbosity_of: Callable[[str], int]) -> None:
    """Set the verbosity of this process, a function of the namespace of a logger."""
    _Process.verbosity_of = staticmethod(verbosity_of)


class Logger(logger.Logger):
    """Adds the key ``request`` to the events of a request, and the id to their text; drops debug events below
    `DEBUG`."""

    def emit(self, level: Any, format: str | None = None, **kwargs: object) -> None:
        if level is LogLevel.debug and _Process.verbosity_of(self.namespace) < DEBUG:
            return
        request = current_request.get()
        if request:
            kwargs["request"] = request
            kwargs["log_system"] = f"{self.namespace}#{level.name} request={request}"
        super().emit(level, format, **kwargs)
