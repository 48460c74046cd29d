"""Base class of the Endpoints and EndpointSlice controllers: services and their pods."""

from __future__ import annotations

from typing import Final, Generic, TypeVar

from twisted.internet.task import deferLater

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import WriteShare, batch_seconds
from orchd.controllers.endpoints.trigger_times import TriggerTimes
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
#: By pod uid: its view, the zone of its node, and the description made from them.
_Descriptions = dict[str, tuple[Object, str | None, E]]


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
        #: By service: its resource version, and the descriptions of its pods.
        self._descriptions: dict[Key, tuple[str, _Descriptions[E]]] = {}

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._selected.observe(old, new)
        if old is not None and new is not None and not _differ_outside(old, new):
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
            self._descriptions.pop(key_of(old), None)
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
        last_version, last = self._descriptions.get(key, ("", {}))
        if last_version != version:
            last = {}
        fresh: _Descriptions[E] = {}
        pods = sorted(await self._selected.find(service), key=name)
        time = self._trigger_times.advance(key, service, pods)
        for count, pod in enumerate(pods, 1):
            zone = self.zone_of(str(spec(pod).get("nodeName") or ""))
            before = last.get(uid(pod))
            same = before is not None and before[0] is pod and before[1] == zone
            fresh[uid(pod)] = before if before is not None and same else (pod, zone, self.describe(service, pod, zone))
            if not count % _PIECE:
                await deferLater(self.env.clock, 0)
        if self._services.get(*key) is not None:
            self._descriptions[key] = version, fresh
        else:
            self._trigger_times.forget(key)
        return [endpoint for _, _, endpoint in fresh.values()], time


#: Members of a pod's status and spec that services depend on.
_STATUS: Final = ("phase", "podIP", "podIPs")
_SPEC: Final = ("nodeName", "hostname")


def _selector(service: Object) -> LabelSelector:
    pairs = spec(service).get("selector")
    return LabelSelector.from_map(pairs) if pairs else NOTHING


def _differ_outside(old: Object, new: Object) -> bool:
    """True if two states of a pod differ in a property that services depend on."""
    was, now = status(old), status(new)
    return (
        any(was.get(member) != now.get(member) for member in _STATUS)
        or deleting(old) != deleting(new)
        or any(spec(old).get(member) != spec(new).get(member) for member in _SPEC)
        or labels(old) != labels(new)
        or is_ready(old) != is_ready(new)
    )
