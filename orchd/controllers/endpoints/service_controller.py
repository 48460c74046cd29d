"""What the controllers of Endpoints and EndpointSlices have in common: services and their pods."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.client.interfaces import Object
from orchd.controllers.base import Controller
from orchd.controllers.batching import batch_seconds
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS, SERVICES, deleting, labels, name, spec, status
from orchd.controllers.pods import ready
from orchd.controllers.selection import SelectedPods, index_by_selector, list_selecting
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
        pods = self.follow(PODS, self._pod_changed, complete=True)
        self._selected = SelectedPods(pods, _selector, env.clock)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._selected.observe(old, new)
        if old is not None and new is not None and _seen_from_outside(old) == _seen_from_outside(new):
            return
        for pod in (old, new):
            if pod is None or (pod is old and new is not None and labels(old) == labels(new)):
                continue
            for service in list_selecting(self._services, _selector, pod):
                key = key_of(service)
                self.queue.add_after(key, max(self._batch, batch_seconds(self._selected.count(key))))

    def _service_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if old is not None and (new is None or _selector(old) != _selector(new)):
            self._selected.forget(key_of(old))
        self.enqueue(event, old, new)

    async def list_pods(self, service: Object) -> list[Object]:
        """Views of the service's pods by name, whatever their state."""
        return sorted(await self._selected.find(service), key=name)


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
