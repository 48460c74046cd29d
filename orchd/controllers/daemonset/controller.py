"""The daemon set controller: event handlers and the reconcile."""

from __future__ import annotations

from typing import Any, Final

from twisted.python.failure import Failure

from orchd.client.interfaces import ResourceRef
from orchd.controllers import revisions
from orchd.controllers.adoption import Controlled, claim, controlled_by
from orchd.controllers.base import Key
from orchd.controllers.daemonset.backoff import Backoff
from orchd.controllers.daemonset.nodes import NodeFits
from orchd.controllers.daemonset.plans import Plan, Planner, by_target, without_surge
from orchd.controllers.daemonset.template import HASH_LABEL, on_node, pod_template, target_node
from orchd.controllers.event_objects import WARNING
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import DAEMON_SETS, NODES, PODS, REVISIONS, index_by_controller
from orchd.controllers.pods import pod_from_template, slow_start
from orchd.controllers.workload import PodViewController
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, labels, name, namespace, owner_reference, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.txkit.for_each import side_by_side

#: Maximum number of pods created or deleted per reconciliation.
_BURST: Final = 250


class DaemonSetController(PodViewController):
    name = "daemonset"
    account = "daemon-set-controller"
    ref = DAEMON_SETS
    subject = ("apps/v1", "DaemonSet")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=env.settings.concurrent_daemonset_syncs)
        self._nodes = NodeFits(env.dialect)
        self.follow(NODES, self._node_changed, complete=True)
        self._revisions = self.follow(REVISIONS)
        index_by_controller(self._revisions)
        self._backoff = Backoff(env.clock.seconds)

    # -- event handlers

    def _owner_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        # This may take long, and a worker begins at once in the time that is left of the turn.
        self._nodes.follow_set(new or old or {}, gone=new is None)
        super()._owner_changed(event, old, new)

    def _node_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Queue the sets whose fit on the node changed; heartbeats queue nothing."""
        for key in self._nodes.follow_node(old, new):
            self.queue.add(key)

    # -- reconciliation

    async def reconcile(self, key: Key) -> float | None:
        parent = self._owners.get(*key)
        if parent is None:
            self.forget(key)
            return None
        if not spec(parent).get("selector"):
            note = "This daemon set is selecting all pods. A non-empty selector is required."
            self.record(parent, WARNING, "SelectingAll", note)
            return None
        if deleting(parent):
            return None
        history = await self._claim(parent, controlled_by(self._revisions), REVISIONS)
        current, collisions = await revisions.newest(self.client, parent, *self.subject, history, HASH_LABEL)
        revision = labels(current).get(HASH_LABEL, "")
        pause = self._expected.pause(key)
        if pause:
            planner = await self._planner(parent, revision)
            await self._write_status(parent, planner, collisions, observed=False)
            return pause
        again = await self._sync(key, parent, revision)
        planner = await self._planner(parent, revision)
        await self._clean_up(parent, history, name(current))
        await self._write_status(parent, planner, collisions, observed=True)
        return again if again is not None else self._until_available(parent, planner)

    async def _claim(self, parent: Object, controlled: Controlled, ref: ResourceRef) -> list[Object]:
        return await claim(self.client, self.as_parent(parent), ref, controlled)

    async def _planner(self, parent: Object, revision: str) -> Planner:
        pods = await self._claim(parent, self._views.controlled, PODS)
        by_node = by_target(pods, target_node)
        if not self.env.feature("DaemonSetUpdateSurge"):
            parent = without_surge(parent)
        return Planner(parent, self._nodes.of(parent), by_node, revision, self.env.wall())

    async def _sync(self, key: Key, parent: Object, revision: str) -> float | None:
        """Create and delete pods. Returns seconds until failed pods are due for deletion."""
        planner = await self._planner(parent, revision)
        plan = planner.place()
        again = self._admit_failed(parent, plan)
        await self._carry_out(key, parent, plan, revision)
        if not self._expected.pause(key):
            # New pods count as unavailable, so the plan is computed again.
            planner = await self._planner(parent, revision)
            await self._carry_out(key, parent, planner.roll(), revision)
        return again

    def _admit_failed(self, parent: Object, plan: Plan) -> float | None:
        """Add failed pods to the plan's deletions, with a back-off per node. Returns seconds until the next one is
        due."""
        again: float | None = None
        for node, pod in plan.failed:
            left = self._backoff.attempt(f"{uid(parent)}/{node}")
            if left:
                again = left if again is None else min(again, left)
                continue
            note = f"Found failed daemon pod {namespace(pod)}/{name(pod)} on node {node}, will try to kill it"
            self.record(parent, WARNING, "FailedDaemonPod", note)
            plan.delete.append(pod)
        return again

    async def _carry_out(self, key: Key, parent: Object, plan: Plan, revision: str) -> None:
        """Create and delete pods concurrently. Raises the error of the first failed write."""
        template = pod_template(self.dialect, parent, revision)
        reference = owner_reference(parent, *self.subject)
        batch = plan.create[:_BURST]

        async def make(number: int) -> None:
            pod = pod_from_template(on_node(template, batch[number]), name(parent), reference)
            self._expected.expect_creation(key, await self._control.create(parent, pod))

        async def delete(pod: Object) -> None:
            await self._control.delete(parent, pod)
            self._expected.expect_deletion(key, pod)

        _, problem = await slow_start(len(batch), make)
        results = await side_by_side([delete(pod) for pod in plan.delete[:_BURST]])
        failures = [r for r in (problem, *results) if isinstance(r, Failure)]
        for failure in failures:
            if not (isinstance(failure.value, ApiError) and terminating_namespace(failure.value)):
                failure.raiseException()

    async def _clean_up(self, parent: Object, history: list[Object], current: str) -> None:
        """Delete the oldest revisions beyond the history limit, except those in use by a pod."""
        old = sorted((r for r in history if name(r) != current), key=lambda r: int(r.get("revision") or 0))
        surplus = len(old) - int(spec(parent).get("revisionHistoryLimit", 10))
        live = {labels(pod).get(HASH_LABEL) for pod in self._views.controlled(namespace(parent), uid(parent))}
        for each in old:
            if surplus <= 0:
                return
            if labels(each).get(HASH_LABEL) not in live:
                await self.remove(REVISIONS, namespace(each), name(each), uid=uid(each))
                surplus -= 1

    # -- status

    async def _write_status(self, parent: Object, planner: Planner, collisions: int, *, observed: bool) -> None:
        fresh: dict[str, Any] = dict(planner.status())
        generation = parent["metadata"].get("generation") if observed else status(parent).get("observedGeneration")
        if generation:
            fresh["observedGeneration"] = int(generation)
        if collisions:
            fresh["collisionCount"] = collisions
        if status(parent).get("conditions"):
            fresh["conditions"] = status(parent)["conditions"]
        if fresh == {k: v for k, v in status(parent).items() if k != "collisionCount" or v}:
            return
        await self.write_status(DAEMON_SETS, parent, fresh)

    def _until_available(self, parent: Object, planner: Planner) -> float | None:
        """Seconds after which ready pods may be available."""
        least = int(spec(parent).get("minReadySeconds") or 0)
        numbers = planner.status()
        waits = least and numbers["numberReady"] != numbers.get("numberAvailable", 0)
        return float(least) if waits else None
