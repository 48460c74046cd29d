"""Audit events in an older version of their API, which differs by fields for times without fractions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]
Send = Callable[[Sequence[Event]], Awaitable[None]]


def in_version(send: Send, version: str) -> Send:
    """`send` for events that become those of `version`, an apiVersion (v1 or v1beta1 of the audit group)."""
    if version.endswith("/v1"):
        return send

    async def converted(events: Sequence[Event]) -> None:
        await send([_older(event, version) for event in events])

    return converted


def _older(event: Event, version: str) -> Event:
    created, received = (_whole(event.get(name, "")) for name in ("stageTimestamp", "requestReceivedTimestamp"))
    return {**event, "apiVersion": version, "metadata": {"creationTimestamp": created}, "timestamp": received}


def _whole(moment: str) -> str | None:
    """A time without its fraction of a second."""
    return f"{moment.partition('.')[0].removesuffix('Z')}Z" if moment else None
