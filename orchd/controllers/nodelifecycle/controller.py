"""The node lifecycle controller: marks and taints unresponsive nodes, and evicts their pods at the rate of their
zone."""

from __future__ import annotations

from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.event_objects import NORMAL, WARNING, with_type
from orchd.controllers.interfaces import Environment
from orchd.controllers.nodelifecycle.eviction import TaintEviction
from orchd.controllers.nodelifecycle.health import NodeHealth, Taints, conditions_of_silence, excluded, ready_status
from orchd.controllers.nodelifecycle.metrics import NodeMetrics
from orchd.controllers.nodelifecycle.pod_eviction import PodEviction
from orchd.controllers.nodelifecycle.taint_eviction import APART_SINCE
from orchd.controllers.nodelifecycle.zones import Zones, zone_of
from orchd.controllers.objects import BY_NODE, MERGE, NODES, PODS, condition, pods_node
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import is_true
from orchd.kinds.fields import labels, name, namespace, spec, status, uid, with_status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.txkit.background import Background
from orchd.txkit.log import Logger

#: Seconds between checks of the taint queues, and between retries of failed writes.
_TAINTING_PERIOD = 0.1


class NodeLifecycleController(Controller):
    """Reconciles nodes in three ways. Keys of the queue are nodes whose NoSchedule taints and labels follow their
    conditions. Every monitor period, the health of all nodes is checked. Pods of tainted nodes are evicted
    (`TaintEviction`). Without `enable_taint_manager`, failed nodes are not tainted; their pods are deleted after
    `pod_eviction_timeout` (`PodEviction`)."""

    log = Logger()
    name = "nodelifecycle"
    account = "node-controller"
    component = "node-controller"

    def __init__(self, env: Environment) -> None:
        super().__init__(env)
        self._settings = env.settings
        self._taints = Taints(env.dialect)
        self._zones = Zones(env.settings)
        #: What waits for a node to be queued for a taint.
        self._queued: Deferred[None] = Deferred()
        self._health: dict[str, NodeHealth] = {}
        self._removed: list[NodeHealth] = []
        self._numbers = NodeMetrics()
        self.instruments = self._numbers.instruments
        self._background = Background()
        self._lease_namespace = env.dialect("{short}-node-lease")
        self._nodes = self.follow(NODES, self._node_changed, primary=True)
        self._pods = self.follow(PODS, self._pod_changed)
        self._pods.add_index(BY_NODE, pods_node)
        self._leases = self.follow(
            ResourceRef(env.dialect("coordination.{abbr}.io"), "v1", "leases"), self._lease_changed
        )
        self._eviction = TaintEviction(self.client, env.recorder("taint-controller"), self._pods, env.clock, None)
        #: From some release on another controller does that.
        self._evicts = env.settings.enable_taint_manager and env.release.includes("", APART_SINCE)
        self._pod_eviction = PodEviction(self.client, self.recorder, self._pods)
        prefix = env.dialect("{long}.io/")
        self._labels = [(prefix + what, env.dialect("beta.{long}.io/") + what) for what in ("os", "arch")]

    async def start(self) -> None:
        self._eviction.loop.start()
        await super().start()
        self._background.add(self._monitor(), "health of nodes")
        self._background.add(self._taint_in_turn(), "taints of nodes")

    async def stop(self) -> None:
        await self._background.stop()
        await super().stop()
        await self._eviction.loop.stop()

    # -- what is seen

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if self._evicts:
            self._eviction.node_changed(event, old, new)
        if new is None:
            gone = self._health.pop(name(old or {}), None)
            if gone is not None:
                self._zones.release(gone.name)
                self._removed.append(gone)
            return
        self.queue.add(("", name(new)))
        self._observe(new)

    def _observe(self, node: Object) -> None:
        clock = self.env.clock.seconds()
        ready = ready_status(node)
        heartbeat = str((condition(status(node), "Ready") or {}).get("lastHeartbeatTime", ""))
        health = self._health.get(name(node))
        if health is None or health.uid != uid(node):
            created = seconds_of(node["metadata"].get("creationTimestamp")) or self.env.wall()
            heard = clock if ready else clock - max(0.0, self.env.wall() - created)
            health = self._health[name(node)] = NodeHealth(
                name=name(node), uid=uid(node), zone="", heard=heard, changed=clock
            )
        elif heartbeat != health.heartbeat or bool(ready) != bool(health.ready):
            # The controller's own writes keep the time of the last report.
            health.heard = clock
        if health.ready != ready:
            health.changed = clock
        health.ready, health.heartbeat = ready, heartbeat
        health.zone = zone_of(self.dialect, node)
        health.excluded = excluded(self.dialect, node)
        health.evicting = bool(self._taints.no_execute(node)) or health.emptied

    def _lease_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None or namespace(new) != self._lease_namespace:
            return
        health = self._health.get(name(new))
        renewed = str(spec(new).get("renewTime") or "")
        if health is not None and renewed > health.renewed:
            health.renewed = renewed
            health.heard = self.env.clock.seconds()

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if self._evicts:
            self._eviction.pod_changed(event, old, new)
        if new is None or not spec(new).get("nodeName") or (old is not None and spec(old).get("nodeName")):
            return
        health = self._health.get(spec(new)["nodeName"])
        if health is not None and health.ready not in ("", "True"):
            health.retry = True

    # -- taints by condition, labels

    async def reconcile(self, key: Key) -> float | None:
        node = self._nodes.get(*key)
        if node is None:
            return None
        taints = self._taints.no_schedule(node, self.env.wall())
        if taints is not None:
            node = await self._write_taints(node, taints)
        node_labels = labels(node)
        desired = {
            second: node_labels[first]
            for first, second in self._labels
            if first in node_labels and node_labels.get(second) != node_labels[first]
        }
        if desired:
            await self.client.patch(
                NODES, "", key[1], {"metadata": {"labels": desired}}, content_type=MERGE, need_response=False
            )
        return None

    async def _write_taints(self, node: Object, taints: list[dict[str, Any]]) -> Object:
        change = {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": taints}}
        written: Object = await self.client.patch(NODES, "", name(node), change, content_type=MERGE)
        return written

    # -- health

    async def _monitor(self) -> None:
        while True:
            await self.check_health()
            await deferLater(self.env.clock, self._settings.node_monitor_period)

    async def check_health(self) -> None:
        """Check the health of all nodes once."""
        began = self.env.clock.seconds()
        gone, self._removed = self._removed, []
        for each in gone:
            self._announce(each, "RemovingNode", f"Removing Node {each.name} from Controller")
        readiness: dict[str, list[bool]] = {}
        for health in list(self._health.values()):
            before = self.env.clock.seconds()
            try:
                ready = await self._check_node(health)
            except ApiError as error:
                if error.code not in (404, 409):
                    self.log.warn("health of node {name}: {error}", name=health.name, error=error.message)
                continue
            finally:
                self._numbers.one_node.observe(self.env.clock.seconds() - before)
            if not health.excluded:
                readiness.setdefault(health.zone, []).append(ready == "True")
        self._numbers.count_zones(readiness)
        self._numbers.all_nodes.observe(self.env.clock.seconds() - began)
        await self._weigh_disruption(readiness)

    async def _check_node(self, health: NodeHealth) -> str:
        """Update one node. Returns the status of its Ready condition."""
        new = not health.announced
        if new:
            health.announced = True
            self._announce(health, "RegisteredNode", f"Registered Node {health.name} in Controller")
        now, before = self.env.clock.seconds(), health.ready
        if (
            before == "True"
            and not new
            and not health.evicting
            and not health.overdue(
                now, startup=self._settings.node_startup_grace_period, monitor=self._settings.node_monitor_grace_period
            )
        ):
            return before
        node = self._nodes.get("", health.name)
        if node is None:
            return before
        if health.overdue(
            now, startup=self._settings.node_startup_grace_period, monitor=self._settings.node_monitor_grace_period
        ):
            node = await self._mark_silent(node)
        after = ready_status(node)
        if new:
            await self._mark_reachable(node)
        if after:
            if self._settings.enable_taint_manager:
                await self._taint_by(node, before or "Unknown")
            else:
                await self._empty_by(node, before or "Unknown", health)
        if after not in ("", "True"):
            if before == "True":
                note = f"Node {health.name} status is now: NodeNotReady"
                self.recorder.event(with_type(node, "v1", "Node"), NORMAL, "NodeNotReady", note)
            if before == "True" or health.retry:
                health.retry = True
                await self._mark_pods(health.name)
                health.retry = False
        return after

    async def _mark_silent(self, node: Object) -> Object:
        conditions = conditions_of_silence(self.dialect, node, self.env.wall())
        if conditions is None:
            return node
        changed = with_status(node, conditions=conditions)
        written: Object = await self.client.update(NODES, "", name(node), changed, subresource="status")
        return written

    async def _taint_by(self, node: Object, ready: str) -> None:
        """Apply an observed readiness: queue the taint, swap to the other taint at once, or remove both."""
        if ready == "True":
            await self._mark_reachable(node)
            return
        right, wrong = self._taints.not_ready, self._taints.unreachable
        if ready == "Unknown":
            right, wrong = wrong, right
        present = self._taints.no_execute(node)
        if wrong in present:
            await self._write_taints(node, self._taints.swap(node, [right], [wrong], "NoExecute", self.env.wall()))
        elif right not in present:
            self._queue(node)

    async def _empty_by(self, node: Object, ready: str, health: NodeHealth) -> None:
        """Queue a node after the eviction timeout; queue it again if pods were added since its eviction."""
        if ready == "True":
            await self._mark_reachable(node)
            return
        failed = health.heard if ready == "Unknown" else health.changed
        if self.env.clock.seconds() <= failed + self._settings.pod_eviction_timeout:
            return
        if health.emptied:
            await self._pod_eviction.empty(node)
        elif not self._pod_eviction.is_empty(name(node)):
            self._queue(node)

    async def _mark_reachable(self, node: Object) -> None:
        self._zones.release(name(node))
        health = self._health.get(name(node))
        if health is not None:
            health.emptied = False
        present = self._taints.no_execute(node)
        if present:
            await self._write_taints(node, self._taints.swap(node, [], present, "NoExecute", self.env.wall()))

    async def _mark_pods(self, node: str) -> None:
        """Mark the pods of a node that is not ready as not ready."""
        for pod in self._pods.by_index(BY_NODE, node):
            pod_conditions = fields.conditions(pod)
            if not is_true(status(pod), "Ready"):
                continue
            stamp = timestamp(self.env.wall())
            conditions = [
                {**c, "status": "False", "lastTransitionTime": stamp} if c["type"] == "Ready" else c
                for c in pod_conditions
            ]
            changed = with_status(pod, conditions=conditions)
            try:
                await self.client.update(
                    PODS, namespace(pod), name(pod), changed, subresource="status", need_response=False
                )
            except ApiError as error:
                if error.code != 404:
                    raise
                continue
            self.recorder.event(with_type(pod, "v1", "Pod"), WARNING, "NodeNotReady", "Node is not ready")

    async def _weigh_disruption(self, readiness: dict[str, list[bool]]) -> None:
        change = self._zones.update(readiness, self.env.clock.seconds()) if readiness else ""
        if change == "entered":
            self.log.info("no node is ready: evictions are suspended")
            for node in list(self._nodes.list()):
                await self._mark_reachable(node)
        elif change == "left":
            self.log.info("some nodes are ready again: evictions are resumed")
            for health in self._health.values():
                health.heard = self.env.clock.seconds()

    # -- NoExecute taints, at the rate of the zone

    def _queue(self, node: Object) -> None:
        """Have a node tainted, or emptied, in its turn."""
        self._zones.zone(zone_of(self.dialect, node), self.env.clock.seconds()).add(name(node))
        if not self._queued.called:
            self._queued.callback(None)

    async def _taint_in_turn(self) -> None:
        while True:
            if not self._zones.waiting:
                self._queued = Deferred()
                await self._queued
            await deferLater(self.env.clock, _TAINTING_PERIOD)
            if self._zones.waiting:
                for zone, waiting in list(self._zones.due(self.env.clock.seconds())):
                    try:
                        await self._taint(waiting)
                    except ApiError as error:
                        if error.code != 404:
                            self.log.debug("taint of node {name}: {error}", name=waiting, error=error.message)
                            zone.queue.append(waiting)

    async def _taint(self, called: str) -> None:
        node = self._nodes.get("", called)
        ready = "True" if node is None else ready_status(node)
        if node is None or ready not in ("False", "Unknown"):
            return
        if not self._settings.enable_taint_manager:
            await self._pod_eviction.empty(node)
            self._numbers.count_eviction(zone_of(self.dialect, node))
            health = self._health.get(called)
            if health is not None:
                health.emptied = health.evicting = True
            return
        right, wrong = self._taints.not_ready, self._taints.unreachable
        if ready == "Unknown":
            right, wrong = wrong, right
        await self._write_taints(node, self._taints.swap(node, [right], [wrong], "NoExecute", self.env.wall()))
        self._numbers.count_eviction(zone_of(self.dialect, node))

    # -- events

    def _announce(self, health: NodeHealth, reason: str, what: str) -> None:
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": health.name, "uid": health.uid}}
        self.recorder.event(node, NORMAL, reason, f"Node {health.name} event: {what}")
