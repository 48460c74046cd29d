"""Expansion of claims: selects the component that resizes a volume, and updates volume and claim where no storage
backend is involved."""

from __future__ import annotations

from typing import Any

from orchd.client.informers import key_of
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import CLAIMS, MERGE
from orchd.controllers.volumes.migration import migrated_source
from orchd.controllers.volumes.usage import CLAIM_KIND, VOLUMES
from orchd.kinds import fields
from orchd.kinds.fields import annotations_of, mapping, name, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.scalars import Quantity
from orchd.kinds.objects.volumes.claims import capacity, requested_storage
from orchd.kinds.times import timestamp

_REASON = "ExternalExpanding"
#: Type and text of the Event about a volume that no plugin here expands, by the release that begins them.
_EXTERNAL = (
    (
        "",
        (
            WARNING,
            "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for an external "
            "controller to process this PVC.",
        ),
    ),
    ("1.27", (NORMAL, "waiting for an external controller to expand this PVC")),
)
#: Annotation of claims: the component that resizes the volume.
_RESIZER = "volume.{long}.io/storage-resizer"
#: Annotation of volumes: their size before the file system was asked to grow.
_PRE_RESIZE = "volume.alpha.{long}.io/pre-resize-capacity"


class VolumeExpansion(Controller):
    """Expands claims. CSI volumes are resized by external resizers, flex volumes by their node."""

    name = "persistentvolume-expander"
    account = "expand-controller"
    component = "volume_expand"
    subject = CLAIM_KIND

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=10)
        self._claims = self.follow(CLAIMS, self._claim_changed, primary=True)
        self._volumes = self.follow(VOLUMES)

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None or status(new).get("phase") != "Bound":
            return
        if old is None or requested_storage(new) > requested_storage(old) or current_size(new) > current_size(old):
            self.queue.add(key_of(new))

    async def reconcile(self, key: Key) -> float | None:
        claim = self._claims.get(*key)
        if claim is None or status(claim).get("phase") != "Bound":
            return None
        volume = self._volumes.get("", spec(claim).get("volumeName") or "")
        reference = mapping(spec(volume), "claimRef") if volume is not None else {}
        if volume is None or (reference.get("namespace"), reference.get("uid")) != (namespace(claim), uid(claim)):
            raise RetryError
        if requested_storage(claim) <= current_size(claim) and self.dialect(_PRE_RESIZE) not in annotations_of(volume):
            return None
        await self._expand(claim, volume)
        return None

    async def _expand(self, claim: Object, volume: Object) -> None:
        plugin, driver = migrated_source(volume, self.dialect)
        flex = spec(volume).get("flexVolume")
        if plugin:
            note = f"CSI migration enabled for {plugin}; waiting for external resizer to expand the pvc"
            self.record(claim, NORMAL, _REASON, note)
            await self._patch_claim(claim, {"metadata": self._resizer(driver)})
        elif flex is not None:
            await self._expand_on_node(claim, volume, str(flex.get("driver") or ""))
        else:
            # The reference has a plugin for fibre channel, which cannot expand: no failure, hence no warning.
            severity, note = self.env.release.choose(_EXTERNAL)
            self.record(claim, NORMAL if spec(volume).get("fc") is not None else severity, _REASON, note)

    def _resizer(self, resizer: str) -> Object:
        return {"annotations": {self.dialect(_RESIZER): resizer}}

    async def _expand_on_node(self, claim: Object, volume: Object, driver: str) -> None:
        """Set the new size of the volume, and leave the file system to the node: nothing has to be done elsewhere."""
        mark = self.dialect(_PRE_RESIZE)
        requested, marked = requested_storage(claim), mark in annotations_of(volume)
        if marked and current_size(claim) >= max(requested, capacity(volume)):
            await self._patch_volume(volume, {"metadata": {"annotations": {mark: None}}})
            return
        pending = {"conditions": self._conditions(claim, "Resizing")}
        claim = await self._patch_claim(claim, {"metadata": self._resizer(driver), "status": pending})
        if capacity(volume) < requested:
            size = {"spec": {"capacity": {"storage": spec(claim)["resources"]["requests"]["storage"]}}}
            before = {} if marked else {"metadata": {"annotations": {mark: spec(volume)["capacity"]["storage"]}}}
            await self._patch_volume(volume, {**size, **before})
        claim = await self._patch_claim(
            claim, {"status": {"conditions": self._conditions(claim, "FileSystemResizePending")}}
        )
        self.record(claim, NORMAL, "FileSystemResizeRequired", "Require file system resize of volume on node")

    def _conditions(self, claim: Object, type_: str) -> list[dict[str, Any]]:
        """The claim's conditions with the one about resizing replaced."""
        conditions = [dict(each) for each in fields.conditions(claim)]
        others = [each for each in conditions if each.get("type") not in ("Resizing", "FileSystemResizePending")]
        same = next((each for each in conditions if each.get("type") == type_ and each.get("status") == "True"), None)
        now = timestamp(self.env.wall())
        return [*others, same or {"type": type_, "status": "True", "lastTransitionTime": now}]

    async def _patch_claim(self, claim: Object, change: Object) -> Object:
        changed: Object = await self.client.patch(
            CLAIMS, namespace(claim), name(claim), change, content_type=MERGE, subresource="status"
        )
        return changed

    async def _patch_volume(self, volume: Object, change: Object) -> None:
        await self.client.patch(VOLUMES, "", name(volume), change, content_type=MERGE)


def current_size(claim: Object) -> Quantity:
    """The size that a claim has, 0 while it has none."""
    recorded = mapping(status(claim), "capacity").get("storage")
    return Quantity.of(0) if recorded is None else Quantity.parse(recorded)
