"""What the scheduler knows of device claims, classes and slices: informers, and allocations that are not written yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from orchd.client.interfaces import IInformer, IInformers, ResourceRef
from orchd.dialect import Dialect
from orchd.kinds.expressions.devices import (
    MAX_COST,
    DeviceSelectorError,
    compile_device_selector,
    device_value,
    selects,
)
from orchd.kinds.fields import name, namespace, spec, status, uid
from orchd.kinds.jsonvalues import Object, ObjectView
from orchd.scheduler.devices.allocation import AllocationError
from orchd.scheduler.devices.pools import Device, DeviceId

#: Plural -> word of the reference in event labels; all are of one group and version.
RESOURCES: Final = {
    "resourceclaims": "ResourceClaim",
    "deviceclasses": "DeviceClass",
    "resourceslices": "ResourceSlice",
}
GROUP: Final = "resource.{abbr}.io"
VERSION: Final = "v1"


class DeviceState:
    """Requests the informers. An allocation is pending from the choice of a node until the informer shows it in the claim."""

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
            for each in (allocation.get("devices") or {}).get("results") or ()
            if not each.get("adminAccess")
        )

    def _allocations(self) -> Iterator[Mapping[str, Any]]:
        yield from self._pending.values()
        for claim in self.claims.list():
            allocation = status(claim).get("allocation")
            if allocation:
                yield allocation

    def slices(self) -> list[Object]:
        """All slices, by name."""
        return sorted(self._slices.list(), key=name)

    def device_class(self, called: str) -> Object | None:
        return self.classes.get("", called)


class Selection:
    """Which devices requests select, as of one cycle: classes and devices are looked at once."""

    def __init__(self, state: DeviceState, dialect: Dialect) -> None:
        self._state = state
        self._dialect = dialect
        self._variables: dict[DeviceId, Mapping[str, Any]] = {}
        self._selections: dict[tuple[str, DeviceId], bool] = {}
        #: What the selectors of this cycle may still cost.
        self._left = MAX_COST

    def selects(self, device: Device, request: Mapping[str, Any], claim: ObjectView) -> bool:
        """True if a request of a claim and its class select a device. Raises AllocationError."""
        called = request.get("deviceClassName") or ""
        device_class = self._state.device_class(called)
        if device_class is None:
            raise AllocationError(
                f"claim {namespace(claim)}/{name(claim)}: could not retrieve device class {called}: not found"
            )
        return self._all(f"class {called}", spec(device_class).get("selectors"), device) and self._all(
            f"claim {namespace(claim)}/{name(claim)}", request.get("selectors"), device
        )

    def _all(self, place: str, selectors: Any, device: Device) -> bool:
        for number, selector in enumerate(selectors or ()):
            text = (selector.get("cel") or {}).get("expression") or ""
            selected = self._selections.get((text, device.id))
            if selected is None:
                try:
                    compiled = compile_device_selector(text, self._dialect)
                    selected, cost = selects(compiled, self._variable(device), self._left)
                except DeviceSelectorError as error:
                    raise AllocationError(f"{place}: selector #{number}: {error}") from None
                self._left -= cost
                self._selections[text, device.id] = selected
            if not selected:
                return False
        return True

    def _variable(self, device: Device) -> Mapping[str, Any]:
        variable = self._variables.get(device.id)
        if variable is None:
            variable = self._variables[device.id] = device_value(device.id[0], device.data)
        return variable
