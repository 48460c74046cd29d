"""EndpointSlices: the topology field of the first version, which later versions only carry over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from orchd.errors import Cause
from orchd.kinds.catalog import Catalog, Resource
from orchd.kinds.fields import mapping
from orchd.kinds.gotext import differences
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects import convert
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.names import subdomain
from orchd.server.registry.interfaces import Context
from orchd.server.registry.strategies.base import Strategy

_FIRST: Final = "v1beta1"
_STABLE: Final = "discovery.{abbr}.io/v1"
_HOSTNAME: Final = "{long}.io/hostname"


class SliceStrategy(Strategy):
    """Only the first version writes topology. Other versions drop it from changed endpoints, except for the node name,
    which becomes nodeName. Slices are stored in the first version and validated in the stable one."""

    def __init__(self, resource: Resource, catalog: Catalog, settings: ObjectSettings) -> None:
        super().__init__(resource, catalog, settings)
        self._catalog = catalog
        self._stable = settings.dialect(_STABLE)

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._drop_disabled(context, super().prepare_create(context, obj), None)

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        return self._drop_disabled(context, super().prepare_update(context, obj, old), old)

    def validate_create(self, context: Context, obj: Object) -> Sequence[Cause]:
        return super().validate_create(context, self._in_stable(obj))

    def validate_update(self, context: Context, obj: Object, old: Object) -> Sequence[Cause]:
        return super().validate_update(context, self._in_stable(obj), self._in_stable(old))

    def _in_stable(self, obj: Object) -> Object:
        return convert.convert(obj, self._stable, self._catalog)

    def _drop_disabled(self, context: Context, obj: Object, old: Object | None) -> Object:
        if context.resource.version == _FIRST:
            return obj
        stable = self._in_stable(obj)
        endpoints = stable.get("endpoints") or []
        if not any("deprecatedTopology" in e for e in endpoints):
            return obj
        before = [] if old is None else self._in_stable(old).get("endpoints") or []
        if old is not None and differences.same(endpoints, before):
            return obj
        hostname = self.settings.dialect(_HOSTNAME)
        nodes = {mapping(e, "deprecatedTopology").get(hostname) for e in before}
        stable = {**stable, "endpoints": [_without_topology(e, hostname, nodes) for e in endpoints]}
        return convert.convert(stable, obj["apiVersion"], self._catalog)


def _without_topology(endpoint: Object, hostname: str, nodes: set[str | None]) -> Object:
    out = {k: v for k, v in endpoint.items() if k != "deprecatedTopology"}
    node = mapping(endpoint, "deprecatedTopology").get(hostname)
    if node and out.get("nodeName") is None and node in nodes and not subdomain(node):
        out["nodeName"] = node
    return out
