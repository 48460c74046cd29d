"""The strategy of each resource."""

from __future__ import annotations

from random import Random

from orchd.kinds.catalog import Resource
from orchd.server.registry.interfaces import IStrategy
from orchd.server.registry.object_store import ObjectStore
from orchd.server.registry.strategies import small_kinds
from orchd.server.registry.strategies.autoscalers import AutoscalerStrategy
from orchd.server.registry.strategies.base import Strategy
from orchd.server.registry.strategies.custom import CustomStrategy
from orchd.server.registry.strategies.definitions import DefinitionStrategy
from orchd.server.registry.strategies.namespaces import NamespaceStrategy
from orchd.server.registry.strategies.pods import PodStrategy
from orchd.server.registry.strategies.services import ServiceStrategy
from orchd.server.registry.strategies.slices import SliceStrategy

_BY_PLURAL: dict[str, type[Strategy]] = {
    "apiservices": small_kinds.APIServiceStrategy,
    "certificatesigningrequests": small_kinds.SigningRequestStrategy,
    "controllerrevisions": small_kinds.RevisionStrategy,
    "customresourcedefinitions": DefinitionStrategy,
    "daemonsets": small_kinds.DaemonSetStrategy,
    "deployments": small_kinds.DeploymentStrategy,
    "endpointslices": SliceStrategy,
    "events": small_kinds.EventStrategy,
    "horizontalpodautoscalers": AutoscalerStrategy,
    "jobs": small_kinds.JobStrategy,
    "namespaces": NamespaceStrategy,
    "persistentvolumeclaims": small_kinds.PhaseStrategy,
    "persistentvolumes": small_kinds.PhaseStrategy,
    "pods": PodStrategy,
    "priorityclasses": small_kinds.PriorityClassStrategy,
    "serviceaccounts": small_kinds.ServiceAccountStrategy,
}


class Strategies:
    """Makes a strategy on first use of a resource and caches it while the resource is served."""

    def __init__(self, access: ObjectStore, *, random: Random, event_ttl: int = 3600) -> None:
        self._access = access
        self._random = random
        self._event_ttl = event_ttl
        #: By group, version and plural: a resource that replaced another has its own strategy.
        self._made: dict[tuple[str, str, str], tuple[Resource, IStrategy]] = {}

    def __call__(self, resource: Resource) -> IStrategy:
        key = (resource.group, resource.version, resource.plural)
        made = self._made.get(key)
        if made is None or made[0] is not resource:
            made = self._made[key] = (resource, self._make(resource))
        return made[1]

    def forget(self, resource: Resource) -> None:
        """Drop the strategy of a resource that is no longer served."""
        self._made.pop((resource.group, resource.version, resource.plural), None)

    def _make(self, resource: Resource) -> IStrategy:
        catalog, settings = self._access.catalog(), self._access.settings
        if resource.plural == "services" and not resource.group:
            return ServiceStrategy(
                resource, catalog, settings, cache=lambda: self._access.cache(resource), random=self._random
            )
        cls = CustomStrategy if resource.custom else _BY_PLURAL.get(resource.plural, Strategy)
        strategy = cls(resource, catalog, settings)
        if isinstance(strategy, small_kinds.EventStrategy):
            strategy.lifetime = self._event_ttl
        return strategy
