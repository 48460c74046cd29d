"""EndpointSlices: the addresses of a service's pods in objects of bounded size."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Key
from orchd.controllers.batching import batch_seconds
from orchd.controllers.endpoints import targets
from orchd.controllers.endpoints.service_controller import ServiceController
from orchd.controllers.endpoints.slice_labels import SliceLabels
from orchd.controllers.endpoints.slice_metrics import SliceMetrics
from orchd.controllers.endpoints.topology_hints import (
    NodeCapacity,
    NoHintsError,
    Portion,
    Shares,
    assign,
    is_overloaded,
    shares_of,
)
from orchd.controllers.endpoints.trigger_times import with_trigger_time
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.expectations import Expectations
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.objects import NODES
from orchd.controllers.pods import is_ready
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import (
    annotations_of,
    deleting,
    labels,
    mapping,
    name,
    namespace,
    owner_reference,
    owners,
    spec,
    status,
    uid,
)
from orchd.kinds.jsonvalues import Object
from orchd.kinds.quantities import amount
from orchd.txkit.metrics.instruments import Counter, Distribution, ObservedGauge

_BY_SERVICE = "controllers/service"
#: Annotations of services that ask for hints by topology; the first one that is there counts.
_TOPOLOGY_MODES: Final = (
    ("", ("service.{long}.io/topology-aware-hints",)),
    ("1.27", ("service.{long}.io/topology-aware-hints", "service.{long}.io/topology-mode")),
)
#: Whether events about services say that hints begin and end.
_TELLS_OF_HINTS: Final = (("", False), ("1.24", True))
#: Whether pods whose nodes do not exist are left out of the slices. If not, they prevent every write.
_OMITS_UNPLACED: Final = (("", False), ("1.24", True))
#: Labels of nodes that no endpoints are meant to be on.
_EXCLUDED_NODES: Final = ("node-role.{long}.io/control-plane", "node-role.{long}.io/master")
#: Labels of changes per sync, by release, and the first release that counts services by traffic distribution.
_CHANGED_LABELS: Final = (("", ("topology",)), ("1.30", ("topology", "traffic_distribution")))
_DISTRIBUTIONS_SINCE: Final = "1.33"
#: Values of spec.trafficDistribution: the gate of each, and hints with the members of an endpoint that they repeat.
_DISTRIBUTIONS: Final[Mapping[str, tuple[str, tuple[tuple[str, str], ...]]]] = {
    "PreferClose": ("ServiceTrafficDistribution", (("forZones", "zone"),)),
    "PreferSameZone": ("PreferSameTrafficDistribution", (("forZones", "zone"),)),
    "PreferSameNode": ("PreferSameTrafficDistribution", (("forZones", "zone"), ("forNodes", "nodeName"))),
}

Group = tuple[str, tuple[targets.Port, ...]]


@dataclass(frozen=True, slots=True)
class _Plan:
    """The endpoints that a slice is to have; `current` is None for a new one."""

    group: Group
    current: Object | None
    entries: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class _Unplaced:
    """A pod whose node does not exist."""

    pod: str
    node: str


#: Endpoints of a pod by address family.
_Endpoints = list[tuple[Group, dict[str, Any]]]


#: Bucket bounds, the client library's own in the reference.
_CHANGED = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class EndpointSliceController(ServiceController[_Endpoints | _Unplaced]):
    """Keeps endpoints in their slices where possible, so that a change of one pod writes one slice."""

    name = "endpointslice"
    account = "endpointslice-controller"
    component = "endpoint-slice-controller"
    subject = ("v1", "Service")

    def __init__(self, env: Environment) -> None:
        settings = env.settings
        workers, batch = settings.concurrent_service_endpoint_syncs, settings.endpointslice_updates_batch_period
        super().__init__(env, workers=workers, batch=batch)
        self._most = env.settings.max_endpoints_per_slice
        group = env.dialect("discovery.{abbr}.io")
        self._ref = ResourceRef(group, "v1", "endpointslices")
        self._api_version = f"{group}/v1"
        self._own_labels = SliceLabels(env.dialect, "endpointslice-controller.{abbr}.io")
        self._headless = env.dialect("service.{long}.io/headless")
        self._zone_label = env.dialect("topology.{long}.io/zone")
        self._refer = env.release.choose(targets.REFERENCES)
        self._distributions = {value: hints for value, (gate, hints) in _DISTRIBUTIONS.items() if env.feature(gate)}
        self._topology_modes = tuple(env.dialect(key) for key in env.release.choose(_TOPOLOGY_MODES))
        self._hints_topology = env.feature("TopologyAwareHints")
        self._tells_of_hints = env.release.choose(_TELLS_OF_HINTS)
        self._omits_unplaced = env.release.choose(_OMITS_UNPLACED)
        self._excluded_nodes = tuple(env.dialect(label) for label in _EXCLUDED_NODES)
        self._numbers = SliceMetrics("endpoint_slice_controller", self._most)
        labels = env.release.choose(_CHANGED_LABELS)
        self._changed_labels = len(labels)
        self._changed_per_sync = Distribution(
            "endpoint_slice_controller_endpointslices_changed_per_sync",
            "EndpointSlices changed per sync of a service.", _CHANGED, labels,
        )  # fmt: skip
        #: The value of spec.trafficDistribution that counts, by service.
        self._distributed: dict[Key, str] = {}
        by_distribution = ObservedGauge(
            "endpoint_slice_controller_services_count_by_traffic_distribution",
            "Services by their traffic distribution.",
            lambda: {(value,): float(number) for value, number in Tally(self._distributed.values()).items()},
            ("traffic_distribution",),
        )
        self._syncs = Counter("endpoint_slice_controller_syncs", "Syncs of services, by result.", ("result",))
        later = (by_distribution,) if env.release.includes(_DISTRIBUTIONS_SINCE) else ()
        self.instruments = (*self._numbers.instruments, self._changed_per_sync, self._syncs, *later)
        #: Zones of the nodes, "" for none.
        self._zones: dict[str, str] = {}
        #: What the ready nodes have, and the shares of zones in it.
        self._capacities: dict[str, NodeCapacity] = {}
        self._shares: Shares | None = None
        #: By service and address family: the number of endpoints by zone that hints name.
        self._hinted: dict[Key, dict[str, Mapping[str, int]]] = {}
        self.follow(NODES, self._node_changed, complete=True)
        self._slices = self.follow(self._ref, self._slice_changed)
        self._slices.add_index(_BY_SERVICE, self._own_labels.index)
        self._expected: Expectations[Key] = Expectations(self._slices, env.clock.seconds)

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is not None:
            self._zones[name(new)] = labels(new).get(self._zone_label, "")
        elif old is not None:
            self._zones.pop(name(old), None)
        if self._hints_topology:
            self._capacity_changed(name(new or old or {}), new)

    def _capacity_changed(self, node: str, new: Object | None) -> None:
        """Queue the services whose hints no longer suffice with the node as it is now."""
        before = self._capacities.pop(node, None)
        if new is not None and is_ready(new) and not any(label in labels(new) for label in self._excluded_nodes):
            processors = amount(mapping(status(new), "allocatable").get("cpu") or 0)
            self._capacities[node] = NodeCapacity(labels(new).get(self._zone_label, ""), float(1000 * processors))
        if self._capacities.get(node) == before:
            return
        self._shares = shares_of(self._capacities.values())
        for key, families in list(self._hinted.items()):
            if any(is_overloaded(zones, self._shares) for zones in families.values()):
                self.queue.add(key)

    def _slice_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._expected.observe(old, new)
        for key in self._own_labels.services(old, new):
            self.queue.add_after(key, batch_seconds(self._selected.count(key)))

    async def reconcile(self, key: Key) -> float | None:
        service = self._services.get(*key)
        # The garbage collector deletes the slices of a deleted service.
        if service is None or deleting(service) or not spec(service).get("selector"):
            self._numbers.forget(key)
            self._hinted.pop(key, None)
            self._distributed.pop(key, None)
            return None
        pause = self._expected.pause(key)
        if pause:
            self._syncs.add("stale")
            return pause
        desired, unplaced, time = await self._desired_endpoints(service)
        current = [s for s in self._slices.by_index(_BY_SERVICE, f"{key[0]}/{key[1]}") if not deleting(s)]
        self._numbers.record(key, [len(endpoints) for endpoints in desired.values()], current)
        try:
            if self._omits_unplaced or not unplaced:
                await self._write(service, desired, current, time)
        except ApiError as error:
            self._syncs.add("error")
            if not terminating_namespace(error):
                self._tell_failure(service, error.message)
                raise
            return None
        if unplaced:
            self._syncs.add("error")
            self._tell_failure(service, self._describe_unplaced(service, unplaced))
            raise RetryError
        self._syncs.add("success")
        return None

    def _tell_failure(self, service: Object, why: str) -> None:
        note = f"Error updating Endpoint Slices for Service {namespace(service)}/{name(service)}: {why}"
        self.record(service, WARNING, "FailedToUpdateEndpointSlices", note)

    def _describe_unplaced(self, service: Object, unplaced: Sequence[_Unplaced]) -> str:
        if not self._omits_unplaced:
            return f'node "{unplaced[0].node}" not found'
        where = f"{namespace(service)}/{name(service)}"
        notes = [f"skipping Pod {each.pod} for Service {where}: Node {each.node} Not Found" for each in unplaced]
        return notes[0] if len(notes) == 1 else f"[{', '.join(notes)}]"

    # -- what there should be

    def zone_of(self, node: str) -> str | None:
        return self._zones.get(node)

    def describe(self, service: Object, pod: Object, zone: str | None) -> _Endpoints | _Unplaced:
        """The pod's endpoint by address family."""
        conditions = self.env.feature("EndpointSliceTerminatingCondition")
        published = bool(spec(service).get("publishNotReadyAddresses"))
        if not targets.reachable(pod, terminating=conditions or published):
            return []
        if zone is None and not (self._omits_unplaced and published):
            return _Unplaced(name(pod), str(spec(pod).get("nodeName") or ""))
        addresses = ((family, targets.address_of(pod, family)) for family in targets.families(service))
        ports = targets.ports_of(service, pod)
        endpoints = [
            ((family, ports), _endpoint(service, pod, zone or "", address, self._refer))
            for family, address in addresses
            if address
        ]
        for _, endpoint in endpoints:
            hints = self._hints(service, endpoint)
            if hints:
                endpoint["hints"] = hints
        if not conditions:
            for _, endpoint in endpoints:
                endpoint["conditions"] = {"ready": endpoint["conditions"]["ready"]}
        return endpoints

    def _hints(self, service: Object, endpoint: dict[str, Any]) -> dict[str, Any]:
        """The zones and nodes whose clients should use an endpoint, as spec.trafficDistribution says. An annotation
        that asks for hints by topology overrides it."""
        distribution = self._distributions.get(self._distribution(service), ())
        if not endpoint["conditions"]["ready"]:
            return {}
        return {hint: [{"name": endpoint[member]}] for hint, member in distribution if endpoint.get(member)}

    def _wants_topology(self, service: Object) -> bool:
        """True if an annotation asks for hints by topology."""
        notes = annotations_of(service)
        return next((notes[key] for key in self._topology_modes if key in notes), "") in ("Auto", "auto")

    def _add_topology_hints(self, service: Object, plans: Sequence[_Plan]) -> list[_Plan]:
        """`plans` with hints by topology, if the service asks for them."""
        families = sorted({plan.group[0] for plan in plans})
        if not (self._hints_topology and self._wants_topology(service)):
            if self._hinted.pop(key_of(service), None) is not None:
                for family in families:
                    self._tell_of_hints(service, "Topology Aware Hints has been disabled", family)
            return list(plans)
        tags, portions = self._labels(service), []
        for plan in plans:
            before = plan.current.get("endpoints") or [] if plan.current is not None else []
            plain = [{key: value for key, value in each.items() if key != "hints"} for each in before]
            unchanged = plan.current is not None and labels(plan.current) == tags
            unchanged = unchanged and targets.same_entries(plain, plan.entries)
            portions.append(Portion([dict(each) for each in (before if unchanged else plan.entries)], unchanged))
        for family in families:
            self._hint_family(
                service, family, [p for p, plan in zip(portions, plans, strict=True) if plan.group[0] == family]
            )
        return [replace(plan, entries=portion.endpoints) for plan, portion in zip(plans, portions, strict=True)]

    def _hint_family(self, service: Object, family: str, portions: Sequence[Portion]) -> None:
        key = key_of(service)
        try:
            hinted = assign(portions, self._shares)
        except NoHintsError as error:
            families = self._hinted.get(key, {})
            families.pop(family, None)
            if not families:
                self._hinted.pop(key, None)
            self._tell_of_hints(service, str(error), family)
            return
        if key not in self._hinted:
            self._tell_of_hints(service, "Topology Aware Hints has been enabled", family, begin=True)
        self._hinted.setdefault(key, {})[family] = hinted

    def _tell_of_hints(self, service: Object, note: str, family: str, *, begin: bool = False) -> None:
        if self._tells_of_hints:
            reason = "TopologyAwareHintsEnabled" if begin else "TopologyAwareHintsDisabled"
            self.record(service, NORMAL if begin else WARNING, reason, f"{note}, addressType: {family}")

    async def _desired_endpoints(
        self, service: Object
    ) -> tuple[dict[Group, dict[str, dict[str, Any]]], list[_Unplaced], str]:
        """Endpoints by address family and ports, then by pod; pods without nodes; and the time of their change."""
        desired: dict[Group, dict[str, dict[str, Any]]] = {}
        descriptions, time = await self.describe_pods(service)
        for endpoints in descriptions:
            for group, endpoint in () if isinstance(endpoints, _Unplaced) else endpoints:
                desired.setdefault(group, {})[_pod(endpoint)] = endpoint
        for family in targets.families(service):
            if not any(group[0] == family for group in desired):
                # A service without pods has one empty slice, which distinguishes it from a service that was not synced
                # yet.
                desired[family, ()] = {}
        return desired, [each for each in descriptions if isinstance(each, _Unplaced)], time

    # -- what there is

    async def _write(
        self, service: Object, desired: dict[Group, dict[str, dict[str, Any]]], current: list[Object], time: str
    ) -> None:
        by_group: dict[Group, list[Object]] = {}
        for each in current:
            by_group.setdefault(_group(each), []).append(each)
        before = self._operations()
        surplus: list[Object] = []
        writes: list[_Plan] = []
        for group, slices in by_group.items():
            if group not in desired:
                surplus.extend(slices)
        for group, endpoints in desired.items():
            left = dict(endpoints)
            plans: list[tuple[Object | None, list[dict[str, Any]]]] = []
            for each in sorted(by_group.get(group, ()), key=name):
                kept = [e for e in (left.pop(_pod(old), None) for old in each.get("endpoints") or ()) if e is not None]
                plans.append((each, kept))
            for plan in plans:
                room = max(0, self._most - len(plan[1]))
                for key in list(islice(left, room)):
                    plan[1].append(left.pop(key))
            rest = list(left.values())
            while rest:
                plans.append((None, rest[: self._most]))
                rest = rest[self._most :]
            if not plans:
                plans.append((None, []))
            filled = [p for p in plans if p[1]] or plans[:1]
            surplus.extend(p[0] for p in plans if p not in filled and p[0] is not None)
            writes += (_Plan(group, each_or_none, entries) for each_or_none, entries in filled)
        for write in self._add_topology_hints(service, _reuse(service, writes, surplus)):
            await self._put(service, write, time)
        for each in surplus:
            await self.remove(self._ref, namespace(each), name(each))
            self._numbers.changes.add("delete")
        by_topology = self._hints_topology and self._wants_topology(service)
        distribution = self._distribution(service)
        if distribution:
            self._distributed[key_of(service)] = distribution
        else:
            self._distributed.pop(key_of(service), None)
        values = ("Auto" if by_topology else "Disabled", distribution)
        self._changed_per_sync.observe(self._operations() - before, *values[: self._changed_labels])

    def _distribution(self, service: Object) -> str:
        """The value of spec.trafficDistribution, "" if it has no effect."""
        value = str(spec(service).get("trafficDistribution") or "")
        return value if value in self._distributions and not self._wants_topology(service) else ""

    def _operations(self) -> float:
        """Changes of slices so far."""
        return sum(self._numbers.changes.values.values())

    def _labels(self, service: Object) -> dict[str, str]:
        return {**targets.labels_for(service, self._headless), **self._own_labels.for_service(name(service))}

    async def _put(self, service: Object, plan: _Plan, time: str) -> None:
        current, entries, tags = plan.current, plan.entries, self._labels(service)
        if current is not None:
            same = labels(current) == tags and _group(current) == plan.group
            if same and targets.same_entries(current.get("endpoints") or [], entries):
                return
            self.spend(len(entries))
            notes = with_trigger_time(annotations_of(current), self._trigger_note, time)
            metadata = {**current["metadata"], "labels": tags, "annotations": notes}
            await self.client.update(
                self._ref,
                namespace(current),
                name(current),
                {**current, "metadata": metadata, "ports": _ports(plan.group), "endpoints": entries},
                need_response=False,
            )
            self._numbers.changes.add("update")
            return
        fresh = {
            "apiVersion": self._api_version,
            "kind": "EndpointSlice",
            "metadata": {
                "generateName": f"{name(service)}-",
                "namespace": namespace(service),
                "labels": tags,
                "annotations": with_trigger_time({}, self._trigger_note, time),
                "ownerReferences": [owner_reference(service, "v1", "Service")],
            },
            "addressType": plan.group[0],
            "ports": _ports(plan.group),
            "endpoints": entries,
        }
        created = await self.client.create(self._ref, namespace(service), fresh)
        self._numbers.changes.add("create")
        self._expected.expect_creation((namespace(service), name(service)), created)


