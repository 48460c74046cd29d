"""Writes of the binder: skipped if nothing changes; results are cached until the informers deliver them."""

from __future__ import annotations

from collections.abc import Callable

from orchd.client.interfaces import IClient
from orchd.controllers.event_objects import with_type
from orchd.controllers.objects import CLAIMS
from orchd.controllers.volumes.assume_cache import AssumeCache
from orchd.controllers.volumes.binding.states import bound_claim, unbound_volume, with_claim_phase, with_volume_phase
from orchd.controllers.volumes.usage import CLAIM_KIND, VOLUME_KIND, VOLUMES
from orchd.dialect import Dialect
from orchd.kinds.fields import name, namespace, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.volumes.claims import bind


class BindingWriter:
    """`record_claim` and `record_volume` take objects of their kind."""

    def __init__(
        self, client: IClient, dialect: Dialect, volumes: AssumeCache, claims: AssumeCache, record: Callable[..., None]
    ) -> None:
        self.dialect = dialect
        self.volumes = volumes
        self.claims = claims
        self._client = client
        self._record = record

    def record_claim(self, claim: Object, type_: str, reason: str, note: str) -> None:
        self._record(with_type(claim, *CLAIM_KIND), type_, reason, note)

    def record_volume(self, volume: Object, type_: str, reason: str, note: str) -> None:
        self._record(with_type(volume, *VOLUME_KIND), type_, reason, note)

    async def save_claim(self, claim: Object, *, subresource: str = "") -> Object:
        """Write a claim; the response."""
        saved: Object = await self._client.update(CLAIMS, namespace(claim), name(claim), claim, subresource=subresource)
        self.claims.store(saved)
        return saved

    async def save_volume(self, volume: Object, *, subresource: str = "") -> Object:
        """Write a volume; the response."""
        saved: Object = await self._client.update(VOLUMES, "", name(volume), volume, subresource=subresource)
        self.volumes.store(saved)
        return saved

    async def claim_phase(self, claim: Object, phase: str, volume: Object | None = None) -> Object:
        """The claim in a phase; see `with_claim_phase`."""
        updated = with_claim_phase(claim, phase, volume)
        return claim if updated is claim else await self.save_claim(updated, subresource="status")

    async def claim_lost(self, claim: Object, reason: str, note: str) -> None:
        """The claim in the phase Lost, with an Event when it was not."""
        if status(claim).get("phase") != "Lost":
            saved = await self.claim_phase(claim, "Lost")
            self.record_claim(saved, "Warning", reason, note)

    async def volume_phase(self, volume: Object, phase: str, message: str = "") -> Object:
        """The volume in a phase; see `with_volume_phase`."""
        updated = with_volume_phase(volume, phase, message)
        return volume if updated is volume else await self.save_volume(updated, subresource="status")

    async def volume_failed(self, volume: Object, reason: str, note: str) -> None:
        """The volume in the phase Failed, with an Event when it was not."""
        if status(volume).get("phase") != "Failed":
            saved = await self.volume_phase(volume, "Failed", note)
            self.record_volume(saved, "Warning", reason, note)

    async def bind(self, volume: Object, claim: Object) -> None:
        """Bind claim and volume to each other, the volume first. After a failure in between, the next reconcile
        continues."""
        updated, changed = bind(volume, claim, self.dialect)
        if changed:
            volume = await self.save_volume(updated)
        volume = await self.volume_phase(volume, "Bound")
        bound = bound_claim(claim, volume, self.dialect)
        if bound is not claim:
            bound = await self.save_claim(bound)
        await self.claim_phase(bound, "Bound", volume)

    async def unbind(self, volume: Object) -> None:
        """Revert the changes of `bind` to the volume."""
        await self.volume_phase(await self.save_volume(unbound_volume(volume, self.dialect)), "Available")
