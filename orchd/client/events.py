"""Recorders of Events in core/v1 and events.{abbr}.io. Recording does not block and does not raise."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import partial
from random import Random
from typing import Any

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import LoopingCall
from zope.interface import implementer

from orchd.client.event_correlation import Correlator
from orchd.client.event_series import FINISH_SECONDS, REFRESH_SECONDS, Serial, SeriesCache
from orchd.client.event_writer import EventCounts, EventWriter, Write
from orchd.client.interfaces import IClient, IEventRecorder, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import microtime, timestamp
from orchd.txkit.metrics.instruments import Instrument, ObservedGauge

EVENTS = ResourceRef("", "v1", "events")
#: Time limit for writing queued events at stop, in seconds.
_FLUSH_SECONDS = 2.0
#: Maximum length of a note in events.{abbr}.io in bytes, and the end of a truncated note.
_LONGEST_NOTE, _CUT = 1024, " ..."


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
        "fieldPath": obj.get("fieldPath"),
    }
    return {name: value for name, value in fields.items() if value}


class EventBroadcaster:
    """Creates recorders and writes their Events in the background. `wall` is seconds since the epoch; `host` is the
    host name for reportingInstance."""

    def __init__(
        self,
        client: IClient,
        wall: Callable[[], float],
        *,
        clock: IReactorTime,
        random: Random,
        dialect: Dialect,
        host: str = "",
    ) -> None:
        self._wall = wall
        self._clock = clock
        self._host = host
        self._group = ResourceRef(dialect("events.{abbr}.io"), "v1", "events")
        self._writer = EventWriter(client, clock, random)
        self._correlator = Correlator(wall)
        self._series = SeriesCache()
        self._timers: list[LoopingCall] = []
        self._last_stamp = 0

    @property
    def counts(self) -> EventCounts:
        """Events so far, by outcome."""
        return self._writer.counts

    @property
    def group_version(self) -> str:
        """apiVersion of Events in the events group."""
        return f"{self._group.group}/{self._group.version}"

    def recorder(self, component: str) -> IEventRecorder:
        """A recorder of core/v1 Events whose source is `component`."""
        recorder: IEventRecorder = Recorder(self, component)
        return recorder

    def series_recorder(self, controller: str) -> IEventRecorder:
        """A recorder of events.{abbr}.io Events reported by `controller`. The API rejects such Events without an
        action."""
        self._start_timers()
        instance = f"{controller}-{self._host}" if self._host else controller
        recorder: IEventRecorder = SeriesRecorder(self, controller, instance)
        return recorder

    async def stop(self) -> None:
        """Accept no more events and write the queued ones, within a few seconds."""
        for timer in self._timers:
            timer.stop()
        self._timers.clear()
        await self._writer.stop(_FLUSH_SECONDS)

    # -- for recorders

    def metadata(self, reference: Object) -> tuple[dict[str, str], float]:
        """Name (unique), namespace and time of a new Event about an object."""
        now = self._wall()
        self._last_stamp = max(self._last_stamp + 1, int(now * 1e9))
        name = f"{reference.get('name', '')}.{self._last_stamp:x}"
        return {"name": name, "namespace": reference.get("namespace") or "default"}, now

    def submit(self, event: Object) -> None:
        """Record a core/v1 event."""

        def decide() -> Write | None:
            correlated = self._correlator.correlate(event)
            if correlated is None:
                self.counts.filtered += 1
                return None
            return Write(EVENTS, correlated.event, correlated.patch)

        self._writer.submit(_about(event["involvedObject"]), decide)

    def submit_serial(self, event: Object) -> None:
        """Record an event of the events group."""

        def decide() -> Write | None:
            serial = self._series.observe(event, self._wall())
            return None if serial is None else self._serial(serial)

        self._writer.submit(_about(event["regarding"]), decide)

    # -- series

    def _serial(self, serial: Serial) -> Write:
        return Write(self._group, serial.event, serial.patch, lost=lambda: self._series.forget(serial.key))

    def _start_timers(self) -> None:
        if self._timers:
            return
        for work, seconds in ((self._finish, FINISH_SECONDS), (self._refresh, REFRESH_SECONDS)):
            timer = LoopingCall(work)
            timer.clock = self._clock
            timer.start(seconds, now=False)
            self._timers.append(timer)

    def _finish(self) -> None:
        for serial in self._series.finish(self._wall()):
            self._writer.submit(_about(serial.event["regarding"]), partial(self._serial, serial))

    def _refresh(self) -> None:
        for serial in self._series.refresh():
            self._writer.submit(_about(serial.event["regarding"]), partial(self._serial, serial))


def _about(reference: Object) -> str:
    return "/".join(str(reference.get(name, "")) for name in ("kind", "namespace", "name", "uid"))


@implementer(IEventRecorder)
class Recorder:
    """See `EventBroadcaster.recorder`."""

    def __init__(self, broadcaster: EventBroadcaster, component: str) -> None:
        self._broadcaster = broadcaster
        self._component = component

    def event(
        self, regarding: Object, type: str, reason: str, note: str, *, action: str = "", related: Object | None = None
    ) -> None:
        reference = object_reference(regarding)
        metadata, now = self._broadcaster.metadata(reference)
        stamp = timestamp(now)
        self._broadcaster.submit(
            {
                "apiVersion": "v1",
                "kind": "Event",
                "metadata": metadata,
                "involvedObject": reference,
                "reason": reason,
                "message": note,
                "source": {"component": self._component},
                "firstTimestamp": stamp,
                "lastTimestamp": stamp,
                "count": 1,
                "type": type,
            }
        )


@implementer(IEventRecorder)
class SeriesRecorder:
    """See `EventBroadcaster.series_recorder`."""

    def __init__(self, broadcaster: EventBroadcaster, controller: str, instance: str) -> None:
        self._broadcaster = broadcaster
        self._controller = controller
        self._instance = instance

    def event(
        self, regarding: Object, type: str, reason: str, note: str, *, action: str = "", related: Object | None = None
    ) -> None:
        reference = object_reference(regarding)
        metadata, now = self._broadcaster.metadata(reference)
        event: Object = {
            "apiVersion": self._broadcaster.group_version,
            "kind": "Event",
            "metadata": metadata,
            "eventTime": microtime(now),
            "reportingController": self._controller,
            "reportingInstance": self._instance,
            "action": action,
            "reason": reason,
            "regarding": reference,
            "note": _fit(note),
            "type": type,
        }
        if related is not None:
            event["related"] = object_reference(related)
        self._broadcaster.submit_serial(event)


def _fit(note: str) -> str:
    """The note, truncated to the maximum length in events.{abbr}.io."""
    encoded = note.encode("utf-8", "replace")
    if len(encoded) <= _LONGEST_NOTE:
        return note
    return encoded[: _LONGEST_NOTE - len(_CUT)].decode("utf-8", "ignore") + _CUT


def event_instrument(broadcasters: Mapping[str, EventBroadcaster]) -> Instrument:
    """Outcomes of Events recorded by components, by component name."""
    return ObservedGauge(
        "orchd_recorded_events",
        "Events that a component recorded, by result.",
        lambda: {
            (component, field.name): float(getattr(broadcaster.counts, field.name))
            for component, broadcaster in broadcasters.items()
            for field in fields(EventCounts)
        },
        ("component", "outcome"),
    )
