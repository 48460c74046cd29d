"""Replica sets: as many pods of a template as asked for."""

from __future__ import annotations

from collections import Counter
from typing import Any

from twisted.python.failure import Failure

from orchd.client.informers import key_of
from orchd.client.interfaces import Object
from orchd.controllers import pods as podfacts
from orchd.controllers.adoption import claim
from orchd.controllers.base import Controller, Key, terminating_namespace
from orchd.controllers.expectations import Expectations
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import (
    PODS,
    REPLICA_SETS,
    condition,
    deleting,
    index_by_controller,
    labels,
    name,
    namespace,
    owner,
    owner_reference,
    spec,
    status,
    uid,
)
from orchd.controllers.pod_control import PodControl
from orchd.errors import ApiError
from orchd.kinds.objects.scalars import timestamp
from orchd.kinds.objects.selectors import LabelSelector

#: Pods made or deleted in one pass.
_BURST = 500


class ReplicaSetController(Controller):
    """`ref`, `subject` and `selector` make the same controller one of replication controllers."""

    name = "replicaset"
    account = "replicaset-controller"
    ref = REPLICA_SETS
    subject = ("apps/v1", "ReplicaSet")

    def __init__(self, env: Environment, *, workers: int = 0) -> None:
        super().__init__(env, workers=workers or env.settings.concurrent_replicaset_syncs)
        self._control = PodControl(self.client, self.recorder, *self.subject)
        self._sets = self.follow(self.ref, self._set_changed, primary=True)
        self._pods = self.follow(PODS, self._pod_changed)
        index_by_controller(self._pods)
        index_by_controller(self._sets)
        self._expected: Expectations[Key] = Expectations(self._pods, env.clock.seconds)
        self._cost = env.dialect("controller.{long}.io/pod-deletion-cost")

    # -- what makes work

    def _set_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._expected.forget(key_of(old))
        self.enqueue(event, old, new)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._expected.observe(old, new)
        before, after = (None if pod is None else owner(pod) for pod in (old, new))
        for pod, reference in ((old, before), (new, after)):
            if pod is not None and reference is not None and reference.get("kind") == self.subject[1]:
                self.queue.add((namespace(pod), str(reference["name"])))
        if new is None or after is not None or deleting(new):
            return
        if old is None or before is not None or labels(old) != labels(new):
            for each in self._sets.list(namespace(new)):
                if self.selector(each).matches(labels(new)):
                    self.queue.add(key_of(each))

    def selector(self, each: Object) -> LabelSelector:
        return LabelSelector.from_object(spec(each).get("selector") or {})

    # -- the work

    async def reconcile(self, key: Key) -> float | None:
        parent = self._sets.get(*key)
        if parent is None:
            self._expected.forget(key)
            return None
        claimed = await claim(
            self.client,
            parent,
            parent_ref=self.ref,
            api_version=self.subject[0],
            kind=self.subject[1],
            selector=self.selector(parent),
            informer=self._pods,
            ref=PODS,
        )
        mine = [pod for pod in claimed if podfacts.active(pod)]
        pause = self._expected.pause(key)
        problem: tuple[str, str] | None = None
        failure: Failure | None = None
        if not pause and not deleting(parent):
            problem, failure = await self._manage(key, parent, mine)
        await self._tell(parent, mine, problem)
        if failure is not None:
            failure.raiseException()
        if pause:
            return pause
        return self._until_available(parent, mine)

    async def _manage(
        self, key: Key, parent: Object, mine: list[Object]
    ) -> tuple[tuple[str, str] | None, Failure | None]:
        """Make or delete pods. Gives the reason and message of what went wrong, and the failure."""
        wanted = int(spec(parent).get("replicas", 1))
        missing = min(wanted - len(mine), _BURST)
        if missing > 0:
            reference = owner_reference(parent, *self.subject)
            pod = podfacts.from_template(spec(parent)["template"], name(parent), reference)

            async def make(_: int) -> None:
                self._expected.created(key, await self._control.create(parent, pod))

            _, failure = await podfacts.slow_start(missing, make)
            if failure is None or (failure.check(ApiError) and terminating_namespace(failure.value)):  # type: ignore[arg-type]  # checked just before
                return None, None
            return ("FailedCreate", failure.getErrorMessage()), failure
        surplus = min(len(mine) - wanted, _BURST)
        if surplus > 0:
            results = await podfacts.side_by_side([self._delete(key, parent, pod) for pod in self._surplus(parent, mine, surplus)])
            failures = [r for r in results if isinstance(r, Failure)]
            if failures:
                return ("FailedDelete", failures[0].getErrorMessage()), failures[0]
        return None, None

    async def _delete(self, key: Key, parent: Object, pod: Object) -> None:
        await self._control.delete(parent, pod)
        self._expected.deleted(key, pod)

    def _surplus(self, parent: Object, mine: list[Object], count: int) -> list[Object]:
        """The pods that go: those that do the least, and of equals those that have most relatives on their node."""
        per_node: Counter[str] = Counter()
        above = owner(parent)
        family = [parent] if above is None else self._sets.by_index("controllers/uid", str(above.get("uid", "")))
        for each in family:
            for pod in self._pods.by_index("controllers/uid", uid(each)):
                if podfacts.active(pod):
                    per_node[str(spec(pod).get("nodeName") or "")] += 1
        return sorted(mine, key=podfacts.deletion_order(self._cost, per_node))[:count]

    def _until_available(self, parent: Object, mine: list[Object]) -> float | None:
        """Seconds until a ready pod may become available."""
        least = int(spec(parent).get("minReadySeconds") or 0)
        if not least:
            return None
        now = self.env.wall()
        if any(podfacts.ready(p) and not podfacts.available(p, least, now) for p in mine):
            return float(least)
        return None

    # -- status

    async def _tell(self, parent: Object, mine: list[Object], problem: tuple[str, str] | None) -> None:
        fresh = self._status(parent, mine, problem)
        if fresh == status(parent):
            return
        try:
            await self.client.update(
                self.ref, namespace(parent), name(parent), {**parent, "status": fresh}, subresource="status"
            )
        except ApiError as error:
            if error.code != 404:
                raise

    def _status(self, parent: Object, mine: list[Object], problem: tuple[str, str] | None) -> dict[str, Any]:
        now = self.env.wall()
        template = (spec(parent)["template"].get("metadata") or {}).get("labels") or {}
        least = int(spec(parent).get("minReadySeconds") or 0)
        fresh: dict[str, Any] = {"replicas": len(mine)}
        counts = {
            "fullyLabeledReplicas": sum(1 for p in mine if template.items() <= labels(p).items()),
            "readyReplicas": sum(1 for p in mine if podfacts.ready(p)),
            "availableReplicas": sum(1 for p in mine if podfacts.available(p, least, now)),
            "observedGeneration": int(parent["metadata"].get("generation") or 0),
        }
        fresh.update({k: v for k, v in counts.items() if v})
        conditions = [c for c in status(parent).get("conditions") or () if c.get("type") != "ReplicaFailure"]
        if problem is not None:
            old = condition(status(parent), "ReplicaFailure")
            if old is None:
                old = {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "lastTransitionTime": timestamp(now),
                    "reason": problem[0],
                    "message": problem[1],
                }
            conditions.append(old)
        if conditions:
            fresh["conditions"] = conditions
        return fresh
