"""Events about objects."""

from __future__ import annotations

from orchd.ctl.cluster.api import Api
from orchd.kinds.jsonvalues import Object


async def events_of(api: Api, obj: Object) -> list[Object]:
    """Events about an object, oldest first."""
    metadata = obj["metadata"]
    resource = await api.discovery.find("events")
    namespace = metadata.get("namespace") or ""
    found: list[Object] = []
    # Agents name their nodes instead of the UID.
    for uid in (metadata.get("uid", ""), metadata["name"])[: 2 if obj.get("kind") == "Node" else 1]:
        fields = f"involvedObject.name={metadata['name']},involvedObject.uid={uid}"
        query = {"fieldSelector": fields}
        listed = await api.list(resource, everywhere=not namespace, namespace=namespace, query=query)
        found += listed.get("items") or ()
    return sorted(found, key=event_time)


def event_time(event: Object) -> str:
    """Time of an Event's last occurrence, as text that sorts by time."""
    series = event.get("series") or {}
    last = series.get("lastObservedTime") or event.get("lastTimestamp") or event.get("eventTime")
    return str(last or event["metadata"].get("creationTimestamp") or "")
