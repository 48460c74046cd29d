"""The strategy of each resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import Random
from typing import Final, TypeVar

from twisted.internet.interfaces import IReactorTime

from orchd.cache.interfaces import ICache
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.objects.settings import ObjectSettings
from orchd.server.registry.interfaces import IAddressRecords, IStrategy
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.strategies.api_services import APIServiceStrategy
from orchd.server.registry.strategies.autoscalers import AutoscalerStrategy
from orchd.server.registry.strategies.base import Strategy
from orchd.server.registry.strategies.cluster_ips import FlagRanges, IClusterIps, ObjectRanges
from orchd.server.registry.strategies.core_kinds import (
    ClaimStrategy,
    EventStrategy,
    ServiceAccountStrategy,
    VolumeStrategy,
)
from orchd.server.registry.strategies.custom import CustomStrategy
from orchd.server.registry.strategies.definitions import DefinitionStrategy
from orchd.server.registry.strategies.device_claims import DeviceClaimStrategy
from orchd.server.registry.strategies.namespaces import NamespaceStrategy
from orchd.server.registry.strategies.pods import PodStrategy
from orchd.server.registry.strategies.policies import PolicyStrategy
from orchd.server.registry.strategies.priority_classes import PriorityClassStrategy
from orchd.server.registry.strategies.service_allocations import (
    CacheIndex,
    RecordedAddresses,
    ServiceAllocations,
    ServiceRanges,
)
from orchd.server.registry.strategies.services import ServiceStrategy
from orchd.server.registry.strategies.signing_requests import SigningRequestStrategy
from orchd.server.registry.strategies.slices import SliceStrategy
from orchd.server.registry.strategies.workloads import (
    DaemonSetStrategy,
    DeploymentStrategy,
    JobStrategy,
    RevisionStrategy,
    StatefulSetStrategy,
)
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.turns import Gathering, shared_budget

Index = TypeVar("Index", bound=CacheIndex)
#: Group (a template) and plurals of the objects that ranges and addresses are.
NETWORK_GROUP: Final = "networking.{abbr}.io"
RANGES, ADDRESSES = "servicecidrs", "ipaddresses"
#: Kinds that gather their changes do so from this number in a second on, and for so many seconds.
_FEW, _GATHERED = 20, 0.01

#: Strategies by class name, which the row of a kind states (`orchd.kinds.rows.KindRow.strategy`).
STRATEGIES: Final[dict[str, type[Strategy]]] = {
    strategy.__name__: strategy
    for strategy in (
        APIServiceStrategy, AutoscalerStrategy, ClaimStrategy, DaemonSetStrategy, DefinitionStrategy,
        DeploymentStrategy,
        DeviceClaimStrategy, EventStrategy, JobStrategy, NamespaceStrategy, PodStrategy, PolicyStrategy,
        PriorityClassStrategy, RevisionStrategy,
        ServiceAccountStrategy, ServiceStrategy, SigningRequestStrategy, SliceStrategy, StatefulSetStrategy,
        VolumeStrategy,
    )
}  # fmt: skip


class Strategies:
    """Makes a strategy on first use of a resource and caches it while the resource is served."""

    def __init__(
        self,
        access: ObjectStore,
        *,
        clock: IReactorTime,
        random: Random,
        event_ttl: int = 3600,
        records: IAddressRecords | None = None,
        compute: ComputeThread | None = None,
    ) -> None:
        """With `records`, cluster IPs come from the ranges of ServiceCIDR objects and are recorded."""
        self._access = access
        self._clock = clock
        self._compute = compute or ComputeThread()
        self._random = random
        self._event_ttl = event_ttl
        self._records = records
        #: By group, version and plural: a resource that replaced another has its own strategy.
        self._by_resource: dict[tuple[str, str, str], tuple[Resource, IStrategy]] = {}

    def __call__(self, resource: Resource) -> IStrategy:
        key = (resource.group, resource.version, resource.plural)
        entry = self._by_resource.get(key)
        if entry is None or entry[0] is not resource:
            entry = self._by_resource[key] = (resource, self._make(resource))
        return entry[1]

    def forget(self, resource: Resource) -> None:
        """Drop the strategy of a resource that is no longer served."""
        self._by_resource.pop((resource.group, resource.version, resource.plural), None)

    def _make(self, resource: Resource) -> IStrategy:
        catalog, settings = self._access.catalog(), self._access.settings
        cls = (
            CustomStrategy
            if resource.custom
            else STRATEGIES[resource.row.strategy]
            if resource.row.strategy
            else Strategy
        )
        if cls is ServiceStrategy:
            return self._services(resource, catalog, settings)
        strategy = cls(resource, catalog, settings)
        if resource.row.gathers_changes:
            strategy.gathering = Gathering(self._clock, shared_budget(self._clock), interval=_GATHERED, few=_FEW)
        if isinstance(strategy, EventStrategy):
            strategy.lifetime = self._event_ttl
        elif isinstance(strategy, DeviceClaimStrategy):
            strategy.namespace_labels = self._namespace_labels
        return strategy

    def _namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace, none if it does not exist."""
        namespaces = self._access.catalog().resource("", "v1", "namespaces")
        entry = None if namespaces is None else self._access.cache(namespaces).get(name)
        return {} if entry is None else entry.labels

    def _services(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> ServiceStrategy:
        services = ServiceAllocations(partial(self._access.cache, resource))
        records, random = self._records, self._random
        if records is None:
            ips: IClusterIps = FlagRanges(settings.service_cidrs, services, random)
        else:
            ips = ObjectRanges(self._index(ServiceRanges, RANGES), self._index(RecordedAddresses, ADDRESSES), random)
        strategy = ServiceStrategy(
            resource, catalog, settings, services=services, ips=ips, random=random, records=records
        )
        strategy.compute = self._compute
        return strategy

    def _index(self, index_class: Callable[[Callable[[], ICache]], Index], plural: str) -> Index:
        """An index of the objects of a built-in resource of the network group."""
        access = self._access
        resource = access.catalog().resource(access.dialect(NETWORK_GROUP), "v1", plural)
        assert resource is not None, plural
        return index_class(partial(access.cache, resource))
