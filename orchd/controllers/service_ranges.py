"""The controller of ServiceCIDRs: their condition Ready, and their end only when no address needs them."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import WARNING, with_type
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import APPLY, STRATEGIC_MERGE
from orchd.controllers.write_errors import ignore_missing
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp

_GROUP: Final = "networking.{abbr}.io"
#: The resources, with a template for their group.
RANGES: Final = ResourceRef(_GROUP, "v1", "servicecidrs")
ADDRESSES: Final = ResourceRef(_GROUP, "v1", "ipaddresses")
#: Seconds for which a range that could go remains: API servers may not know yet that it is deleted, and still allocate
#: from it.
_GRACE: Final = 10.0
_BLOCKED: Final = (
    "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR"
)
_READY: Final = "{Long} Service CIDR is ready"

Network = IPv4Network | IPv6Network
Address = IPv4Address | IPv6Address


def networks_of(item: Object) -> list[Network]:
    """The ranges of a ServiceCIDR."""
    return [ip_network(text) for text in fields.spec(item).get("cidrs") or ()]


def is_usable(network: Network, address: Address) -> bool:
    """True if services can get an address from a range."""
    unusable = {network.network_address, *([network.broadcast_address] if network.version == 4 else ())}
    return address in network and address not in unusable


class ServiceRangeController(Controller):
    """Reconciles ServiceCIDRs."""

    name = "service-cidr-controller"
    account = "service-cidrs-controller"
    component = "service-cidr-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        group = env.dialect(_GROUP)
        self._ref = ResourceRef(group, "v1", RANGES.plural)
        self._finalizer = env.dialect("networking.{abbr}.io/service-cidr-finalizer")
        self._manager_label = env.dialect("ipaddress.{long}.io/managed-by")
        self._manager = env.dialect("ipallocator.{abbr}.io")
        self._ranges = self.follow(self._ref, self._range_changed, primary=True)
        self._addresses = self.follow(ResourceRef(group, "v1", ADDRESSES.plural), self._address_changed)

    def _range_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self.enqueue(event, old, new)
        if old is None or new is None:
            # Another range may now be free to go, or no longer.
            mine = networks_of(new or old or {})
            for other in self._ranges.list():
                if any(one.overlaps(two) for one in mine for two in networks_of(other)):
                    self.queue.add(("", fields.name(other)))

    def _address_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        record = new or old
        if record is not None and (old is None or new is None) and self._is_managed(record):
            address = ip_address(fields.name(record))
            for item in self._holding(address):
                self.queue.add(("", fields.name(item)))

    def _is_managed(self, record: Object) -> bool:
        """True for an IPAddress of the API servers; others block nothing."""
        return fields.labels(record).get(self._manager_label) == self._manager

    def _holding(self, address: Address) -> Iterator[Object]:
        """The ServiceCIDRs with a range that has the address."""
        for item in self._ranges.list():
            if any(is_usable(network, address) for network in networks_of(item)):
                yield item

    async def reconcile(self, key: Key) -> float | None:
        item = self._ranges.get("", key[1])
        if item is None:
            return None
        finalizers = item["metadata"].get("finalizers") or ()
        if fields.deleting(item):
            return await self._end(item) if self._finalizer in finalizers else None
        if self._finalizer not in finalizers:
            await self._patch_finalizers(item, {"finalizers": [self._finalizer]})
        try:
            await self._set_ready(item, "True", "", self.dialect(_READY))
        except ApiError:
            note = "The ServiceCIDR Status can not be set to Ready=True"
            about = with_type(item, f"{self._ref.group}/v1", "ServiceCIDR")
            self.recorder.event(about, WARNING, self.dialect("{Long}ServiceCIDRError"), note)
            raise
        return None

    async def _end(self, item: Object) -> float | None:
        if not self._is_free(item):
            await self._set_ready(item, "False", "Terminating", _BLOCKED)
            return None
        since = seconds_of(item["metadata"]["deletionTimestamp"]) or 0.0
        left = _GRACE - (self.env.wall() - since)
        if left > 0:
            return left
        await self._patch_finalizers(item, {"$deleteFromPrimitiveList/finalizers": [self._finalizer]})
        return None

    def _is_free(self, item: Object) -> bool:
        """True if other ServiceCIDRs have every range or every address in use of one."""
        mine, others = networks_of(item), [each for each in self._ranges.list() if fields.uid(each) != fields.uid(item)]
        around = [network for other in others for network in networks_of(other)]
        if all(any(_contains(outer, inner) for outer in around) for inner in mine):
            return True
        for record in self._addresses.list(labels={self._manager_label: self._manager}):
            address = ip_address(fields.name(record))
            if any(is_usable(one, address) for one in mine) and not any(is_usable(one, address) for one in around):
                return False
        return True

    async def _patch_finalizers(self, item: Object, metadata: dict[str, Any]) -> None:
        with ignore_missing():
            await self.client.patch(
                self._ref, "", fields.name(item), {"metadata": metadata}, content_type=STRATEGIC_MERGE
            )

    async def _set_ready(self, item: Object, value: str, reason: str, message: str) -> None:
        condition = {"type": "Ready", "status": value, "reason": reason, "message": message}
        current = find_condition(fields.status(item), "Ready")
        if current is not None and all(current.get(key, "") == expected for key, expected in condition.items()):
            return
        condition["lastTransitionTime"] = timestamp(self.env.wall())
        expected = {
            "apiVersion": f"{self._ref.group}/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": fields.name(item)},
            "status": {"conditions": [condition]},
        }
        await self.client.patch(
            self._ref, "", fields.name(item), expected, content_type=APPLY, subresource="status",
            field_manager=self.name, force=True,
        )  # fmt: skip


def _contains(outer: Network, inner: Network) -> bool:
    return outer.version == inner.version and inner.subnet_of(outer)  # type: ignore[arg-type]  # of one version
