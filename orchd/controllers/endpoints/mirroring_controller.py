"""EndpointSlices that mirror the Endpoints of services without a selector, which other clients write."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.endpoints import targets
from orchd.controllers.endpoints.slice_labels import SliceLabels
from orchd.controllers.endpoints.slice_metrics import SliceMetrics
from orchd.controllers.event_objects import WARNING
from orchd.controllers.expectations import Expectations
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import ENDPOINTS, SERVICES
from orchd.controllers.write_errors import ignore_terminating_namespace
from orchd.kinds.fields import annotations_of, deleting, labels, name, namespace, owner_reference, spec
from orchd.kinds.jsonvalues import Object
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

_BY_SERVICE: Final = "controllers/mirrored-service"

#: Address family and ports, equal for all endpoints of a slice.
Group = tuple[str, tuple[targets.Port, ...]]


def group_addresses(endpoints: Object, most: int) -> tuple[dict[Group, list[dict[str, Any]]], int, int]:
    """The endpoints of Endpoints by group, the number of invalid addresses and of those beyond `most` in their
    subset."""
    groups: dict[Group, list[dict[str, Any]]] = {}
    wrong = surplus = 0
    for subset in endpoints.get("subsets") or ():
        ports = _ports(subset.get("ports") or ())
        added = 0
        for member, ready in (("addresses", True), ("notReadyAddresses", False)):
            for address in subset.get(member) or ():
                if added >= most:
                    surplus += 1
                    continue
                family = _family(str(address.get("ip", "")))
                if not family:
                    wrong += 1
                    continue
                groups.setdefault((family, ports), []).append(_endpoint(address, ready))
                added += 1
    return groups, wrong, surplus


def _ports(ports: Iterable[dict[str, Any]]) -> tuple[targets.Port, ...]:
    return tuple(
        sorted(
            targets.Port(
                p.get("name") or "", int(p.get("port") or 0), p.get("protocol") or "TCP", p.get("appProtocol") or ""
            )
            for p in ports
        )
    )


def _family(text: str) -> str:
    try:
        return f"IPv{ip_address(text).version}"
    except ValueError:
        return ""


def _endpoint(address: dict[str, Any], ready: bool) -> dict[str, Any]:
    out: dict[str, Any] = {"addresses": [address["ip"]], "conditions": {"ready": ready}}
    for key in ("targetRef", "nodeName", "hostname"):
        if address.get(key):
            out[key] = address[key]
    return out


_SUBSYSTEM = "endpoint_slice_mirroring_controller"
_NUMBERS = exponential(2, 2, 15)


class EndpointSliceMirroringController(Controller):
    """Keys are those of Endpoints and of services, which have the same names."""

    name = "endpointslicemirroring"
    account = "endpointslicemirroring-controller"
    component = "endpoint-slice-mirroring-controller"
    subject = ("v1", "Endpoints")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.mirroring_concurrent_service_endpoint_syncs)
        group = env.dialect("discovery.{abbr}.io")
        self._most = env.settings.mirroring_max_endpoints_per_subset
        self._ref = ResourceRef(group, "v1", "endpointslices")
        self._api_version = f"{group}/v1"
        self._skip_label = env.dialect("endpointslice.{long}.io/skip-mirror")
        self._labels = SliceLabels(env.dialect, "endpointslicemirroring-controller.{abbr}.io")
        self._leader = env.dialect("control-plane.alpha.{long}.io/leader")
        self._unmirrored = (env.dialect("endpoints.{long}.io/last-change-trigger-time"), env.dialect.last_applied)
        self._batch = env.settings.mirroring_endpointslice_updates_batch_period
        self._endpoints = self.follow(ENDPOINTS, self._endpoints_changed, primary=True)
        self._services = self.follow(SERVICES, self._service_changed)
        self._numbers = SliceMetrics(_SUBSYSTEM, self._most)
        self._updated = Distribution(
            f"{_SUBSYSTEM}_endpoints_updated_per_sync", "Endpoints of slices that were updated.", _NUMBERS
        )
        self._skipped = Distribution(
            f"{_SUBSYSTEM}_addresses_skipped_per_sync",
            "Addresses that were skipped: invalid ones, and those beyond the limit.",
            _NUMBERS,
        )
        self._seconds = Distribution(
            f"{_SUBSYSTEM}_endpoints_sync_duration", "Seconds to look at Endpoints.", exponential(0.001, 2, 15)
        )
        self.instruments = (*self._numbers.instruments, self._updated, self._skipped, self._seconds)
        self._slices = self.follow(self._ref, self._slice_changed)
        self._slices.add_index(_BY_SERVICE, self._labels.index)
        self._expected: Expectations[Key] = Expectations(self._slices, env.clock.seconds)

    def _endpoints_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        obj = new or old
        if obj is not None:
            self.queue.add_after(key_of(obj), self._batch)

    def _service_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if old is None or new is None or bool(spec(old).get("selector")) != bool(spec(new).get("selector")):
            self.enqueue(event, old, new)

    def _slice_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._expected.observe(old, new)
        for key in self._labels.services(old, new):
            self.queue.add(key)

    async def reconcile(self, key: Key) -> float | None:
        began = self.env.clock.seconds()
        try:
            return await self._mirror(key)
        finally:
            self._seconds.observe(self.env.clock.seconds() - began)

    async def _mirror(self, key: Key) -> float | None:
        pause = self._expected.pause(key)
        if pause:
            return pause
        endpoints = self._endpoints.get(*key)
        current = [s for s in self._slices.by_index(_BY_SERVICE, f"{key[0]}/{key[1]}") if not deleting(s)]
        if endpoints is None or not self._mirrors(endpoints):
            for each in current:
                await self.remove(self._ref, namespace(each), name(each))
                self._numbers.changes.add("delete")
            self._numbers.forget(key)
            return None
        desired, wrong, surplus = group_addresses(endpoints, self._most)
        self._skipped.observe(wrong + surplus)
        self._numbers.record(key, [len(entries) for entries in desired.values()], current)
        if wrong:
            note = f"Skipped {wrong} invalid IP addresses when mirroring to EndpointSlices"
            self.record(endpoints, WARNING, "InvalidIPAddress", note)
        if surplus:
            note = (
                f"A max of {self._most} addresses can be mirrored to EndpointSlices per Endpoints subset. "
                f"{surplus + wrong} addresses were skipped"
            )
            self.record(endpoints, WARNING, "TooManyAddressesToMirror", note)
        with ignore_terminating_namespace():
            await self._write(key, endpoints, desired, current)
        return None

    def _mirrors(self, endpoints: Object) -> bool:
        """True if the Endpoints belong to a service without a selector and do not opt out of mirroring."""
        if (
            deleting(endpoints)
            or labels(endpoints).get(self._skip_label) == "true"
            or self._leader in annotations_of(endpoints)
        ):
            return False
        service = self._services.get(*key_of(endpoints))
        return service is not None and not spec(service).get("selector")

    async def _write(
        self, key: Key, endpoints: Object, desired: dict[Group, list[dict[str, Any]]], current: list[Object]
    ) -> None:
        """Write one slice per group. A surplus slice is reused for another group of the same address family."""
        by_group: dict[Group, list[Object]] = {}
        for each in sorted(current, key=name):
            by_group.setdefault((str(each.get("addressType")), _ports(each.get("ports") or ())), []).append(each)
        chosen = {group: by_group[group].pop(0) for group in desired if group in by_group}
        surplus = [each for slices in by_group.values() for each in slices]
        for group, entries in desired.items():
            old = chosen.get(group)
            if old is None:
                old = next((each for each in surplus if each.get("addressType") == group[0]), None)
                if old is not None:
                    surplus.remove(old)
            await self._put(key, endpoints, group, entries, old)
        for each in surplus:
            await self.remove(self._ref, namespace(each), name(each))
            self._numbers.changes.add("delete")

    async def _put(
        self, key: Key, endpoints: Object, group: Group, entries: list[dict[str, Any]], old: Object | None
    ) -> None:
        tags = {**labels(endpoints), **self._labels.for_service(name(endpoints))}
        notes = {k: v for k, v in annotations_of(endpoints).items() if k not in self._unmirrored}
        ports = [{"name": p.name, **p.as_json()} for p in group[1]]
        mirrored: dict[str, Any] = {"addressType": group[0], "ports": ports, "endpoints": entries}
        if old is not None:
            same = labels(old) == tags and annotations_of(old) == notes and _ports(old.get("ports") or ()) == group[1]
            if same and (old.get("endpoints") or []) == entries:
                return
            metadata = {**old["metadata"], "labels": tags, "annotations": notes}
            await self.client.update(
                self._ref, namespace(old), name(old), {**old, **mirrored, "metadata": metadata}, need_response=False
            )
            self._numbers.changes.add("update")
            self._updated.observe(len(entries))
            return
        metadata = {
            "generateName": f"{name(endpoints)}-",
            "namespace": namespace(endpoints),
            "labels": tags,
            "annotations": notes,
            "ownerReferences": [owner_reference(endpoints, "v1", "Endpoints")],
        }
        body = {"apiVersion": self._api_version, "kind": "EndpointSlice", "metadata": metadata, **mirrored}
        self._expected.expect_creation(key, await self.client.create(self._ref, namespace(endpoints), body))
        self._numbers.changes.add("create")
