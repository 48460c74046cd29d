"""Events about objects."""

from __future__ import annotations

from orchd.ctl.cluster.api import Api
from orchd.kinds.jsonvalues import Object


async def events_of(api: Api, obj: Object) -> list[Object]:
    """Events about an object, oldest first."""
    metadata = obj["metadata"]
    fields = f"involvedObject.name={metadata['name']},involvedObject.uid={metadata.get('uid', '')}"
    resource = await api.discovery.find("events")
    namespace = metadata.get("namespace") or "default"
    scoped = Api(api.client, api.clock, namespace, api.warn)
    scoped.discovery = api.discovery
    listed = await scoped.list(resource, query={"fieldSelector": fields})
    return sorted(listed.get("items") or (), key=event_time)


def event_time(event: Object) -> str:
    """Time of an Event's last occurrence, as text that sorts by time."""
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last or event["metadata"].get("creationTimestamp") or "")
