"""`Simulator`: registers nodes and writes their status and that of the pods bound to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from ipaddress import ip_network
from random import Random
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from orchd.client.informers import key_of
from orchd.client.interfaces import IClient, IInformers, ResourceRef
from orchd.controllers.loop import ControlLoop
from orchd.controllers.metrics import ControllerMetrics
from orchd.dialect import Dialect
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of
from orchd.simulation.addresses import NODE_RANGE, POD_RANGE, AddressPool, Network
from orchd.simulation.admission import REFUSALS, PortAdmission
from orchd.simulation.behaviour import AnnotationError, PodBehaviour, pod_behaviour
from orchd.simulation.leases import LeaseKeeper
from orchd.simulation.nodes import NodeForms, differs
from orchd.simulation.pods import advance, report_step
from orchd.simulation.reporting import report_of
from orchd.simulation.resizes import is_deferred
from orchd.simulation.settings import SimulationSettings
from orchd.txkit.compute_thread import ComputeThread
from orchd.txkit.log import Logger

_PODS: Final = ResourceRef("", "v1", "pods")
_NODES: Final = ResourceRef("", "v1", "nodes")
_BY_NODE: Final = "simulation/node"
#: Seconds between status reports of an unchanged node.
_REPORT: Final = 300.0

Key = tuple[str, str]


def _bound(pod: Object) -> Iterable[str]:
    name = fields.spec(pod).get("nodeName")
    return (str(name),) if name else ()


def _size(pod: Object) -> int:
    """Bytes of the status of its containers, roughly."""
    return 200 * sum(len(pod["spec"].get(member) or ()) for member in ("initContainers", "containers"))


class Simulator:
    """Runs from `start` to `stop`; cannot be started again."""

    log = Logger()

    def __init__(
        self,
        settings: SimulationSettings,
        *,
        client: IClient,
        informers: IInformers,
        dialect: Dialect,
        clock: IReactorTime,
        wall: Callable[[], float],
        random: Random,
    ) -> None:
        self._settings = settings
        self._client = client
        self._wall = wall
        self._random = random
        #: Computes the next steps of pods with many containers.
        self.compute = ComputeThread()
        self._forms = NodeForms(dialect, settings)
        self._leases = LeaseKeeper(client, dialect, clock, wall)
        self._admission = PortAdmission(settings.release.choose(REFUSALS))
        self._pod_addresses, self._node_addresses = AddressPool(), AddressPool()
        self._nodes, self._pods = informers.informer(_NODES), informers.informer(_PODS)
        self._pods.add_index(_BY_NODE, _bound)
        self._simulated: set[str] = set()
        #: Pods whose resizes wait for room, by node.
        self._deferred: dict[str, set[Key]] = {}
        self._node_loop: ControlLoop[str] = ControlLoop("simulated-nodes", clock, self._report_node, workers=4)
        self._pod_loop: ControlLoop[Key] = ControlLoop(
            "simulated-pods", clock, self._report_pod, workers=16, refill=self._refill
        )

    async def start(self) -> None:
        """Start; the nodes are registered in the background."""
        await self._nodes.wait_synced()
        await self._pods.wait_synced()
        await self._pods.wait_indexed(_BY_NODE)
        for node in list(self._nodes.list()):
            if self._forms.surplus(node):
                await self._remove(_NODES, node)
        self._nodes.add_listener(self._node_changed)
        self._pods.add_listener(self._pod_changed)
        self._node_loop.start()
        self._pod_loop.start()
        self._leases.start()
        for name in self._forms.names():
            self._node_loop.queue.add(name)

    async def stop(self) -> None:
        await self._leases.stop()
        await self._node_loop.stop()
        await self._pod_loop.stop()

    def counts(self) -> Iterator[tuple[str, ControllerMetrics]]:
        """Metrics of the work queues."""
        yield self._node_loop.name, self._node_loop.counts
        yield self._pod_loop.name, self._pod_loop.counts

    @property
    def nodes(self) -> int:
        """Number of simulated nodes."""
        return len(self._simulated)

    def is_simulated(self, node: str) -> bool:
        """True if the node of this name is simulated."""
        return node in self._simulated

    @property
    def renewals(self) -> int:
        """Number of lease renewals."""
        return self._leases.renewed

    # -- changes

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        name = (new or old or {})["metadata"]["name"]
        if new is None or not self._forms.simulated(new):
            self._simulated.discard(name)
            self._leases.drop(name)
            self._node_addresses.release(name)
            return
        began = name not in self._simulated
        self._simulated.add(name)
        silent = self._forms.silent(new)
        if began or (old is not None and self._forms.silent(old) and not silent):
            for pod in self._pods.by_index(_BY_NODE, name):
                self._pod_loop.queue.add(key_of(pod))
        if silent:
            self._leases.drop(name)
        else:
            self._leases.keep(name, new["metadata"].get("uid", ""))
            self._node_addresses.learn(name, (a["address"] for a in fields.status(new).get("addresses") or ()))
            self._node_loop.queue.add(name)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None:
            if old is not None:
                self._note_deferred(old, False)
                self._pod_addresses.release(old["metadata"].get("uid", ""))
                self._admission.release(old)
                self._retry_resizes(old)
            return
        status = fields.status(new)
        identity = new["metadata"].get("uid", "")
        self._note_deferred(new, is_deferred(new))
        if status.get("phase") in ("Succeeded", "Failed"):
            self._pod_addresses.release(identity)
            self._admission.release(new)
            self._retry_resizes(new)
        elif status.get("podIPs") and not new["spec"].get("hostNetwork"):
            self._pod_addresses.learn(identity, (each["ip"] for each in status["podIPs"]))
        if new["spec"].get("nodeName") in self._simulated:
            self._pod_loop.queue.add(key_of(new))

    def _retry_resizes(self, ended: Object) -> None:
        """Queue the pods of a node that wait for what an ended pod had there."""
        name = ended["spec"].get("nodeName") or ""
        for key in self._deferred.get(name, ()):
            self._pod_loop.queue.add(key)

    def _note_deferred(self, pod: Object, deferred: bool) -> None:
        """Remember whether the resize of a pod waits for room on its node."""
        name = pod["spec"].get("nodeName") or ""
        if deferred:
            self._deferred.setdefault(name, set()).add(key_of(pod))
        elif name in self._deferred:
            self._deferred[name].discard(key_of(pod))
            if not self._deferred[name]:
                del self._deferred[name]

    def _refill(self) -> None:
        for name in self._simulated:
            for pod in self._pods.by_index(_BY_NODE, name):
                self._pod_loop.queue.add(key_of(pod))

    # -- nodes

    async def _report_node(self, name: str) -> float | None:
        node = self._nodes.get("", name)
        if node is None:
            if name not in self._simulated and name in self._forms.names():
                await self._register(name)
            return None
        if name not in self._simulated or self._forms.silent(node):
            return None
        now = self._wall()
        status = self._forms.status(node, self._address(name), now)
        old = fields.status(node)
        if differs(old, status) or self._stale(old, now):
            await self._client.update(
                _NODES, "", name, {**node, "status": status}, subresource="status", need_response=False
            )
        starts = self._forms.ready_at(node, now) - now
        return starts if starts > 0 else _REPORT * (1 + 0.1 * self._random.random())

    def _address(self, name: str) -> str:
        return next(iter(self._node_addresses.take(name, [NODE_RANGE])), "")

    async def _register(self, name: str) -> None:
        try:
            await self._client.create(_NODES, "", self._forms.fresh(name, self._address(name), self._wall()))
        except ApiError as error:
            if error.reason != "AlreadyExists":
                raise

    @staticmethod
    def _stale(status: dict[str, Any], now: float) -> bool:
        times = [
            seconds_of(c.get("lastHeartbeatTime")) or 0.0
            for c in status.get("conditions") or ()
            if c["type"] == "Ready"
        ]
        return not times or now - times[0] >= _REPORT

    # -- pods

    async def _report_pod(self, key: Key) -> float | None:
        pod = self._pods.get(*key)
        if pod is None:
            return None
        node = self._nodes.get("", pod["spec"].get("nodeName") or "")
        if node is None or node["metadata"]["name"] not in self._simulated or self._forms.silent(node):
            return None
        host = next((a["address"] for a in fields.status(node).get("addresses") or () if a["type"] == "InternalIP"), "")
        if not host:
            # Not reported yet; the node's first report is a change, after which its pods are processed again.
            return 1.0
        now = self._wall()

        def beside() -> Iterable[Object]:
            return self._pods.by_index(_BY_NODE, node["metadata"]["name"])

        refused = self._admission.refuse(pod, beside, now)
        if refused is not None:
            await self._write_status(pod, refused)
            return None
        behaviour, addresses = self._behaviour(pod), self._addresses(pod, node)
        step = await self.compute(_size(pod), advance, pod, behaviour, host, addresses, now)
        step = report_step(pod, step, report_of(self._settings.release, node, beside), now)
        if step.status is not None:
            await self._write_status(pod, step.status)
        if step.remove:
            await self._remove(_PODS, pod, grace=0)
        return None if step.due is None else max(step.due - now, 0.01)

    async def _write_status(self, pod: Object, status: Object) -> None:
        changed = {**pod, "status": status}
        await self._client.update(_PODS, *key_of(pod), changed, subresource="status", need_response=False)

    def _behaviour(self, pod: Object) -> PodBehaviour | str:
        try:
            return pod_behaviour(pod, self._settings)
        except AnnotationError as error:
            return str(error)

    def _addresses(self, pod: Object, node: Object) -> list[str]:
        status = fields.status(pod)
        if status.get("podIPs"):
            return [each["ip"] for each in status["podIPs"]]
        if pod["spec"].get("hostNetwork"):
            return []
        spec = fields.spec(node)
        texts = spec.get("podCIDRs") or ([spec["podCIDR"]] if spec.get("podCIDR") else [])
        networks: list[Network] = [ip_network(text) for text in texts] or [POD_RANGE]
        return self._pod_addresses.take(pod["metadata"].get("uid", ""), networks)

    async def _remove(self, ref: ResourceRef, obj: Object, grace: int | None = None) -> None:
        options: dict[str, Any] = {"preconditions": {"uid": obj["metadata"].get("uid", "")}}
        if grace is not None:
            options["gracePeriodSeconds"] = grace
        namespace, name = key_of(obj)
        try:
            await self._client.delete(ref, namespace, name, options=options, need_response=False)
        except ApiError as error:
            if error.code not in (404, 409):
                raise
