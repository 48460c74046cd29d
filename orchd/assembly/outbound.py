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
    `images` the one that reviews images, `issuers` token issuers by the egress type of their configuration; `nodes`
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
        self.issuers = {"": direct, Egress.CONTROL_PLANE.value: self.reviews, Egress.CLUSTER.value: in_cluster}
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
        for calls in (self.webhooks, self.images, *self.issuers.values()):
            await calls.close()
