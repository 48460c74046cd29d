"""Audit webhook backend: sends events as lists (kind EventList)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from random import Random
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.dialect import Dialect
from orchd.txkit.log import Logger

_log = Logger(namespace="orchd.audit")

#: Maximum attempts per list, and growth factor of the pauses between them.
_TRIES, _FACTOR, _JITTER = 5, 1.5, 0.2


class AgainError(Exception):
    """A transient failure, which is retried."""


class Remote:
    """Sends by `post`, which raises AgainError for transient failures and other exceptions for permanent ones. The
    first pause is `backoff` seconds. `version` is the apiVersion of lists, "" for v1."""

    def __init__(
        self,
        dialect: Dialect,
        post: Callable[[Mapping[str, Any]], Awaitable[None]],
        *,
        backoff: float,
        clock: IReactorTime,
        random: Random,
        version: str = "",
    ) -> None:
        self._version = version or dialect("audit.{abbr}.io/v1")
        self._post = post
        self._backoff = backoff
        self._clock = clock
        self._random = random

    async def send(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Raises the last failure."""
        items = [{name: value for name, value in e.items() if name not in ("kind", "apiVersion")} for e in events]
        document = {"kind": "EventList", "apiVersion": self._version, "metadata": {}, "items": items}
        pause = self._backoff
        for _ in range(_TRIES - 1):
            try:
                await self._post(document)
                return
            except AgainError as error:
                _log.warn("sending audit events failed and will be retried: {error}", error=error)
            await deferLater(self._clock, pause * (1 + _JITTER * self._random.random()))
            pause *= _FACTOR
        await self._post(document)
