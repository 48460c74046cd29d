"""EndpointSlices: the topology of the first version, which later ones only carry along."""

from __future__ import annotations

from typing import Final

from orchd.kinds.objects.validate import differences
from orchd.kinds.objects.validate.words import subdomain
from orchd.server.registry.interfaces import Context, Object
from orchd.server.registry.strategies.base import Strategy

_FIRST: Final = "v1beta1"
_HOSTNAME: Final = "{long}.io/hostname"


class SliceStrategy(Strategy):
    """Only the first version writes topology. Others drop it from endpoints that they change, but for the node that an
    endpoint was on, which becomes its nodeName."""

    def prepare_create(self, context: Context, obj: Object) -> Object:
        return self._dropped(context, super().prepare_create(context, obj), None)

    def prepare_update(self, context: Context, obj: Object, old: Object) -> Object:
        return self._dropped(context, super().prepare_update(context, obj, old), old)

    def _dropped(self, context: Context, obj: Object, old: Object | None) -> Object:
        endpoints, before = obj.get("endpoints") or [], [] if old is None else old.get("endpoints") or []
        if context.resource.version == _FIRST or not any("deprecatedTopology" in e for e in endpoints):
            return obj
        if old is not None and differences.same(endpoints, before):
            return obj
        hostname = self.settings.dialect(_HOSTNAME)
        nodes = {(e.get("deprecatedTopology") or {}).get(hostname) for e in before}
        return {**obj, "endpoints": [_without_topology(e, hostname, nodes) for e in endpoints]}


def _without_topology(endpoint: Object, hostname: str, nodes: set[str | None]) -> Object:
    out = {k: v for k, v in endpoint.items() if k != "deprecatedTopology"}
    node = (endpoint.get("deprecatedTopology") or {}).get(hostname)
    if node and out.get("nodeName") is None and node in nodes and not subdomain(node):
        out["nodeName"] = node
    return out
