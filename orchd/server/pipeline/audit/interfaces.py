"""Contract of audit sinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import Attribute, Interface


class IAuditSink(Interface):
    """A file or a webhook. Events are JSON data of kind Event, shared: they must not be mutated."""

    name: str = Attribute("For metrics and messages: log, webhook.")
    lost: int = Attribute("Events lost so far.")
    strict: bool = Attribute("True if a request is rejected when its RequestReceived event cannot be accepted.")

    async def take(event: Mapping[str, Any]) -> bool:
        """Write, send or queue one event, depending on the sink's mode. False when the event is lost. Never raises."""

    async def stop() -> None:
        """Flush pending events within a bounded time, then stop. Later events are rejected."""
