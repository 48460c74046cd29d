"""What the controllers of Endpoints and EndpointSlices have in common: services and their pods."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.client.interfaces import Object
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import batch_seconds
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS, SERVICES, deleting, labels, namespace, spec, status
from orchd.controllers.pods import ready
from orchd.controllers.selection import index_by_selector, list_selecting
from orchd.kinds.objects.selectors import NOTHING, LabelSelector


class ServiceController(Controller):
    """Services are the keys. A pod queues the services that choose it, before or after a change, `batch` seconds later, so
    that changes of many pods are one; for services with many pods later, so that the share of the processor that their
    passes take does not grow with them."""

    def __init__(self, env: Environment, *, workers: int, batch: float) -> None:
        super().__init__(env, workers=workers)
        self._batch = batch
        self._services = self.follow(SERVICES, self._service_changed, primary=True)
        index_by_selector(self._services, _selector)
        #: Numbers of pods of services.
        self._sizes: dict[Key, int] = {}
        self._pods = self.follow(PODS, self._pod_changed)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _seen_from_outside(old) == _seen_from_outside(new):
            return
        for pod in (old, new):
            if pod is None or (pod is old and new is not None and labels(old) == labels(new)):
                continue
            for service in list_selecting(self._services, _selector, pod):
                self.queue.add_after(key_of(service), max(self._batch, batch_seconds(self._sizes.get(key_of(service), 0))))

    def _service_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._sizes.pop(key_of(old), None)
        self.enqueue(event, old, new)

    def choose_pods(self, service: Object) -> list[Object]:
        """The service's pods, whatever their state."""
        found = list(self._pods.list(namespace(service), labels=spec(service).get("selector")))
        self._sizes[key_of(service)] = len(found)
        return found


def _selector(service: Object) -> LabelSelector:
    wanted = spec(service).get("selector")
    return LabelSelector.from_map(wanted) if wanted else NOTHING


def _seen_from_outside(pod: Object) -> tuple[object, ...]:
    """What of a pod its services depend on."""
    return (
        labels(pod),
        deleting(pod),
        ready(pod),
        status(pod).get("podIP"),
        status(pod).get("podIPs"),
        status(pod).get("phase"),
        spec(pod).get("nodeName"),
        spec(pod).get("hostname"),
    )
