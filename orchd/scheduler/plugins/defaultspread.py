"""The selector of default spread constraints: the selectors of a pod's services and owner, combined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.client.interfaces import IInformer, ResourceRef
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import EVERYTHING, LabelSelector
from orchd.scheduler.interfaces import IHandle
from orchd.scheduler.pods import PodTemplate

SERVICES = ResourceRef("", "v1", "services")
_OWNERS = {
    ("v1", "ReplicationController"): ResourceRef("", "v1", "replicationcontrollers"),
    ("apps/v1", "ReplicaSet"): ResourceRef("apps", "v1", "replicasets"),
    ("apps/v1", "StatefulSet"): ResourceRef("apps", "v1", "statefulsets"),
}


class DefaultSelectors:
    """`epoch` increases when the pods that a service or an owner selects may change."""

    def __init__(self, handle: IHandle) -> None:
        self.epoch = 0
        self._services: IInformer = handle.informer(SERVICES)
        self._owners = {kind: handle.informer(ref) for kind, ref in _OWNERS.items()}
        for informer in (self._services, *self._owners.values()):
            informer.add_listener(self._changed)

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if _selector(old) != _selector(new):
            self.epoch += 1

    def selector(self, template: PodTemplate) -> LabelSelector | None:
        """The combined selector for a template; None if nothing selects its pods."""
        labels: dict[str, str] = {}
        for service in self._services.list(template.namespace):
            pairs = _selector(service)
            if pairs and pairs.items() <= template.labels.items():
                labels.update(pairs)
        owned = EVERYTHING
        if template.owner is not None:
            kind, name, version = template.owner
            informer = self._owners.get((version, kind))
            owner = None if informer is None else informer.get(template.namespace, name)
            pairs = None if owner is None else _selector(owner)
            if pairs and version == "v1":
                labels.update(pairs)
            elif pairs:
                owned = LabelSelector.from_object(pairs)
        differ = any(labels.get(key, value) != value for key, value in owned.equal.items())
        joined = LabelSelector(owned.requirements, impossible=differ, equal={**labels, **owned.equal})
        return None if joined.everything else joined


def _selector(obj: Object | None) -> Mapping[str, Any] | None:
    return None if obj is None else fields.spec(obj).get("selector")
