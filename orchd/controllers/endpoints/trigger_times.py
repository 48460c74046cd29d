"""When the changes of a service and its pods happened that its endpoints follow."""

from __future__ import annotations

from collections.abc import Mapping

from orchd.controllers.base import Key
from orchd.controllers.objects import condition
from orchd.kinds.fields import status
from orchd.kinds.jsonvalues import Object


class TriggerTimes:
    """The trigger times of services and their pods at the last sync. A service is triggered by its creation, a pod by
    the last transition of its Ready condition. Times of the API, all in UTC and in seconds, are ordered as texts."""

    def __init__(self) -> None:
        self._last: dict[Key, tuple[str, Mapping[str, str]]] = {}

    def advance(self, key: Key, service: Object, times: Mapping[str, str]) -> str:
        """The earliest trigger time that is later than at the last sync, "" for none. At the first sync, the creation
        of the service. `times` has those of its pods by name."""
        created = str(service["metadata"].get("creationTimestamp") or "")
        latest = self._last.get(key)
        self._last[key] = created, times
        if latest is None:
            return created
        last_created, last = latest
        changed = [time for pod, time in times.items() if time > last.get(pod, "")]
        if created > last_created:
            changed.append(created)
        return min(changed, default="")

    def forget(self, key: Key) -> None:
        """Forget a deleted service."""
        self._last.pop(key, None)


def transition(pod: Object) -> str:
    """The trigger time of a pod, "" for none."""
    return str((condition(status(pod), "Ready") or {}).get("lastTransitionTime") or "")


def with_trigger_time(notes: Mapping[str, str], key: str, time: str) -> dict[str, str]:
    """The annotations `notes` with `time` under `key`; without `key` if `time` is empty."""
    rest = {each: value for each, value in notes.items() if each != key}
    return {**rest, key: time} if time else rest
