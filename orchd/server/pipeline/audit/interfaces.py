"""Where audit events go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zope.interface import Attribute, Interface


class IAuditSink(Interface):
    """A file, or a service. Events are JSON data of kind Event, shared: they are not to be edited."""

    name: str = Attribute("For metrics and messages: log, webhook.")
    lost: int = Attribute("Events lost so far.")
    strict: bool = Attribute("Must a request be refused whose RequestReceived event cannot be taken?")

    async def take(event: Mapping[str, Any]) -> bool:
        """Write or send one event, or put it where that will happen: what of these has been done when this returns is
        the sink's mode. False when the event is lost. Never raises."""

    async def stop() -> None:
        """Bring out what waits, for a bounded time. No event is taken any more."""
