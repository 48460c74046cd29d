"""Base class of the Endpoints and EndpointSlice controllers: services and their pods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from twisted.internet.task import deferLater

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import WriteShare, batch_seconds
from orchd.controllers.endpoints.trigger_times import TriggerTimes, transition
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS, SERVICES
from orchd.controllers.pods import is_ready
from orchd.controllers.selection import SelectedPods, index_by_selector, list_selecting
from orchd.kinds.fields import deleting, labels, name, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import NOTHING, LabelSelector

#: Pods per reactor turn.
_PIECE: Final = 500

#: A controller's description of one pod of a service.
E = TypeVar("E")


@dataclass(frozen=True, slots=True)
class _Described(Generic[E]):
    """The view of a pod and the zone of its node, with what was made from them: its trigger time and its
    description."""

    pod: Object
    zone: str | None
    time: str
    description: E


class ServiceController(Controller, Generic[E]):
    """A controller whose keys are services. A changed pod queues the services that select it, before or after the
    change, after `batch` seconds, so that changes of many pods are combined. Services with many pods are queued later,
    to limit the share of the processor that their reconciliation takes."""

    def __init__(self, env: Environment, *, workers: int, batch: float) -> None:
        super().__init__(env, workers=workers)
        self._batch = batch
        self._services = self.follow(SERVICES, self._service_changed, primary=True)
        index_by_selector(self._services, _selector)
        pods = self.follow(PODS, self._pod_changed, complete=True)
        self._selected = SelectedPods(pods, _selector, env.clock)
        self._share = WriteShare(env.clock)
        self._trigger_times = TriggerTimes()
        self._trigger_note = env.dialect("endpoints.{long}.io/last-change-trigger-time")
        #: By service: its resource version, and its pods by uid.
        self._described: dict[Key, tuple[str, dict[str, _Described[E]]]] = {}

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._selected.observe(old, new)
        if not changes_endpoints(old, new):
            return
        for pod in (old, new):
            if pod is None or (pod is old and new is not None and labels(old) == labels(new)):
                continue
            for service in list_selecting(self._services, _selector, pod):
                key = key_of(service)
                self.queue.add_after(key, max(self._batch, batch_seconds(self._selected.count(key))))

    def _service_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._selected.forget(key_of(old))
            self._described.pop(key_of(old), None)
            self._trigger_times.forget(key_of(old))
        self.enqueue(event, old, new)

    def spend(self, endpoints: int) -> None:
        """Account for a write of this many endpoints."""
        self.queue.hold(self._share.spend(endpoints))

    def describe(self, service: Object, pod: Object, zone: str | None) -> E:
        """The description of a pod from its view and the zone of its node. Must not depend on anything else."""
        raise NotImplementedError

    def zone_of(self, node: str) -> str | None:
        """The zone of a node, "" for none or if the controller does not use zones, None if the node does not exist."""
        return ""

    async def describe_pods(self, service: Object) -> tuple[list[E], str]:
        """`describe` of each pod of the service by name, recomputed only for changed pods; and the time of the change
        that they follow, "" for none."""
        key, version = key_of(service), str(service["metadata"].get("resourceVersion", ""))
        last_version, last = self._described.get(key, ("", {}))
        if last_version != version:
            last = {}
        described: dict[str, _Described[E]] = {}
        for count, pod in enumerate(sorted(await self._selected.find(service), key=name), 1):
            zone, identity = self.zone_of(str(spec(pod).get("nodeName") or "")), uid(pod)
            known = last.get(identity)
            if known is None or known.pod is not pod or known.zone != zone:
                known = _Described(pod, zone, transition(pod), self.describe(service, pod, zone))
            described[identity] = known
            if not count % _PIECE:
                await deferLater(self.env.clock, 0)
        time = self._trigger_times.advance(
            key, service, {name(each.pod): each.time for each in described.values() if each.time}
        )
        if self._services.get(*key) is not None:
            self._described[key] = version, described
        else:
            self._trigger_times.forget(key)
        return [each.description for each in described.values()], time


#: Members of a pod's status and spec that services depend on.
_STATUS: Final = ("phase", "podIP", "podIPs")
_SPEC: Final = ("nodeName", "hostname")


def _selector(service: Object) -> LabelSelector:
    pairs = spec(service).get("selector")
    return LabelSelector.from_map(pairs) if pairs else NOTHING


def changes_endpoints(old: Object | None, new: Object | None) -> bool:
    """True if a change of a pod may change the endpoints of services, or when they changed."""
    if not any(pod is not None and (status(pod).get("podIP") or transition(pod)) for pod in (old, new)):
        # Without an address it is in no endpoints, before and after.
        return False
    if old is None or new is None:
        return True
    was, now = status(old), status(new)
    return (
        any(was.get(member) != now.get(member) for member in _STATUS)
        or deleting(old) != deleting(new)
        or any(spec(old).get(member) != spec(new).get(member) for member in _SPEC)
        or labels(old) != labels(new)
        or is_ready(old) != is_ready(new)
    )
