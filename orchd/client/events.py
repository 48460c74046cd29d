"""Recording of Events: components queue them, one background task writes them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from twisted.internet.defer import CancelledError
from twisted.logger import Logger
from zope.interface import implementer

from orchd.client.interfaces import IClient, IEventRecorder, Object, ResourceRef
from orchd.errors import ApiError
from orchd.txkit.background import Background

EVENTS = ResourceRef("", "v1", "events")

#: Maximum number of queued events; further ones are dropped and counted.
QUEUE_LIMIT = 1000


def object_reference(obj: Object) -> dict[str, Any]:
    """The ObjectReference of an object, for an Event."""
    metadata = obj.get("metadata") or obj
    fields = {
        "apiVersion": obj.get("apiVersion"),
        "kind": obj.get("kind"),
        "namespace": metadata.get("namespace"),
        "name": metadata.get("name"),
        "uid": metadata.get("uid"),
        "resourceVersion": metadata.get("resourceVersion"),
    }
    return {name: value for name, value in fields.items() if value}


class EventBroadcaster:
    """Owns the queue of events and the task that writes them. `wall` returns seconds since the epoch."""

    log = Logger()

    def __init__(self, client: IClient, wall: Callable[[], float]) -> None:
        self._client = client
        self._wall = wall
        self._queue: deque[Object] = deque()
        self._background = Background()
        self._writing = False
        self.dropped = 0

    def recorder(self, component: str) -> IEventRecorder:
        """A recorder whose events have `component` as their source."""
        made: IEventRecorder = Recorder(self, component, self._wall)
        return made

    def submit(self, event: Object) -> None:
        """Queue an Event object. Dropped and counted if the queue is full."""
        if len(self._queue) >= QUEUE_LIMIT:
            self.dropped += 1
            return
        self._queue.append(event)
        if not self._writing:
            self._writing = True
            self._background.add(self._write(), "event recorder")

    async def stop(self) -> None:
        """Stop writing. Queued events are dropped."""
        await self._background.stop()

    async def _write(self) -> None:
        try:
            while self._queue:
                event = self._queue.popleft()
                try:
                    await self._client.create(EVENTS, event["metadata"]["namespace"], event)
                except CancelledError:
                    raise
                except ApiError as error:
                    self.dropped += 1
                    self.log.debug("event {name} was rejected: {error}", name=event["metadata"]["name"], error=error.message)
                except Exception:  # events are best effort: a bug here must not end recording
                    self.dropped += 1
                    self.log.failure("recording an event failed")
        finally:
            self._writing = False


@implementer(IEventRecorder)
class Recorder:
    """See `EventBroadcaster.recorder`."""

    def __init__(self, broadcaster: EventBroadcaster, component: str, wall: Callable[[], float]) -> None:
        self._broadcaster = broadcaster
        self._component = component
        self._wall = wall

    def event(
        self, regarding: Object, type: str, reason: str, note: str, *, action: str = "", related: Object | None = None
    ) -> None:
        now = self._wall()
        reference = object_reference(regarding)
        namespace = reference.get("namespace") or "default"
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now))
        event: Object = {
            "metadata": {"name": f"{reference.get('name', '')}.{int(now * 1e9):x}", "namespace": namespace},
            "involvedObject": reference,
            "reason": reason,
            "message": note,
            "source": {"component": self._component},
            "firstTimestamp": stamp,
            "lastTimestamp": stamp,
            "count": 1,
            "type": type,
        }
        if action:
            event["action"] = action
        if related is not None:
            event["related"] = object_reference(related)
        self._broadcaster.submit(event)
