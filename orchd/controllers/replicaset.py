"""The replica set controller: maintains the desired number of pods of a template."""

from __future__ import annotations

from collections import Counter
from typing import Any, ClassVar

from twisted.python.failure import Failure

from orchd.controllers.adoption import claim_members
from orchd.controllers.base import Key
from orchd.controllers.interfaces import Environment
from orchd.controllers.members import Census, Member, Members
from orchd.controllers.objects import BY_CONTROLLER, REPLICA_SETS, condition, index_by_controller
from orchd.controllers.pods import pod_from_template, slow_start
from orchd.controllers.workload import WorkloadController
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.fields import deleting, labels, name, namespace, owner, owner_reference, spec, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.txkit.for_each import side_by_side
from orchd.txkit.metrics.histogram import exponential
from orchd.txkit.metrics.instruments import Distribution

#: Maximum number of pods created or deleted per reconciliation.
_BURST = 500


#: Counts that the status has even if they are zero.
_WRITTEN_AS_ZERO = ("replicas", "terminatingReplicas")


class ReplicaSetController(WorkloadController):
    """Subclasses override `ref`, `subject`, `selector` and `counts_terminating` for replication controllers. The cost
    of a reconciliation does not depend on the number of pods, only on that of the pods that it creates or deletes."""

    name = "replicaset"
    account = "replicaset-controller"
    ref = REPLICA_SETS
    subject = ("apps/v1", "ReplicaSet")
    #: True if the status counts terminating pods, from release 1.35 on.
    counts_terminating: ClassVar[bool] = True

    def __init__(self, env: Environment, *, workers: int = 0) -> None:
        super().__init__(env, workers=workers or env.settings.concurrent_replicaset_syncs)
        self._age_ratio = Distribution(
            "replicaset_controller_sorting_deletion_age_ratio",
            "Ready time of a deleted pod relative to that of the youngest ready pod.",
            exponential(0.25, 2, 6),
        )
        self.instruments = (self._age_ratio,)
        index_by_controller(self._owners)
        cost = env.dialect("controller.{long}.io/pod-deletion-cost") if env.feature("PodDeletionCost") else ""
        self._members = Members(self.subject[1], cost)

    def observe_pod(self, old: Object | None, new: Object | None) -> None:
        self._members.observe(old, new)

    async def reconcile(self, key: Key) -> float | None:
        parent = self._owners.get(*key)
        if parent is None:
            self.forget(key)
            return None
        mine = await claim_members(self.client, self.as_parent(parent), self._members, self._pods)
        # Before pods are made or deleted: the informer delivers these changes meanwhile.
        counts = self._count(parent, mine)
        pause = self._expected.pause(key)
        problem: tuple[str, str] | None = None
        failure: Failure | None = None
        if not pause and not deleting(parent):
            problem, failure = await self._manage(key, parent, mine)
        await self._write_status(parent, counts, problem)
        if failure is not None:
            failure.raiseException()
        if pause:
            return pause
        least = int(spec(parent).get("minReadySeconds") or 0)
        unavailable = least and counts["readyReplicas"] > counts["availableReplicas"]
        return float(least) if unavailable else None

    async def _manage(self, key: Key, parent: Object, mine: Census) -> tuple[tuple[str, str] | None, Failure | None]:
        """Create or delete pods. Returns reason and message of a failure, and the failure."""
        desired = int(spec(parent).get("replicas", 1))
        missing = min(desired - mine.active, _BURST)
        if missing > 0:
            reference = owner_reference(parent, *self.subject)
            pod = pod_from_template(spec(parent)["template"], name(parent), reference)

            async def make(_: int) -> None:
                self._expected.expect_creation(key, await self._control.create(parent, pod))

            _, failure = await slow_start(missing, make)
            # Checked just before.
            if failure is None or (failure.check(ApiError) and terminating_namespace(failure.value)):  # type: ignore[arg-type]
                return None, None
            return ("FailedCreate", failure.getErrorMessage()), failure
        surplus = min(mine.active - desired, _BURST)
        if surplus > 0:
            results = await side_by_side(
                [self._delete(key, parent, pod) for pod in self._choose_surplus(parent, mine, surplus)]
            )
            failures = [r for r in results if isinstance(r, Failure)]
            if failures:
                return ("FailedDelete", failures[0].getErrorMessage()), failures[0]
        return None, None

    async def _delete(self, key: Key, parent: Object, member: Member) -> None:
        pod = member.as_object()
        await self._control.delete(parent, pod)
        self._expected.expect_deletion(key, pod)

    def _choose_surplus(self, parent: Object, mine: Census, count: int) -> list[Member]:
        """The pods to delete: the least useful ones, and of equal ones those with most related pods on their node."""
        per_node: Counter[str] = Counter()
        above = owner(parent)
        family = [parent] if above is None else self._owners.by_index(BY_CONTROLLER, str(above.get("uid", "")))
        for each in family:
            per_node.update(self._members.of_owner(namespace(each), uid(each)).nodes)
        chosen = mine.choose_surplus(
            count, per_node, self.env.wall() if self.env.feature("LogarithmicScaleDown") else None
        )
        self._observe_ages(chosen, mine)
        return chosen

    def _observe_ages(self, chosen: list[Member], mine: Census) -> None:
        """Compare the ages of ready pods that go with that of the youngest ready one."""
        now = self.env.wall()
        ages = {member.uid: now - (seconds_of(member.since) or now) for member in mine if member.ready}
        youngest = min(ages.values(), default=0.0)
        if youngest > 0:
            for member in chosen:
                if member.uid in ages:
                    self._age_ratio.observe(ages[member.uid] / youngest)

    # -- status

    async def _write_status(self, parent: Object, counts: dict[str, int], problem: tuple[str, str] | None) -> None:
        await self.write_status(self.ref, parent, self._status(parent, counts, problem))

    def _count(self, parent: Object, mine: Census) -> dict[str, int]:
        """The counts of the status."""
        template = labels(spec(parent)["template"])
        least = int(spec(parent).get("minReadySeconds") or 0)
        counts = {
            "replicas": mine.active,
            "fullyLabeledReplicas": mine.count_labeled(template),
            "readyReplicas": mine.ready,
            "availableReplicas": mine.count_available(least, self.env.wall()),
        }
        if self.counts_terminating and self.env.feature("DeploymentReplicaSetTerminatingReplicas"):
            counts["terminatingReplicas"] = mine.terminating
        return counts

    def _status(self, parent: Object, counts: dict[str, int], problem: tuple[str, str] | None) -> dict[str, Any]:
        fresh: dict[str, Any] = {k: v for k, v in counts.items() if v or k in _WRITTEN_AS_ZERO}
        if fields.generation(parent):
            fresh["observedGeneration"] = fields.generation(parent)
        conditions = [c for c in fields.conditions(parent) if c.get("type") != "ReplicaFailure"]
        if problem is not None:
            old = condition(status(parent), "ReplicaFailure")
            if old is None:
                old = {
                    "type": "ReplicaFailure",
                    "status": "True",
                    "lastTransitionTime": timestamp(self.env.wall()),
                    "reason": problem[0],
                    "message": problem[1],
                }
            conditions.append(old)
        if conditions:
            fresh["conditions"] = conditions
        return fresh
