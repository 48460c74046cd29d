"""The environment of one process: reactor, clocks, randomness, threads and dialect; of a server, its settings as
well."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

from twisted.internet.threads import deferToThreadPool

from orchd.config.settings import Settings
from orchd.dialect import Dialect
from orchd.kinds.objects.settings import ObjectSettings

#: Path of the endpoint that explains pod placement, on the server and on a scheduler in its own process.
EXPLAIN = "/debug/scheduler/explain"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRuntime:
    """`reactor` is any Twisted reactor; its `seconds` is the monotonic clock, `wall` returns epoch seconds."""

    dialect: Dialect
    reactor: Any
    wall: Callable[[], float]
    random: Random

    async def in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run a pure function in the reactor's thread pool."""
        return await deferToThreadPool(self.reactor, self.reactor.getThreadPool(), function, *arguments)


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime(ProcessRuntime):
    """The environment of an API server."""

    settings: Settings
    objects: ObjectSettings
