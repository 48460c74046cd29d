"""The scheduler's view of device claims, classes and slices: informers, and allocations that are not written yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.fields import mapping, name, status, uid
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.scheduler.devices.pools import DeviceId, SliceIndex

#: Plural -> word of the reference in event labels; all are of one group and version.
RESOURCES: Final = {
    "resourceclaims": "ResourceClaim",
    "deviceclasses": "DeviceClass",
    "resourceslices": "ResourceSlice",
}
GROUP: Final = "resource.{abbr}.io"
VERSION: Final = "v1"


class DeviceState:
    """Requests the informers. An allocation is pending from the choice of a node until the informer shows it in the
    claim."""

    def __init__(self, informers: IInformers, dialect: Dialect) -> None:
        group = dialect(GROUP)
        self.claims_ref = ResourceRef(group, VERSION, "resourceclaims")
        self.claims: IInformer = informers.informer(self.claims_ref)
        self.classes: IInformer = informers.informer(ResourceRef(group, VERSION, "deviceclasses"))
        self._slices: IInformer = informers.informer(ResourceRef(group, VERSION, "resourceslices"))
        self._dialect = dialect
        #: By the uid of the claim.
        self._pending: dict[str, Object] = {}
        self.claims.add_listener(self._claim_changed)
        self._index: SliceIndex | None = None
        self._slices.add_listener(self._slice_changed)

    def _claim_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        claim = new or old
        if claim is not None and (new is None or status(claim).get("allocation")):
            self._pending.pop(uid(claim), None)

    # -- allocations

    def expect(self, claim: ObjectView, allocation: Object) -> None:
        """An allocation is about to be written."""
        self._pending[uid(claim)] = allocation

    def forget(self, claim: ObjectView) -> bool:
        """A pending allocation will not be written. True if there was one."""
        return self._pending.pop(uid(claim), None) is not None

    def is_pending(self, claim: ObjectView) -> bool:
        return uid(claim) in self._pending

    def taken(self) -> frozenset[DeviceId]:
        """Devices that claims have, or are about to have; access for administration takes none."""
        return frozenset(
            (each["driver"], each["pool"], each["device"])
            for allocation in self._allocations()
            for each in mapping(allocation, "devices").get("results") or ()
            if not each.get("adminAccess")
        )

    def _allocations(self) -> Iterator[Mapping[str, Any]]:
        yield from self._pending.values()
        for claim in self.claims.list():
            allocation = status(claim).get("allocation")
            if allocation:
                yield allocation

    def slices(self) -> SliceIndex:
        """All slices, by name. The index is kept until a slice changes."""
        if self._index is None:
            self._index = SliceIndex(sorted(self._slices.list(), key=name))
        return self._index

    def _slice_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._index = None

    def device_class(self, called: str) -> Object | None:
        return self.classes.get("", called)
