"""What the controllers of Endpoints and EndpointSlices have in common: services and their pods."""

from __future__ import annotations

from orchd.client.informers import key_of
from orchd.client.interfaces import Object
from orchd.controllers.base import Controller
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS, SERVICES, deleting, labels, namespace, spec, status
from orchd.controllers.pods import ready


class ServiceController(Controller):
    """Services are the keys. A pod queues the services that choose it, before or after a change, `batch` seconds later, so
    that changes of many pods are one."""

    def __init__(self, env: Environment, *, workers: int, batch: float) -> None:
        super().__init__(env, workers=workers)
        self._batch = batch
        self._services = self.follow(SERVICES, primary=True)
        self._pods = self.follow(PODS, self._pod_changed)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if old is not None and new is not None and _seen_from_outside(old) == _seen_from_outside(new):
            return
        for pod in (old, new):
            if pod is None or (pod is old and new is not None and labels(old) == labels(new)):
                continue
            found = labels(pod)
            for service in self._services.list(namespace(pod)):
                selector = spec(service).get("selector")
                if selector and selector.items() <= found.items():
                    self.queue.add_after(key_of(service), self._batch)

    def chosen(self, service: Object) -> list[Object]:
        """The service's pods, whatever their state."""
        return list(self._pods.list(namespace(service), labels=spec(service).get("selector")))


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
