"""Assigns ranges of pod addresses to nodes, one of each of the cluster's ranges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, with_type
from orchd.controllers.interfaces import Environment
from orchd.controllers.loop import RetryError
from orchd.controllers.nodeipam.ranges import Network, RangeError, RangeSet, network_of
from orchd.controllers.objects import MERGE, NODES
from orchd.controllers.settings import ControllerSettings
from orchd.errors import ApiError
from orchd.kinds.fields import name, spec, uid
from orchd.kinds.jsonvalues import Object
from orchd.txkit.log import Logger
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Counter, Distribution, Gauge, Instrument

#: Mask of a node's range unless a flag says otherwise.
_MASKS: Final = {4: 24, 6: 64}


def range_sets(settings: ControllerSettings) -> list[RangeSet]:
    """The cluster's ranges with their masks. Raises ValueError naming the flag at fault."""
    if not settings.cluster_cidr:
        raise ValueError("--cluster-cidr: is needed with --allocate-node-cidrs")
    if len(settings.cluster_cidr) > 2 or len({n.version for n in settings.cluster_cidr}) != len(settings.cluster_cidr):
        raise ValueError("--cluster-cidr: takes one range, or two of different families")
    if settings.cidr_allocator_type != "RangeAllocator":
        raise ValueError("--cidr-allocator-type: only RangeAllocator works without a cloud")
    dual = len(settings.cluster_cidr) == 2
    mask_sizes = {4: settings.node_cidr_mask_size_ipv4, 6: settings.node_cidr_mask_size_ipv6}
    if dual and settings.node_cidr_mask_size:
        raise ValueError(
            "--node-cidr-mask-size: with two ranges use --node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6"
        )
    if not dual and any(mask_sizes.values()):
        raise ValueError(
            "--node-cidr-mask-size-ipv4 and --node-cidr-mask-size-ipv6 are for two ranges: use --node-cidr-mask-size"
        )
    sets = []
    for network in settings.cluster_cidr:
        mask = (mask_sizes[network.version] if dual else settings.node_cidr_mask_size) or _MASKS[network.version]
        try:
            sets.append(RangeSet(network, mask))
        except RangeError as error:
            raise ValueError(f"--cluster-cidr: {error}") from None
    for service in settings.service_cluster_ip_range:
        for each in sets:
            each.occupy(service)
    return sets


class NodeIpamController(Controller):
    """Does nothing unless pod ranges are allocated."""

    log = Logger()
    name = "nodeipam"
    account = "node-controller"
    component = "cidrAllocator"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._enabled = env.settings.allocate_node_cidrs
        self._sets = range_sets(env.settings) if self._enabled else []
        self._tries = Distribution(
            "node_ipam_controller_cidrset_allocation_tries_per_request",
            "Used CIDRs that were skipped until a free one was found.", exponential(1, 5, 5), ("clusterCIDR",),
        )  # fmt: skip
        #: Uids of nodes whose ranges are marked as used.
        self._marked: set[str] = set()
        if self._enabled:
            self._nodes = self.follow(NODES, self._changed, primary=True)

    @property
    def instruments(self) -> Sequence[Instrument]:  # type: ignore[override]  # computed when it is read
        """Metrics."""
        label = ("clusterCIDR",)
        allocated = Counter(
            "node_ipam_controller_cidrset_cidrs_allocations_total",
            "CIDRs allocated to nodes, including those that nodes had at the start.",
            label,
        )
        released = Counter("node_ipam_controller_cidrset_cidrs_releases_total", "CIDRs released.", label)
        usage = Gauge("node_ipam_controller_cidrset_usage_cidrs", "Fraction of the CIDRs in use.", label)
        most = Gauge("node_ipam_controller_cirdset_max_cidrs", "CIDRs that there are.", label)
        for each in self._sets:
            whole = str(each.whole)
            allocated.add(whole, by=each.allocations)
            released.add(whole, by=each.releases)
            usage.set(each.usage, whole)
            most.set(each.size, whole)
        later = (most,) if self.env.release.includes("1.27") else ()
        return allocated, released, usage, self._tries, *later

    async def start(self) -> None:
        if not self._enabled:
            self.log.info("controller nodeipam allocates no CIDRs: --allocate-node-cidrs is false")
            return
        # Ranges of existing nodes are marked as used before the first allocation.
        await self._nodes.wait_synced()
        for node in self._nodes.list():
            self._occupy(node)
        await super().start()

    def _changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None and uid(old) in self._marked:
                self._marked.discard(uid(old))
                for each, network in self._ranges(old):
                    each.release(network)
            return
        self._occupy(new)
        if not spec(new).get("podCIDRs"):
            self.queue.add(("", name(new)))

    def _occupy(self, node: Object) -> None:
        if spec(node).get("podCIDRs") and uid(node) not in self._marked:
            self._marked.add(uid(node))
            for each, network in self._ranges(node):
                each.occupy(network)

    def _ranges(self, node: Object) -> Iterator[tuple[RangeSet, Network]]:
        for text in spec(node).get("podCIDRs") or ():
            network = network_of(text)
            for each in self._sets:
                if network is not None and network.version == each.whole.version:
                    yield each, network

    async def reconcile(self, key: Key) -> float | None:
        node = self._nodes.get(*key)
        # Nodes with marked ranges have them, even if the informer does not show them yet.
        if node is None or spec(node).get("podCIDRs") or uid(node) in self._marked:
            return None
        taken: list[tuple[RangeSet, Network]] = []
        for each in self._sets:
            network = each.take()
            if network is None:
                self._give_back(taken)
                self._record(node, "CIDRNotAvailable")
                raise RetryError
            taken.append((each, network))
            self._tries.observe(each.tries, str(each.whole))
        texts = [str(network) for _, network in taken]
        change = {"metadata": {"uid": uid(node)}, "spec": {"podCIDR": texts[0], "podCIDRs": texts}}
        try:
            self._marked.add(uid(node))
            await self.client.patch(NODES, "", key[1], change, content_type=MERGE)
        except ApiError as error:
            self._marked.discard(uid(node))
            self._give_back(taken)
            if error.code == 404:
                return None
            self._record(node, "CIDRAssignmentFailed")
            raise
        return None

    @staticmethod
    def _give_back(taken: list[tuple[RangeSet, Network]]) -> None:
        for each, network in taken:
            each.release(network)

    def _record(self, node: Object, what: str) -> None:
        self.recorder.event(with_type(node, "v1", "Node"), NORMAL, what, f"Node {name(node)} status is now: {what}")
