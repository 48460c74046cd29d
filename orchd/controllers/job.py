"""The job controller: runs pods until enough have succeeded or too many have failed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from heapq import nsmallest
from typing import Any, ClassVar

from twisted.python.failure import Failure

from orchd.controllers.adoption import Parent, claim
from orchd.controllers.base import Key
from orchd.controllers.event_objects import NORMAL, WARNING
from orchd.controllers.indexes import IndexSet, parse_index, parse_indexes
from orchd.controllers.interfaces import Environment
from orchd.controllers.job_metrics import JobMetrics
from orchd.controllers.job_tracking import FinalizerTracking, count_released, counted, observe_pod, tally
from orchd.controllers.objects import JOBS, MERGE, PODS, condition
from orchd.controllers.pods import deletion_order, is_active, is_ready, pod_from_template, slow_start
from orchd.controllers.podviews import view
from orchd.controllers.ttl_after_finished import finish_time
from orchd.controllers.workload import PodViewController
from orchd.controllers.write_errors import terminating_namespace
from orchd.errors import ApiError
from orchd.kinds.fields import (
    annotations_of,
    deleting,
    mapping,
    name,
    namespace,
    owner_reference,
    spec,
    status,
    uid,
    with_metadata,
)
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of, timestamp
from orchd.txkit.for_each import side_by_side

#: Initial back-off in seconds before a failed pod is replaced, doubled with each failure, and its maximum.
_BACKOFF, _LONGEST_BACKOFF = 10.0, 360.0
#: Maximum number of pods created or deleted per pass.
BURST = 500
#: Seconds for which changes of pods are collected while their readiness is counted.
READY_BATCH = 1.0
#: Maximum length of generateName.
_LONGEST_PREFIX = 58
NO_LIMIT = 2**31 - 1


def generate_name(job: str, index: int) -> str:
    """The generateName of the pod of one index of a job: short enough to keep the index."""
    tail = f"-{index}-"
    return job[: _LONGEST_PREFIX - len(tail)] + tail


@dataclass(slots=True)
class _Sync:
    """Result of one reconcile of a job, for metrics."""

    action: str


def _mode(job: Object) -> str:
    return "Indexed" if spec(job).get("completionMode") == "Indexed" else "NonIndexed"


class JobController(PodViewController):
    name = "job"
    account = "job-controller"
    ref = JOBS
    subject = ("batch/v1", "Job")
    #: The member of the metadata in which containers find their index.
    index_place: ClassVar[str] = "annotations"

    def __init__(self, env: Environment, *, workers: int = 5) -> None:
        self._index_key = env.dialect("batch.{long}.io/job-completion-index")
        super().__init__(env, see=self._view(), workers=workers)
        self._tracking = FinalizerTracking(self.client, env.dialect("batch.{long}.io/job-tracking"))
        self._failures: dict[Key, int] = {}
        self._metrics = JobMetrics(env.release)
        self.instruments = self._metrics.instruments

    def _view(self) -> Callable[[Object], Object]:
        """Makes the view of a pod."""
        return partial(view, annotations=(self._index_key,))

    # -- event handlers

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._tracking.forget(key)
        self._failures.pop(key, None)

    def observe_pod(self, old: Object | None, new: Object | None) -> None:
        super().observe_pod(old, new)
        observe_pod(self._tracking, self.subject[1], old, new)

    def as_parent(self, each: Object) -> Parent:
        parent = super().as_parent(each)
        return replace(parent, finalizer=self._tracking.finalizer) if self._is_tracked(each) else parent

    def _is_tracked(self, job: Object) -> bool:
        """True if the job's pods are counted with the help of a finalizer."""
        return self.env.feature("JobTrackingWithFinalizers") and self._tracking.finalizer in annotations_of(job)

    def enqueue_owner(self, key: Key, reference: dict[str, Any], pod: Object | None) -> None:
        """Queue a job when a failed pod may be replaced."""
        failed = pod is not None and status(pod).get("phase") == "Failed"
        batch = self.batch_seconds(key[0], str(reference.get("uid", "")))
        if self.env.feature("JobReadyPods"):
            batch = max(batch, READY_BATCH)
        self.queue.add_after(key, max(self._backoff(key) if failed else 0.0, batch))

    def _backoff(self, key: Key) -> float:
        failures = self._failures.get(key, 0)
        return float(min(_BACKOFF * 2 ** (failures - 1), _LONGEST_BACKOFF)) if failures else 0.0

    # -- reconciliation

    async def reconcile(self, key: Key) -> float | None:
        job = self._owners.get(*key)
        await self._tracking.release_orphans(key, job)
        if job is None or finish_time(job) is not None:
            self.forget(key)
            return None
        if spec(job).get("completionMode") == "Indexed" and not self.env.feature("IndexedJob"):
            self.record(job, WARNING, "IndexedJobDisabled", "Skipped Indexed Job sync because feature is disabled.")
            return None
        if not self._is_tracked(job) and self._tracking.finalizer in annotations_of(job):
            patch = {"metadata": {"annotations": {self._tracking.finalizer: None}}}
            await self.client.patch(JOBS, *key, patch, content_type=MERGE)
        mine = await claim(self.client, self.as_parent(job), PODS, self._views.controlled)
        began, mode, result = self.env.clock.seconds(), _mode(job), "error"
        sync = _Sync(action="reconciling" if self._expected.pause(key) else "tracking")
        try:
            wait = await self._pass(key, job, mine, sync)
            result = "success"
        finally:
            self._metrics.syncs.add(mode, result, sync.action)
            self._metrics.seconds.observe(self.env.clock.seconds() - began, mode, result, sync.action)
        return wait

    async def _pass(self, key: Key, job: Object, mine: list[Object], sync: _Sync) -> float | None:
        now = self.env.wall()
        suspended, tracked = self._is_suspended(job), self._is_tracked(job)
        fresh = {k: v for k, v in status(job).items() if k not in ("active", "ready", "succeeded", "failed")}
        if not fresh.get("startTime") and not suspended:
            fresh["startTime"] = timestamp(now)
        active = [pod for pod in mine if is_active(pod)]
        pending = self._tracking.pending(key, mine) if tracked else mine
        succeeded, done = await self._succeeded(job, pending)
        failed = sum(1 for pod in mine if status(pod).get("phase") == "Failed")
        if tracked:
            valid = pending if done is None else [pod for pod in pending if self._valid_index(job, pod) is not None]
            counts = counted(job, valid)
            succeeded, failed = (counts[0] if done is None else succeeded), counts[1]
        new_failure = failed > int(status(job).get("failed") or 0)
        over = self._over(
            job, mine, failed if new_failure and len(active) != spec(job).get("parallelism", 1) else 0, fresh
        )
        pause = self._expected.pause(key)
        problem: Failure | None = None
        count = len(active)
        if over is not None:
            sync.action = "pods_deleted" if active else sync.action
            _, problem = await self._delete(key, job, active, keep=tracked)
            if problem is None:
                failed, count = failed + count, 0
            elif tracked:
                # Pods that are left keep the job from ending.
                over = None
        elif not pause and not deleting(job):
            count, problem = await self._manage(key, job, active, succeeded, done)
            if count != len(active):
                sync.action = "pods_created" if count > len(active) else "pods_deleted"
        if count:
            fresh["active"] = count
        if self.env.feature("JobReadyPods"):
            fresh["ready"] = sum(1 for pod in active if is_ready(pod))
        end = self._conclude(job, over, succeeded, count) if problem is None else None
        if problem is None and end is None and not pause and not deleting(job) and self.env.feature("SuspendJob"):
            self._note_suspension(fresh, suspended)
        finished = end is not None
        if tracked:
            finished = await self._track(key, job, fresh, pending, end)
        else:
            fresh.pop("uncountedTerminatedPods", None)
            fresh.update({k: v for k, v in (("succeeded", succeeded), ("failed", failed)) if v})
            await self._set_indexes(fresh, done)
            finish(fresh, end)
            await self._tracking.release(None, [pod for pod in mine if self._tracking.holds(pod)])
            await self._write_status(job, fresh)
        if problem is not None:
            problem.raiseException()
        if new_failure and not finished:
            self._failures[key] = self._failures.get(key, 0) + 1
            return self._backoff(key)
        if succeeded > int(status(job).get("succeeded") or 0):
            # Progress resets the backoff.
            self._failures.pop(key, None)
        return pause or self._until_deadline(job, fresh)

    async def _succeeded(self, job: Object, mine: list[Object]) -> tuple[int, IndexSet | None]:
        """Number of completions; for an indexed job also their indexes."""
        ended = [pod for pod in mine if status(pod).get("phase") == "Succeeded"]
        if spec(job).get("completionMode") != "Indexed":
            return len(ended), None
        most = int(spec(job)["completions"])
        before = await self._completed(job)
        new = [i for i in (self._index(pod) for pod in ended) if i is not None and i < most and i not in before]
        done = await self.env.compute(before.size, before.with_indexes, new)
        return len(done), done

    async def _completed(self, job: Object) -> IndexSet:
        """The indexes in the status of a job, which may be a megabyte."""
        text = str(status(job).get("completedIndexes") or "")
        return await self.env.compute(len(text), parse_indexes, text, int(spec(job)["completions"]))

    async def _set_indexes(self, fresh: dict[str, Any], done: IndexSet | None) -> None:
        """Set or remove status.completedIndexes; None for a job without indexes."""
        if done is not None and done.intervals:
            fresh["completedIndexes"] = await self.env.compute(done.size, str, done)
        elif done is not None:
            fresh.pop("completedIndexes", None)

    def _valid_index(self, job: Object, pod: Object) -> int | None:
        """The index of a pod, None if the job has no such index."""
        index = self._index(pod)
        return index if index is not None and index < int(spec(job)["completions"]) else None

    def _index(self, pod: Object) -> int | None:
        return parse_index(annotations_of(pod).get(self._index_key, ""))

    def _over(self, job: Object, mine: list[Object], failed: int, fresh: dict[str, Any]) -> tuple[str, str] | None:
        """Reason and message of a failed job; None otherwise."""
        limit = int(spec(job).get("backoffLimit", 6))
        restarts = 0
        if spec(spec(job)["template"]).get("restartPolicy") == "OnFailure":
            for pod in mine:
                if status(pod).get("phase") in ("Running", "Pending"):
                    for kind in ("initContainerStatuses", "containerStatuses"):
                        restarts += sum(int(c.get("restartCount") or 0) for c in status(pod).get(kind) or ())
        if failed > limit or (restarts and restarts >= max(limit, 1)):
            return "BackoffLimitExceeded", "Job has reached the specified backoff limit"
        seconds, started = spec(job).get("activeDeadlineSeconds"), seconds_of(fresh.get("startTime"))
        if (
            seconds is not None
            and started is not None
            and not self._is_suspended(job)
            and self.env.wall() - started >= seconds
        ):
            return "DeadlineExceeded", "Job was active longer than specified deadline"
        return None

    async def _track(
        self, key: Key, job: Object, fresh: dict[str, Any], pending: list[Object], end: dict[str, Any] | None
    ) -> bool:
        """Count the pods of a tracked job that have finished, and let them go. `end` is the condition that ends the
        job: it is set when all pods are counted. Returns True if that is done."""
        current = status(job)
        fresh.update((name, current[name]) for name in ("succeeded", "failed") if name in current)
        # Of an earlier pass that did not come this far.
        count_released(fresh, {uid(pod) for pod in pending})
        index: Callable[[Object], int | None] | None = None
        done = IndexSet()
        if spec(job).get("completionMode") == "Indexed":
            index = partial(self._valid_index, job)
            pending = sorted(pending, key=lambda pod: -1 if (own := self._index(pod)) is None else own)
            done = await self._completed(job)
        counted = tally({**job, "status": fresh}, pending, index, done, ends=end is not None)
        fresh["uncountedTerminatedPods"] = {result: uids for result, uids in counted.uncounted.items() if uids}
        if counted.indexes:
            done = await self.env.compute(done.size, done.with_indexes, counted.indexes)
            fresh["succeeded"] = len(done)
            await self._set_indexes(fresh, done)
        written = await self._write_status(job, fresh)
        released, problem = await self._tracking.release(key, counted.released)
        fresh = dict(status(written))
        count_released(fresh, {uid(pod) for pod in pending} - released)
        finished = end is not None and problem is None and not fresh.get("uncountedTerminatedPods")
        if finished:
            finish(fresh, end)
        await self._write_status(written, fresh)
        if problem is not None:
            problem.raiseException()
        return finished

    def _conclude(
        self, job: Object, over: tuple[str, str] | None, succeeded: int, active: int
    ) -> dict[str, Any] | None:
        """The condition that ends the job; None if it has not ended."""
        completions = spec(job).get("completions")
        if over is not None:
            return self._condition("Failed", "True", *over)
        if (succeeded > 0 if completions is None else succeeded >= int(completions)) and active == 0:
            return self._condition("Complete", "True")
        return None

    def _is_suspended(self, job: Object) -> bool:
        return bool(spec(job).get("suspend")) and self.env.feature("SuspendJob")

    def _note_suspension(self, fresh: dict[str, Any], suspended: bool) -> None:
        old = condition(fresh, "Suspended")
        recorded = old is not None and old.get("status") == "True"
        if suspended == recorded:
            return
        reason, message = ("JobSuspended", "Job suspended") if suspended else ("JobResumed", "Job resumed")
        news = self._condition("Suspended", "True" if suspended else "False", reason, message)
        fresh["conditions"] = [*(c for c in fresh.get("conditions") or () if c.get("type") != "Suspended"), news]
        if not suspended:
            # A resumed job has its full deadline again.
            fresh["startTime"] = timestamp(self.env.wall())

    def _condition(self, type_: str, value: str, reason: str = "", message: str = "") -> dict[str, Any]:
        at = timestamp(self.env.wall())
        out = {"type": type_, "status": value, "lastProbeTime": at, "lastTransitionTime": at}
        if reason:
            out.update(reason=reason, message=message)
        return out

    def _until_deadline(self, job: Object, fresh: dict[str, Any]) -> float | None:
        seconds, started = spec(job).get("activeDeadlineSeconds"), seconds_of(fresh.get("startTime"))
        if seconds is None or started is None or condition(fresh, "Failed") or condition(fresh, "Complete"):
            return None
        left = started + int(seconds) - self.env.wall()
        return left if left > 0 else None

    # -- pods

    async def _manage(
        self, key: Key, job: Object, active: list[Object], succeeded: int, done: IndexSet | None
    ) -> tuple[int, Failure | None]:
        """Create or delete pods. Returns the number of active pods and the first failure."""
        if self._is_suspended(job):
            _, problem = await self._delete(key, job, active)
            return (len(active) if problem else 0), problem
        parallelism = int(spec(job).get("parallelism", 1))
        completions = spec(job).get("completions")
        if completions is None:
            desired = len(active) if succeeded else parallelism
        else:
            desired = max(0, min(int(completions) - succeeded, parallelism))
        surplus = self._surplus(active, max(0, len(active) - desired), done)
        if surplus:
            _, problem = await self._delete(key, job, surplus[:BURST])
            return len(active) - (0 if problem else len(surplus[:BURST])), problem
        missing = min(desired - len(active), BURST)
        if missing <= 0:
            return len(active), None
        created, problem = await self._create(key, job, active, missing, done)
        return len(active) + created, problem

    def _surplus(self, active: list[Object], count: int, done: IndexSet | None) -> list[Object]:
        """Pods to delete: of an indexed job first those whose index is completed, duplicate or missing, then in the
        order in which ReplicaSets scale down."""
        first: list[Object] = []
        if done is not None:
            seen: set[int] = set()
            for pod in active:
                index = self._index(pod)
                if index is None or index in done or index in seen:
                    first.append(pod)
                else:
                    seen.add(index)
        chosen = {uid(pod) for pod in first}
        rest = (pod for pod in active if uid(pod) not in chosen)
        return [*first, *nsmallest(count - len(first), rest, key=deletion_order("", {}))]

    async def _create(
        self, key: Key, job: Object, active: list[Object], missing: int, done: IndexSet | None
    ) -> tuple[int, Failure | None]:
        pod = self._plain_pod(job)
        if done is None:
            return await self._make(key, job, [pod] * missing)
        taken = done.with_indexes(i for i in (self._index(p) for p in active) if i is not None)
        indexes = taken.missing(missing, int(spec(job)["completions"]))
        return await self._make(key, job, [self._indexed(job, pod, index) for index in indexes])

    def _plain_pod(self, job: Object) -> Object:
        """The pod of the template, without an index."""
        reference = owner_reference(job, "batch/v1", "Job")
        pod = pod_from_template(spec(job)["template"], name(job), reference)
        if self._is_tracked(job) and not self._tracking.holds(pod):
            finalizers = [*(pod["metadata"].get("finalizers") or ()), self._tracking.finalizer]
            pod = with_metadata(pod, finalizers=finalizers)
        return pod

    async def _make(self, key: Key, job: Object, pods: Sequence[Object]) -> tuple[int, Failure | None]:
        """Create pods. Returns the number of those that were created and the first failure."""

        async def make(number: int) -> None:
            self._expected.expect_creation(key, await self._control.create(job, pods[number]))

        created, problem = await slow_start(len(pods), make)
        # Checked just before.
        if problem is not None and problem.check(ApiError) and terminating_namespace(problem.value):  # type: ignore[arg-type]
            return created, None
        return created, problem

    def _indexed(self, job: Object, pod: Object, index: int) -> Object:
        """The pod of one index, with the index in an annotation, the environment and the host name."""
        metadata = {**pod["metadata"], "generateName": generate_name(name(job), index)}
        metadata["annotations"] = {**mapping(metadata, "annotations"), self._index_key: str(index)}
        source = {"fieldRef": {"fieldPath": f"metadata.{self.index_place}['{self._index_key}']"}}
        variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": source}
        within = {**pod["spec"], "hostname": f"{name(job)}-{index}"}
        for key in ("initContainers", "containers"):
            if within.get(key):
                within[key] = [
                    c
                    if any(e.get("name") == variable["name"] for e in c.get("env") or ())
                    else {**c, "env": [*(c.get("env") or ()), variable]}
                    for c in within[key]
                ]
        return {**pod, "metadata": metadata, "spec": within}

    async def _delete(
        self, key: Key, job: Object, pods: list[Object], *, keep: bool = False
    ) -> tuple[list[Object], Failure | None]:
        """Delete pods. Returns those that were deleted and the first failure. With `keep`, they stay until they are
        counted."""

        async def one(pod: Object) -> Object:
            if not keep and self._tracking.holds(pod):
                await self._tracking.release(None, [pod])
            await self._control.delete(job, pod)
            self._expected.expect_deletion(key, pod)
            return pod

        results = await side_by_side([one(pod) for pod in pods])
        deleted = [r for r in results if not isinstance(r, Failure)]
        return deleted, next((r for r in results if isinstance(r, Failure)), None)

    async def _write_status(self, job: Object, fresh: dict[str, Any]) -> Object:
        """Write the status if it changed, and count and record what it says. Returns the job as it is now."""
        if fresh == status(job):
            return job
        try:
            written: Object = await self.client.update(
                JOBS, namespace(job), name(job), {**job, "status": fresh}, subresource="status"
            )
        except ApiError as error:
            if error.code != 404:
                raise
            return {**job, "status": fresh}
        self._count(job, fresh)
        self._record_conclusion(job, fresh)
        return written

    def _count(self, job: Object, fresh: dict[str, Any]) -> None:
        """Count what has ended since the last status."""
        mode, before = _mode(job), status(job)
        for result in ("succeeded", "failed"):
            more = int(fresh.get(result) or 0) - int(before.get(result) or 0)
            if more > 0:
                self._metrics.ended_pods.add(mode, result, by=more)
        for kind, result in (("Complete", "succeeded"), ("Failed", "failed")):
            end = condition(fresh, kind)
            if end is not None and condition(before, kind) is None:
                self._metrics.count_ended(mode, result, str(end.get("reason") or ""))

    def _record_conclusion(self, job: Object, fresh: dict[str, Any]) -> None:
        """Record Events for new conditions."""
        for each in fresh.get("conditions") or ():
            before = condition(status(job), each["type"])
            if before is not None and before.get("status") == each.get("status"):
                continue
            match each["type"]:
                case "Failed":
                    self.record(job, WARNING, str(each.get("reason", "")), str(each.get("message", "")))
                case "Complete":
                    if int(fresh.get("succeeded") or 0) > int(spec(job).get("completions") or NO_LIMIT):
                        note = "Too many succeeded pods running after completion count reached"
                        self.record(job, WARNING, "TooManySucceededPods", note)
                    self.record(job, NORMAL, "Completed", "Job completed")
                case "Suspended":
                    verb = "suspended" if each["status"] == "True" else "resumed"
                    self.record(job, NORMAL, verb.capitalize(), f"Job {verb}")


def finish(fresh: dict[str, Any], end: dict[str, Any] | None) -> None:
    """Add the condition that ends a job."""
    if end is not None:
        fresh["conditions"] = [*(fresh.get("conditions") or ()), end]
        if end["type"] == "Complete":
            fresh["completionTime"] = end["lastTransitionTime"]
