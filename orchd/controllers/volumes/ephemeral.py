"""Claims for ephemeral volumes: one per volume, owned by its pod, named after both."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import CLAIMS, PODS
from orchd.controllers.volumes.usage import (
    BY_CLAIM,
    POD_KIND,
    ephemeral_claim_name,
    index_by_claim,
    made_for,
    not_made_for,
)
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import deleting, name, namespace, owner_reference, spec
from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics.instruments import Counter


class EphemeralVolumeController(Controller):
    """Creates what is missing; deletion is the garbage collector's."""

    name = "ephemeral-volume"
    account = "ephemeral-volume-controller"
    component = "ephemeral_volume"
    subject = POD_KIND

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_ephemeralvolume_syncs)
        self._created = Counter(
            "ephemeral_volume_controller_create_total", "Attempts to create claims of ephemeral volumes."
        )
        self._failed = Counter(
            "ephemeral_volume_controller_create_failures_total",
            "Failed attempts to create claims of ephemeral volumes.",
        )
        self.instruments = (self._created, self._failed)
        self._pods = self.follow(PODS, self._pod_changed, primary=True)
        index_by_claim(self._pods)
        self._claims = self.follow(CLAIMS, self._claim_changed)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Volumes of a pod do not change, so only new pods matter."""
        if new is not None and event == "ADDED":
            self._enqueue(new)

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            for pod in self._pods.by_index(BY_CLAIM, f"{namespace(old)}/{name(old)}"):
                self._enqueue(pod)

    def _enqueue(self, pod: Object) -> None:
        if not deleting(pod) and any(each.get("ephemeral") for each in spec(pod).get("volumes") or ()):
            self.queue.add(key_of(pod))

    async def reconcile(self, key: Key) -> float | None:
        pod = self._pods.get(*key)
        if pod is None or deleting(pod):
            return None
        for volume in spec(pod).get("volumes") or ():
            if volume.get("ephemeral") is None:
                continue
            trouble = await self._ensure_claim(pod, volume)
            if trouble:
                self.record(pod, WARNING, "FailedBinding", f"ephemeral volume {volume['name']}: {trouble}")
                raise RetryError
        return None

    async def _ensure_claim(self, pod: Object, volume: Mapping[str, Any]) -> str:
        """The reason why the claim of a volume does not exist; "" if it does."""
        called = ephemeral_claim_name(pod, volume)
        existing = self._claims.get(namespace(pod), called)
        if existing is not None:
            return "" if made_for(existing, pod) else not_made_for(existing, pod)
        self._created.add()
        try:
            await self.client.create(CLAIMS, namespace(pod), _claim(pod, called, volume["ephemeral"]))
        except ApiError as error:
            self._failed.add()
            return f"create PVC {called}: {error.message}"
        return ""


def _claim(pod: Object, called: str, source: Mapping[str, Any]) -> Object:
    template = source.get("volumeClaimTemplate") or {}
    metadata_ = fields.metadata(template)
    metadata: dict[str, Any] = {"name": called, "ownerReferences": [owner_reference(pod, *POD_KIND)]}
    for field in ("labels", "annotations"):
        if metadata_.get(field):
            metadata[field] = metadata_[field]
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": spec(template)}
