"""Endpoints: one object for a service, with the addresses of all its pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from orchd.controllers.base import Key
from orchd.controllers.endpoints import targets
from orchd.controllers.endpoints.service_controller import ServiceController
from orchd.controllers.endpoints.trigger_times import with_trigger_time
from orchd.controllers.event_objects import WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import ENDPOINTS
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import annotations_of, labels, name, namespace, spec
from orchd.kinds.jsonvalues import Object

#: Maximum addresses per object; a truncated object is annotated.
_MOST = 1000
#: Labels that say whose Endpoints are, by release.
_MARKS: Final[tuple[tuple[str, dict[str, str]], ...]] = (
    ("", {}),
    ("1.33", {"endpoints.{long}.io/managed-by": "endpoint-controller"}),
)


@dataclass(frozen=True, slots=True)
class Target:
    """One pod of a service: its address, the entry that shows it, the ports that it has (None for an entry without
    ports), and whether it is ready."""

    address: str
    entry: dict[str, Any]
    ports: tuple[targets.Port | None, ...]
    ready: bool


def make_target(service: Object, pod: Object, refer: targets.Reference) -> Target | None:
    """The target for a pod, None for an unreachable pod."""
    if not targets.reachable(pod, terminating=_unready(service)):
        return None
    address = targets.address_of(pod, targets.families(service)[0])
    if not address:
        return None
    entry: dict[str, Any] = {"ip": address}
    host = targets.hostname(service, pod)
    if host:
        entry["hostname"] = host
    if spec(pod).get("nodeName"):
        entry["nodeName"] = spec(pod)["nodeName"]
    entry["targetRef"] = refer(pod)
    ports: tuple[targets.Port | None, ...] = targets.ports_of(service, pod)
    if not spec(service).get("ports") and targets.headless(service):
        ports = (None,)
    return Target(address, entry, ports, targets.counts_as_ready(service, pod))


def subsets(addresses: Iterable[Target]) -> list[dict[str, Any]]:
    """Addresses grouped by equal ports."""
    by_port: dict[targets.Port | None, dict[str, Target]] = {}
    for each in addresses:
        for port in each.ports:
            by_port.setdefault(port, {})[each.address] = each
    groups: dict[tuple[Any, ...], list[targets.Port | None]] = {}
    for port, having in by_port.items():
        groups.setdefault(tuple(sorted((ip, each.ready) for ip, each in having.items())), []).append(port)
    out = []
    for ports in groups.values():
        members = by_port[ports[0]]
        subset: dict[str, Any] = {}
        for key, ready in (("addresses", True), ("notReadyAddresses", False)):
            entries = [members[ip].entry for ip in sorted(members) if members[ip].ready is ready]
            if entries:
                subset[key] = entries
        real = sorted(p for p in ports if p is not None)
        if real:
            subset["ports"] = [p.as_json() for p in real]
        out.append(subset)
    return out


def same_subsets(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> bool:
    """True if the subsets are equal, ignoring the resource versions of their target references."""
    if len(one) != len(other):
        return False
    return all(
        (a.get("ports") or []) == (b.get("ports") or [])
        and all(targets.same_entries(a.get(key) or [], b.get(key) or []) for key in ("addresses", "notReadyAddresses"))
        for a, b in zip(one, other, strict=True)
    )


def limited(every: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], bool]:
    """At most the given number of addresses, ready ones first, and True if any were omitted."""
    left, cut, out = _MOST, False, []
    for subset in every:
        kept = dict(subset)
        for key in ("addresses", "notReadyAddresses"):
            entries = subset.get(key) or []
            if len(entries) > left:
                cut = True
                entries = entries[:left]
            left -= len(entries)
            if entries:
                kept[key] = entries
            else:
                kept.pop(key, None)
        if kept.get("addresses") or kept.get("notReadyAddresses"):
            out.append(kept)
    return out, cut


class EndpointsController(ServiceController[Target | None]):
    name = "endpoint"
    account = "endpoint-controller"
    subject = ("v1", "Endpoints")

    def __init__(self, env: Environment) -> None:
        settings = env.settings
        super().__init__(env, workers=settings.concurrent_endpoint_syncs, batch=settings.endpoint_updates_batch_period)
        self._headless = env.dialect("service.{long}.io/headless")
        self._capacity = env.dialect("endpoints.{long}.io/over-capacity")
        self._refer = env.release.choose(targets.REFERENCES)
        #: Labels of all Endpoints.
        self._marks = {env.dialect(key): value for key, value in env.release.choose(_MARKS).items()}
        self._endpoints = self.follow(ENDPOINTS, self._endpoints_changed)

    def _endpoints_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Enqueue the service whose Endpoints were deleted by another client, so that they are created again."""
        if new is None and old is not None and self._services.get(namespace(old), name(old)) is not None:
            self.queue.add((namespace(old), name(old)))

    def describe(self, service: Object, pod: Object, zone: str | None) -> Target | None:
        return make_target(service, pod, self._refer)

    async def reconcile(self, key: Key) -> float | None:
        within, called = key
        service = self._services.get(within, called)
        if service is None:
            if self._endpoints.get(within, called) is not None:
                await self.remove(ENDPOINTS, within, called)
            return None
        if not spec(service).get("selector"):
            return None
        descriptions, time = await self.describe_pods(service)
        subset_list, cut = limited(subsets(each for each in descriptions if each is not None))
        current = await self.live(ENDPOINTS, within, called)
        tags = {**targets.labels_for(service, self._headless), **self._marks}
        notes = {k: v for k, v in annotations_of(current or {"metadata": {}}).items() if k != self._capacity}
        if cut:
            notes[self._capacity] = "truncated"
        if current is not None and (
            same_subsets(current.get("subsets") or [], subset_list)
            and labels(current) == tags
            and annotations_of(current) == notes
        ):
            return None
        metadata = {**(current or {}).get("metadata", {}), "name": called, "namespace": within, "labels": tags}
        metadata["annotations"] = with_trigger_time(notes, self._trigger_note, time)
        desired = {"apiVersion": "v1", "kind": "Endpoints", "metadata": metadata, "subsets": subset_list}
        self.spend(self._selected.count(key))
        try:
            if current is None:
                await self.client.create(ENDPOINTS, within, desired)
            else:
                await self.client.update(ENDPOINTS, within, called, desired, need_response=False)
        except ApiError as error:
            if not terminating_namespace(error):
                verb, past = ("create", "Create") if current is None else ("update", "Update")
                note = f"Failed to {verb} endpoint {within}/{called}: {error.message}"
                self.record(desired, WARNING, f"FailedTo{past}Endpoint", note)
                raise
        return None


def _unready(service: Object) -> bool:
    return bool(spec(service).get("publishNotReadyAddresses"))
