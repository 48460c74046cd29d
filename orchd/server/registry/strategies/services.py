"""Services: cluster IPs, IP families and node ports are allocated before the object is checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from ipaddress import ip_address
from random import Random
from typing import Any

from orchd import errors
from orchd.cache.interfaces import ICache
from orchd.errors import ApiError, Cause
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.interfaces import Context, Object
from orchd.server.registry.ranges import AddressRange, Exhausted, NumberRange, OutOfRange, Taken
from orchd.server.registry.strategies.base import Strategy
from orchd.server.registry.strategies.taken import TakenByServices, addresses_of, ports_of

HEADLESS = "None"


def needs_cluster_ip(spec: Mapping[str, Any]) -> bool:
    """Every type but ExternalName has cluster IPs (or says that it wants none)."""
    return spec.get("type", "ClusterIP") in ("ClusterIP", "NodePort", "LoadBalancer")


def needs_node_ports(spec: Mapping[str, Any]) -> bool:
    kind = spec.get("type")
    return kind == "NodePort" or (kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts", True) is not False)


class ServiceStrategy(Strategy):
    """Keeps the two ranges of one server."""

    def __init__(
        self, resource: Resource, catalog: Catalog, settings: ObjectSettings, *, cache: Callable[[], ICache], random: Random
    ) -> None:
        super().__init__(resource, catalog, settings)
        self._cache = cache
        taken = TakenByServices(cache)
        self.addresses = tuple(
            AddressRange(network, partial(taken.addresses, network.version), random) for network in settings.service_cidrs
        )
        low, high = settings.node_ports
        self.ports = NumberRange(low, high, taken.ports, random)

    async def allocate(self, context: Context, obj: Object, old: Object | None) -> tuple[Object, Callable[[], None]]:
        await self._cache().fresh()
        spec = dict(obj.get("spec") or {})
        before: Mapping[str, Any] = (old or {}).get("spec") or {}
        if old is not None:
            _carry_over(spec, before)
        _drop_foreign(spec, before)
        settlers: list[Callable[[], None]] = []

        def settle() -> None:
            for each in settlers:
                each()

        name = (obj.get("metadata") or {}).get("name", "")
        try:
            if needs_cluster_ip(spec):
                self._families(spec)
                self._addresses(name, spec, before, settlers, pretend=context.dry_run)
            if needs_node_ports(spec):
                self._node_ports(name, spec, before, settlers)
        except Exception:
            # Whatever it was: nothing will come of this write.
            settle()
            raise
        return {**obj, "spec": spec}, settle

    def claims(self, obj: Object) -> frozenset[str]:
        spec = obj.get("spec") or {}
        return frozenset(
            (*(f"addresses/{address}" for address in addresses_of(spec)), *(f"node-ports/{n}" for n in ports_of(spec)))
        )

    def _families(self, spec: dict[str, Any]) -> None:
        """IP families and their policy, where the client left them out."""
        given = [str(a) for a in spec.get("clusterIPs") or ()] or ([spec["clusterIP"]] if spec.get("clusterIP") else [])
        have = {network.version for network in self.settings.service_cidrs}
        families = list(spec.get("ipFamilies") or ())
        if not families:
            for address in given:
                if address != HEADLESS and _version(address):
                    families.append(f"IPv{_version(address)}")
        if not families:
            families.append(f"IPv{self.settings.service_cidrs[0].version}")
        policy = spec.get("ipFamilyPolicy")
        if not policy:
            headless_alone = given == [HEADLESS] and not spec.get("selector")
            policy = "RequireDualStack" if headless_alone else "SingleStack"
        dual = policy in ("RequireDualStack", "PreferDualStack") and (len(have) > 1 or given == [HEADLESS])
        if dual and len(families) == 1 and (policy == "RequireDualStack" or len(have) > 1):
            families.append("IPv6" if families[0] == "IPv4" else "IPv4")
        spec["ipFamilies"], spec["ipFamilyPolicy"] = families, policy

    def _addresses(
        self,
        name: str,
        spec: dict[str, Any],
        before: Mapping[str, Any],
        settlers: list[Callable[[], None]],
        *,
        pretend: bool,
    ) -> None:
        """`pretend` is for dry runs, which the reference lets have any address that is asked for."""
        given = list(spec.get("clusterIPs") or ())
        if spec.get("clusterIP") and not given:
            given = [spec["clusterIP"]]
        if given[:1] == [HEADLESS]:
            spec["clusterIP"], spec["clusterIPs"] = HEADLESS, [HEADLESS]
            return
        kept = set(before.get("clusterIPs") or ()) if needs_cluster_ip(before) else set()
        out: list[str] = []
        for position, family in enumerate(spec["ipFamilies"]):
            wanted = given[position] if position < len(given) else ""
            space = next((a for a in self.addresses if f"IPv{a.network.version}" == family), None)
            if space is None:
                continue
            if wanted and (pretend or wanted in kept or _version(wanted) != space.network.version):
                out.append(wanted)
                continue
            out.append(self._one_address(name, space, wanted, settlers))
        if out:
            spec["clusterIP"], spec["clusterIPs"] = out[0], out

    def _one_address(
        self, name: str, space: AddressRange, wanted: str, settlers: list[Callable[[], None]]
    ) -> str:
        listed = f'[]string{{"{wanted}"}}'
        head = f"Invalid value: {listed}: failed to allocate IP {wanted}: "
        try:
            if wanted:
                space.take(wanted)
                address = wanted
            else:
                address = space.take_any()
        except Taken:
            raise self._invalid(name, "spec.clusterIPs", head + "provided IP is already allocated") from None
        except OutOfRange:
            why = f"the provided IP ({wanted}) is not in the valid range. The range of valid IPs is {space.network}"
            raise self._invalid(name, "spec.clusterIPs", head + why) from None
        except Exhausted:
            raise errors.internal("failed to allocate a serviceIP: range is full") from None
        settlers.append(lambda: space.settle(address))
        return address

    def _node_ports(
        self, name: str, spec: dict[str, Any], before: Mapping[str, Any], settlers: list[Callable[[], None]]
    ) -> None:
        kept = {p["nodePort"] for p in before.get("ports") or () if p.get("nodePort")}
        if before.get("healthCheckNodePort"):
            kept.add(before["healthCheckNodePort"])
        ports = [dict(p) for p in spec.get("ports") or ()]
        #: One node port may serve the same service in two protocols.
        mine: dict[int, set[str]] = {}
        for position, port in enumerate(ports):
            wanted, protocol = port.get("nodePort") or 0, port.get("protocol", "TCP")
            path = f"spec.ports[{position}].nodePort"
            if wanted in mine and protocol not in mine[wanted]:
                mine[wanted].add(protocol)
                continue
            if not wanted:
                same = next((p for p in ports if p is not port and p.get("port") == port.get("port") and p.get("nodePort")), None)
                if same is not None and protocol not in mine.get(same["nodePort"], set()):
                    port["nodePort"] = same["nodePort"]
                    mine.setdefault(same["nodePort"], set()).add(protocol)
                    continue
            taken = wanted if wanted in kept else self._one_port(name, path, wanted, settlers)
            port["nodePort"] = taken
            mine.setdefault(taken, set()).add(protocol)
        if ports:
            spec["ports"] = ports
        if spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local":
            wanted = spec.get("healthCheckNodePort") or 0
            if wanted not in kept or not wanted:
                spec["healthCheckNodePort"] = self._one_port(name, "spec.healthCheckNodePort", wanted, settlers)

    def _one_port(self, name: str, path: str, wanted: int, settlers: list[Callable[[], None]]) -> int:
        try:
            if wanted:
                self.ports.take(wanted)
                taken = wanted
            else:
                taken = self.ports.take_any()
        except Taken:
            raise self._invalid(name, path, f"Invalid value: {wanted}: provided port is already allocated") from None
        except OutOfRange:
            low, high = self.settings.node_ports
            why = f"provided port is not in the valid range. The range of valid ports is {low}-{high}"
            raise self._invalid(name, path, f"Invalid value: {wanted}: {why}") from None
        except Exhausted:
            raise errors.internal("failed to allocate a nodePort: range is full") from None
        settlers.append(lambda: self.ports.settle(taken))
        return taken

    def _invalid(self, name: str, path: str, message: str) -> ApiError:
        return errors.invalid("", "Service", name, [Cause("FieldValueInvalid", message, path)])


def _version(address: str) -> int:
    try:
        return ip_address(address).version
    except ValueError:
        return 0


def _carry_over(spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    """What was allocated stays when a client leaves it out of an update."""
    if needs_cluster_ip(spec) and needs_cluster_ip(before):
        if not spec.get("clusterIP") and not spec.get("clusterIPs"):
            for member in ("clusterIP", "clusterIPs"):
                if before.get(member):
                    spec[member] = before[member]
        elif spec.get("clusterIP") and not spec.get("clusterIPs") and spec["clusterIP"] == before.get("clusterIP"):
            spec["clusterIPs"] = before.get("clusterIPs") or [spec["clusterIP"]]
        elif spec.get("clusterIPs") and not spec.get("clusterIP"):
            spec["clusterIP"] = spec["clusterIPs"][0]
        for member in ("ipFamilies", "ipFamilyPolicy"):
            if not spec.get(member) and before.get(member):
                spec[member] = before[member]
    if needs_node_ports(spec) and needs_node_ports(before):
        known = {(p.get("port"), p.get("protocol", "TCP")): p["nodePort"] for p in before.get("ports") or () if p.get("nodePort")}
        spec["ports"] = _with_ports(spec.get("ports") or (), known)
        if not spec.get("healthCheckNodePort") and before.get("healthCheckNodePort"):
            spec["healthCheckNodePort"] = before["healthCheckNodePort"]


def _with_ports(ports: Iterable[Mapping[str, Any]], known: Mapping[Any, int]) -> list[dict[str, Any]]:
    out = []
    used = {p.get("nodePort") for p in ports}
    for port in ports:
        old = known.get((port.get("port"), port.get("protocol", "TCP")))
        out.append({**port, "nodePort": old} if old and old not in used and not port.get("nodePort") else dict(port))
    return out


#: Types that take traffic from outside.
_EXTERNAL = frozenset(("NodePort", "LoadBalancer"))


def _drop_same(spec: dict[str, Any], before: Mapping[str, Any], *members: str) -> None:
    for member in members:
        if spec.get(member) == before.get(member):
            spec.pop(member, None)


def _drop_foreign(spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    """What belongs to the type that a service no longer has goes, unless the client changed it as well."""
    if not needs_cluster_ip(spec) and needs_cluster_ip(before):
        _drop_same(spec, before, "clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy")
    if not needs_node_ports(spec) and needs_node_ports(before):
        old = [p.get("nodePort") for p in before.get("ports") or ()]
        spec["ports"] = [
            {k: v for k, v in p.items() if k != "nodePort"} if p.get("nodePort") in old else p
            for p in spec.get("ports") or ()
        ]
    if spec.get("type") not in _EXTERNAL and before.get("type") in _EXTERNAL:
        _drop_same(spec, before, "externalTrafficPolicy")
    if spec.get("type") != "LoadBalancer" and before.get("type") == "LoadBalancer":
        _drop_same(spec, before, "allocateLoadBalancerNodePorts", "loadBalancerClass")
    local = spec.get("type") == "LoadBalancer" and spec.get("externalTrafficPolicy") == "Local"
    if not local and spec.get("healthCheckNodePort") == before.get("healthCheckNodePort"):
        spec.pop("healthCheckNodePort", None)
