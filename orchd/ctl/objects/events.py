"""Events about objects."""

from __future__ import annotations

from orchd.ctl.cluster.api import Api
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.tabulate.ages import Ages


async def events_of(api: Api, obj: Object) -> list[Object]:
    """Events about an object, oldest first."""
    metadata = obj["metadata"]
    resource = await api.discovery.find("events")
    namespace = metadata.get("namespace") or ""
    events: list[Object] = []
    # Agents name their nodes instead of the UID.
    for uid in (metadata.get("uid", ""), metadata["name"])[: 2 if obj.get("kind") == "Node" else 1]:
        fields = f"involvedObject.name={metadata['name']},involvedObject.uid={uid}"
        query = {"fieldSelector": fields}
        listed = await api.list(resource, everywhere=not namespace, namespace=namespace, query=query)
        events += listed.get("items") or ()
    return sorted(events, key=event_time)


def event_time(event: Object) -> str:
    """Time of an Event's last occurrence, as text that sorts by time."""
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last or event["metadata"].get("creationTimestamp") or "")


def last_seen(event: Object, age: Ages) -> str:
    """The age of an Event; of one that has recurred also how often it has, and since when: ``2m (x3 over 5m)``."""
    since = age(event.get("eventTime") or event.get("firstTimestamp") or event_time(event))
    series = event.get("series") or {}
    count = series.get("count", 0) if series else event.get("count") or 1
    if not series and count < 2:
        return since
    return f"{age(series.get('lastObservedTime') or event_time(event))} (x{count} over {since})"