def _endpoint(service: Object, pod: Object, zone: str, address: str, refer: targets.Reference) -> dict[str, Any]:
    serving = is_ready(pod)
    ready = bool(spec(service).get("publishNotReadyAddresses")) or (serving and not deleting(pod))
    out: dict[str, Any] = {
        "addresses": [address],
        "conditions": {"ready": ready, "serving": serving, "terminating": deleting(pod)},
        "targetRef": refer(pod),
    }
    host = targets.hostname(service, pod)
    if host:
        out["hostname"] = host
    node = spec(pod).get("nodeName")
    if node:
        out["nodeName"] = node
        if zone:
            out["zone"] = zone
    return out


def _reuse(service: Object, plans: Sequence[_Plan], surplus: list[Object]) -> list[_Plan]:
    """`plans` with surplus slices of the service and the family in place of new ones, which are removed from
    `surplus`."""
    reused: list[_Plan] = []
    for plan in plans:
        if plan.current is None:
            own = (each for each in surplus if each.get("addressType") == plan.group[0] and _belongs(each, service))
            slice_ = next(own, None)
            if slice_ is not None:
                surplus.remove(slice_)
                plan = replace(plan, current=slice_)
        reused.append(plan)
    return reused


def _belongs(slice_: Object, service: Object) -> bool:
    """False for a slice that is collected with an earlier service of the name."""
    return any(each.get("uid") == uid(service) for each in owners(slice_))


def _ports(group: Group) -> list[dict[str, Any]]:
    return [{"name": port.name, **port.as_json()} for port in group[1]]


def _group(obj: Object) -> Group:
    ports = tuple(
        sorted(
            targets.Port(
                p.get("name") or "", int(p.get("port") or 0), p.get("protocol", "TCP"), p.get("appProtocol", "")
            )
            for p in obj.get("ports") or ()
        )
    )
    return str(obj.get("addressType", "")), ports


def _pod(endpoint: dict[str, Any]) -> str:
    return str(mapping(endpoint, "targetRef").get("uid", ""))
