"""Clients of external services, and transports to nodes, pods and services."""

from __future__ import annotations

from orchd.assembly.nodes import NodeUpstreams, node_upstreams
from orchd.assembly.runtime import Runtime
from orchd.client.interfaces import IClient
from orchd.server.outbound.egress import Egress, EgressSelector
from orchd.server.outbound.webhooks import WebhookClient
from orchd.server.pipeline.verbs.subresources.upstream import IUpstream, NodePolicy, Upstream, UpstreamLimits
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.services import Member, as_member


class Outbound:
    """`webhooks` calls admission and conversion webhooks, `reviews` the services of client configuration files,
    `images` the one that reviews images, `issuers` token issuers by the egress types that are configured; `nodes`
    connects to kubelets, `pods` to pods and services. `upstream` replaces the last two."""

    def __init__(self, runtime: Runtime, client: IClient, upstream: IUpstream | None, egress: EgressSelector) -> None:
        """Raises ValueError naming the invalid flag and file."""
        reactor, dialect = runtime.reactor, runtime.dialect
        control_plane, cluster = egress.dial(Egress.CONTROL_PLANE), egress.dial(Egress.CLUSTER)
        compute = ComputeThread(runtime.in_thread)
        self.webhooks = WebhookClient(
            reactor, dialect, client, to_urls=control_plane, to_services=cluster, compute=compute
        )
        self.images = WebhookClient(reactor, dialect, client)
        self.reviews, in_cluster, direct = (
            WebhookClient(reactor, dialect, client, agent="{short}-apiserver", to_urls=dial)
            for dial in (control_plane, cluster, None)
        )
        by_egress = {Egress.CONTROL_PLANE: self.reviews, Egress.CLUSTER: in_cluster}
        self.issuers = {"": direct} | {each.value: calls for each, calls in by_egress.items() if egress.has(each)}
        self._clients = (self.webhooks, self.images, direct, *by_egress.values())
        self.nodes = (
            node_upstreams(runtime.settings, reactor, cluster)
            if upstream is None
            else NodeUpstreams(upstream, upstream)
        )
        limits = UpstreamLimits(bytes_per_second=runtime.settings.nodes.bytes_per_second)
        self.pods: IUpstream = (
            Upstream(reactor, NodePolicy(), dial=cluster, limits=limits) if upstream is None else upstream
        )

    def member(self) -> Member:
        """The first member, so that it stops last: other members may make calls while they stop."""
        return as_member("outbound calls", stop=self._close)

    async def _close(self) -> None:
        for calls in self._clients:
            await calls.close()
