"""Reconcile of a volume: make it Available, follow its claim, or release and reclaim it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from orchd.controllers.event_objects import WARNING
from orchd.controllers.volumes.binding.reclaimer import Reclaimer
from orchd.controllers.volumes.binding.writer import BindingWriter
from orchd.controllers.volumes.migration import PROVISIONED_BY, with_migration
from orchd.kinds.fields import annotations_of, mapping, name, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import volume_mode

_ENDED = ("Released", "Failed")


class VolumeReconciler:
    """`live(namespace, name)` reads a claim from the server; `enqueue(claim)` queues a claim."""

    def __init__(
        self,
        writer: BindingWriter,
        reclaimer: Reclaimer,
        live: Callable[[str, str], Awaitable[Object | None]],
        enqueue: Callable[[Object], None],
    ) -> None:
        self._writer = writer
        self._dialect = writer.dialect
        self._reclaimer = reclaimer
        self._live = live
        self._enqueue = enqueue

    async def reconcile(self, volume: Object) -> None:
        migrated = with_migration(volume, self._dialect, claim=False)
        if migrated is not volume:
            volume = await self._writer.save_volume(migrated)
        if not mapping(spec(volume), "claimRef").get("uid"):
            # Free, or reserved for a claim that has not been bound yet.
            await self._writer.volume_phase(volume, "Available")
            return
        claim = await self._claim(volume)
        if claim is None:
            await self._release(volume)
        elif not spec(claim).get("volumeName"):
            self._continue_binding(volume, claim)
        elif spec(claim)["volumeName"] == name(volume):
            await self._writer.volume_phase(volume, "Bound")
        elif self._provisioned_in_vain(volume):
            await self._release(volume)
        else:
            await self._writer.unbind(volume)

    async def _claim(self, volume: Object) -> Object | None:
        """The claim of a volume; None when it was deleted. The server is asked before a volume is released for good."""
        reference = spec(volume)["claimRef"]
        key = (reference.get("namespace", ""), reference.get("name", ""))
        claim = self._writer.claims.get(*key)
        if claim is None and status(volume).get("phase") not in _ENDED:
            claim = await self._live(*key)
        return claim if claim is not None and uid(claim) == reference["uid"] else None

    async def _release(self, volume: Object) -> None:
        if status(volume).get("phase") not in _ENDED:
            volume = await self._writer.volume_phase(volume, "Released")
        await self._reclaimer.reclaim(volume)

    def _continue_binding(self, volume: Object, claim: Object) -> None:
        """Queue the claim, which completes the binding, unless its volume mode differs."""
        if volume_mode(volume) == volume_mode(claim):
            self._enqueue(claim)
            return
        reason = "VolumeMismatch"
        note = (
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{name(claim)}" due to '
            "incompatible volumeMode."
        )
        self._writer.record_volume(volume, WARNING, reason, note)
        note = (
            f'Cannot bind PersistentVolume "{name(volume)}" to requested PersistentVolumeClaim due to '
            "incompatible volumeMode."
        )
        self._writer.record_claim(claim, WARNING, reason, note)

    def _provisioned_in_vain(self, volume: Object) -> bool:
        """True if the volume was provisioned by a driver and its reclaim policy is Delete, so that it can be
        deleted."""
        provisioned = self._dialect(PROVISIONED_BY) in annotations_of(volume)
        return provisioned and spec(volume).get("persistentVolumeReclaimPolicy") == "Delete"
