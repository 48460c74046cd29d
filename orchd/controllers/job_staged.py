"""The job controller from release 1.31 on: jobs end in two stages, and policies say which failures and successes
decide.

An interim condition (FailureTarget, SuccessCriteriaMet) says how the job will end; the terminal one (Failed, Complete)
follows when no pod is active or being deleted and all are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from heapq import nsmallest
from typing import Any, Final

from twisted.python.failure import Failure

from orchd.controllers.base import Key
from orchd.controllers.indexes import IndexSet, parse_indexes
from orchd.controllers.interfaces import Environment
from orchd.controllers.job import BURST, READY_BATCH, JobController, finish
from orchd.controllers.job_policies import (
    Backoff,
    IndexFailures,
    has_failed,
    judge_failure,
    met_success,
    replaces_failed_only,
)
from orchd.controllers.job_tracking import MOST_UNCOUNTED, count_released, uncounted_of
from orchd.controllers.objects import condition
from orchd.controllers.pods import deletion_order, is_active, is_finished, is_ready
from orchd.controllers.podviews import view_with_results
from orchd.kinds.conditions import find_in
from orchd.kinds.fields import deleting, labels, spec, status, uid, with_metadata
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import timestamp

#: Interim conditions, and the terminal ones that follow them.
_TERMINAL: Final = {"FailureTarget": "Failed", "SuccessCriteriaMet": "Complete"}


@dataclass(slots=True, kw_only=True)
class _Pass:
    """The state of a job in one pass. `fresh` is the new status; `pending` are the pods that are not counted yet.
    `before` and `done` are the completed indexes of the status and now, None for a job without indexes; `lost` are the
    failed ones, None for a job without a limit per index; `replaced` are the pods whose failures their replacements
    continue, by index. `end` is the condition that the job has reached."""

    key: Key
    job: Object
    pods: list[Object]
    active: list[Object]
    pending: list[Object]
    fresh: dict[str, Any]
    succeeded: int
    failed: int
    terminating: int
    ready: int
    backoff: Backoff
    before: IndexSet = field(default_factory=IndexSet)
    done: IndexSet | None = None
    lost: IndexSet | None = None
    newly_lost: int = 0
    replaced: dict[int, Object] = field(default_factory=dict)
    end: dict[str, Any] | None = None

    def count_deleted(self, pods: list[Object]) -> None:
        self.terminating += len(pods)
        self.ready -= sum(map(is_ready, pods))


class StagedJobController(JobController):
    index_place = "labels"

    def __init__(self, env: Environment) -> None:
        self._index_failures = IndexFailures(
            env.dialect("batch.{long}.io/job-index-failure-count"),
            env.dialect("batch.{long}.io/job-index-ignored-failure-count"),
        )
        super().__init__(env, workers=env.settings.concurrent_job_syncs)
        self._manager = env.dialect("{long}.io/job-controller")
        self._backoffs: dict[Key, Backoff] = {}
        #: Jobs of other controllers.
        self._external: set[Key] = set()

    def _view(self) -> Callable[[Object], Object]:
        kept = (self._index_key, self._index_failures.counted, self._index_failures.ignored)
        return partial(view_with_results, annotations=kept)

    def forget(self, key: Key) -> None:
        super().forget(key)
        self._backoffs.pop(key, None)

    def _is_tracked(self, job: Object) -> bool:
        return True

    def observe_pod(self, old: Object | None, new: Object | None) -> None:
        super().observe_pod(old, new)
        was, is_ = (pod is not None and is_finished(pod) and self._tracking.holds(pod) for pod in (old, new))
        if was != is_:
            self._metrics.tracked.add("add" if is_ else "delete")

    def enqueue_owner(self, key: Key, reference: dict[str, Any], pod: Object | None) -> None:
        """Queue a job for a change of a pod; changes are collected for a while."""
        self.queue.add_after(key, max(READY_BATCH, self.batch_seconds(key[0], str(reference.get("uid", "")))))

    async def reconcile(self, key: Key) -> float | None:
        job = self._owners.get(*key)
        manager = None if job is None else spec(job).get("managedBy")
        if manager not in (None, self._manager):
            if key not in self._external:
                self._external.add(key)
                self._metrics.external.add(str(manager))
            return None
        self._external.discard(key)
        return await super().reconcile(key)

    async def _pass(self, key: Key, job: Object, mine: list[Object], sync: Any) -> float | None:
        look = await self._look(key, job, mine)
        pause = self._expected.pause(key)
        active, problem, wait = len(look.active), None, 0.0
        if look.end is not None:
            sync.action = "pods_deleted" if active else sync.action
            deleted, problem = await self._delete(key, job, look.active, keep=True)
            look.count_deleted(deleted)
            active -= len(deleted)
            if active or pause:
                # Pods that are left, or that the informer does not have yet, keep the job from ending.
                look.end = None
        else:
            managed = not pause and not deleting(job)
            if managed:
                active, problem, wait = await self._manage_pods(look, sync)
            self._conclude_pass(look, active, managed=managed)
        fresh = look.fresh
        fresh.pop("active", None)
        if active:
            fresh["active"] = active
        fresh.update(ready=look.ready, terminating=look.terminating)
        await self._track_pods(look)
        if problem is not None:
            problem.raiseException()
        waits = [each for each in (pause, wait, self._until_deadline(job, fresh)) if each]
        return min(waits, default=None)

    # -- what there is

    async def _look(self, key: Key, job: Object, mine: list[Object]) -> _Pass:
        """Count the pods, and find out whether the job has reached an end."""
        current, now = status(job), self.env.wall()
        fresh = dict(current)
        if not fresh.get("startTime") and not spec(job).get("suspend"):
            fresh["startTime"] = timestamp(now)
        pending, uncounted = self._tracking.pending(key, mine), uncounted_of(current)
        active = [pod for pod in mine if is_active(pod)]
        valid = pending if not self._is_indexed(job) else [p for p in pending if self._valid_index(job, p) is not None]
        succeeded = [
            pod for pod in valid if status(pod).get("phase") == "Succeeded" and uid(pod) not in uncounted["succeeded"]
        ]
        failed = [pod for pod in valid if has_failed(job, pod) and uid(pod) not in uncounted["failed"]]
        policy = spec(job).get("podFailurePolicy")
        look = _Pass(
            key=key,
            job=job,
            pods=mine,
            active=active,
            pending=pending,
            fresh=fresh,
            succeeded=int(current.get("succeeded") or 0) + len(succeeded) + len(uncounted["succeeded"]),
            failed=int(current.get("failed") or 0)
            + sum(judge_failure(policy, pod).counts for pod in failed)
            + len(uncounted["failed"]),
            terminating=sum(1 for pod in mine if deleting(pod) and not is_finished(pod)),
            ready=sum(map(is_ready, active)),
            backoff=self._backoffs.get(key, Backoff()).after(succeeded, failed),
        )
        look.end = self._reached_before(current) or self._failure(look)
        if self._is_indexed(job):
            await self._look_at_indexes(look)
        return look

    @staticmethod
    def _is_indexed(job: Object) -> bool:
        return spec(job).get("completionMode") == "Indexed"

    def _reached_before(self, current: dict[str, Any]) -> dict[str, Any] | None:
        """The end that an earlier pass wrote."""
        met = condition(current, "SuccessCriteriaMet")
        if met is not None and met.get("status") == "True":
            return dict(met)
        target = condition(current, "FailureTarget")
        if target is not None and target.get("status") == "True":
            return self._condition("Failed", "True", str(target.get("reason", "")), str(target.get("message", "")))
        return None

    def _failure(self, look: _Pass) -> dict[str, Any] | None:
        """The condition of a job that fails now."""
        job, policy = look.job, spec(look.job).get("podFailurePolicy")
        for pod in look.pods if policy is not None else ():
            note = judge_failure(policy, pod).note if has_failed(job, pod) else ""
            if note:
                return self._condition("FailureTarget", "True", "PodFailurePolicy", note)
        over = self._over(job, look.pods, look.failed, look.fresh)
        return None if over is None else self._condition("FailureTarget", "True", *over)

    async def _look_at_indexes(self, look: _Pass) -> None:
        """Add the completed and the failed indexes, and the ends that follow from them."""
        job, completions = look.job, int(spec(look.job)["completions"])
        look.before = await self._completed(job)
        held = [(self._valid_index(job, pod), pod) for pod in look.pods if self._tracking.holds(pod)]
        new = [i for i, pod in held if i is not None and status(pod).get("phase") == "Succeeded"]
        look.done = done = await self.env.compute(look.before.size, look.before.with_indexes, new)
        look.succeeded = len(done)
        limit = spec(job).get("backoffLimitPerIndex")
        if limit is not None:
            text = str(status(job).get("failedIndexes") or "")
            before = await self.env.compute(len(text), parse_indexes, text, completions)
            gone = [i for i, pod in held if i is not None and self._loses_index(job, pod, int(limit))]
            look.lost = lost = await self.env.compute(before.size, before.with_indexes, gone)
            look.newly_lost = len(lost) - len(before)
            if look.end is None:
                look.end = self._index_failure(job, done, lost)
            running = {self._index(pod) for pod in look.active}
            open_ = (
                pod
                for pod in look.pending
                if has_failed(job, pod)
                and (i := self._valid_index(job, pod)) is not None
                and i not in done
                and i not in lost
                and i not in running
            )
            look.replaced = self._index_failures.choose_replaced(open_, self._index)
        if look.end is None:
            note = met_success(spec(job).get("successPolicy"), completions, done)
            if note:
                look.end = self._condition("SuccessCriteriaMet", "True", "SuccessPolicy", note)

    def _loses_index(self, job: Object, pod: Object, limit: int) -> bool:
        """True if no further pod of the index of a failed pod may follow."""
        if not has_failed(job, pod):
            return False
        verdict = judge_failure(spec(job).get("podFailurePolicy"), pod)
        return verdict.action == "FailIndex" or (verdict.counts and self._index_failures.of(pod) >= limit)

    def _index_failure(self, job: Object, done: IndexSet, lost: IndexSet) -> dict[str, Any] | None:
        most = spec(job).get("maxFailedIndexes")
        if most is not None and len(lost) > int(most):
            note = "Job has exceeded the specified maximal number of failed indexes"
            return self._condition("FailureTarget", "True", "MaxFailedIndexesExceeded", note)
        if lost and len(lost) + len(done) >= int(spec(job)["completions"]):
            return self._condition("FailureTarget", "True", "FailedIndexes", "Job has failed indexes")
        return None

    # -- pods

    async def _manage_pods(self, look: _Pass, sync: Any) -> tuple[int, Failure | None, float]:
        """Create or delete pods. Returns the number of active pods, the first failure, and seconds until more may be
        created."""
        job, active = look.job, len(look.active)
        parallelism, completions = int(spec(job).get("parallelism", 1)), spec(job).get("completions")
        if spec(job).get("suspend"):
            desired = 0
        elif completions is None:
            desired = active if look.succeeded else parallelism
        else:
            desired = max(0, min(int(completions) - look.succeeded, parallelism))
        surplus = self._choose_surplus(look, max(0, active - desired))
        if surplus:
            sync.action = "pods_deleted"
            deleted, problem = await self._delete(look.key, job, surplus[:BURST])
            look.count_deleted(deleted)
            return active - len(deleted), problem, 0.0
        missing = desired - active - (look.terminating if replaces_failed_only(job) else 0)
        if missing <= 0:
            return active, None, 0.0
        sync.action = "pods_created"
        pods, wait = self._next_pods(look, min(missing, BURST))
        if wait:
            # As in the reference, the status shows no active pods until the next one may be created.
            return 0, None, wait
        created, problem = await self._make(look.key, job, pods)
        self._count_creations(look, created, problem)
        return active + created, problem, 0.0

    def _count_creations(self, look: _Pass, created: int, problem: Failure | None) -> None:
        if look.failed and spec(look.job).get("podReplacementPolicy") == "Failed":
            reason = "recreate_failed"
        else:
            reason = "recreate_terminating_or_failed" if look.failed or look.terminating else "new"
        for number, result in ((created, "succeeded"), (int(problem is not None), "failed")):
            if number:
                self._metrics.creations.add(reason, result, by=number)

    def _choose_surplus(self, look: _Pass, least: int) -> list[Object]:
        """At least so many pods to delete: those without a valid index, all but the most useful one of an index, then
        the least useful ones."""
        if look.done is None:
            first, left = [], list(look.active)
        else:
            by_index: dict[int | None, list[Object]] = {}
            for pod in look.active:
                by_index.setdefault(self._valid_index(look.job, pod), []).append(pod)
            first, left = by_index.pop(None, []), []
            for _, pods in sorted(by_index.items(), key=lambda entry: entry[0] or 0):
                ordered = sorted(pods, key=deletion_order("", {}))
                first += ordered[:-1]
                left.append(ordered[-1])
        return [*first, *nsmallest(least - len(first), left, key=deletion_order("", {}))]

    def _next_pods(self, look: _Pass, missing: int) -> tuple[list[Object], float]:
        """The pods to create now, or seconds until the first may be created."""
        job, now = look.job, self.env.wall()
        per_index = look.lost is not None
        wait = 0.0 if per_index else look.backoff.left(now)
        if wait:
            return [], wait
        plain = self._plain_pod(job)
        if look.done is None:
            return [plain] * missing, 0.0
        present = [*look.active]
        if replaces_failed_only(job):
            present += [pod for pod in look.pods if deleting(pod) and not is_finished(pod)]
        taken = look.done.with_indexes(i for i in map(self._index, present) if i is not None)
        if look.lost is not None:
            taken = taken.union(look.lost)
        indexes = taken.missing(missing, int(spec(job)["completions"]))
        if per_index:
            waits = {i: self._index_failures.left(look.replaced.get(i), now) for i in indexes}
            if indexes and min(waits.values()) > 0:
                return [], min(waits.values())
            indexes = [i for i in indexes if not waits[i]]
        return [self._pod_of_index(look, plain, index) for index in indexes], 0.0

    def _pod_of_index(self, look: _Pass, plain: Object, index: int) -> Object:
        pod = self._indexed(look.job, plain, index)
        tags = {**labels(pod), self._index_key: str(index)}
        notes = pod["metadata"]["annotations"]
        if look.lost is not None:
            policy = spec(look.job).get("podFailurePolicy")
            notes = {**notes, **self._index_failures.annotations(look.replaced.get(index), policy)}
        return with_metadata(pod, labels=tags, annotations=notes)

    # -- the status

    def _conclude_pass(self, look: _Pass, active: int, *, managed: bool) -> None:
        """Set the end of a job with enough successes, or note that it was suspended or resumed."""
        job, completions = look.job, spec(look.job).get("completions")
        enough = look.succeeded > 0 if completions is None else look.succeeded >= int(completions)
        if enough and active == 0:
            note = "Reached expected number of succeeded pods"
            look.end = self._condition("SuccessCriteriaMet", "True", "CompletionsReached", note)
        elif managed and spec(job).get("suspend"):
            self._ensure(look.fresh, self._condition("Suspended", "True", "JobSuspended", "Job suspended"))
        elif managed and condition(look.fresh, "Suspended") is not None:
            news = self._condition("Suspended", "False", "JobResumed", "Job resumed")
            if self._ensure(look.fresh, news):
                # A resumed job has its full deadline again.
                look.fresh["startTime"] = timestamp(self.env.wall())

    @staticmethod
    def _ensure(fresh: dict[str, Any], condition: dict[str, Any]) -> bool:
        """Add a condition, or replace the one of its type. Returns False if that one says the same."""
        conditions = list(fresh.get("conditions") or ())
        before = find_in(conditions, condition["type"])
        if before is None:
            conditions.append(condition)
        elif all(before.get(k) == condition.get(k) for k in ("status", "reason", "message")):
            return False
        else:
            conditions[conditions.index(before)] = condition
        fresh["conditions"] = conditions
        return True

    async def _track_pods(self, look: _Pass) -> None:
        """Count the pods that have finished, let them go, and end the job when all are counted. The end is written
        first as an interim condition. Raises ApiError."""
        job, fresh = look.job, look.fresh
        held = {uid(pod) for pod in look.pending}
        count_released(fresh, held)
        released, complete = self._tally(look)
        if look.done is not None:
            fresh["succeeded"] = len(look.done)
            await self._set_indexes(fresh, look.done)
            if look.lost is not None:
                fresh["failedIndexes"] = await self.env.compute(look.lost.size, str, look.lost)
        end = look.end
        if end is not None and end["type"] in _TERMINAL:
            self._ensure(fresh, end)
            end = self._condition(_TERMINAL[end["type"]], "True", str(end["reason"]), str(end["message"]))
        written = await self._write_status(job, _without_zeros(fresh))
        if written is not job and look.done is not None:
            limit = "global" if look.lost is None else "perIndex"
            for number, result in ((len(look.done) - len(look.before), "succeeded"), (look.newly_lost, "failed")):
                if number > 0:
                    self._metrics.indexes.add(result, limit, by=number)
        self._backoffs[look.key] = look.backoff
        gone, problem = await self._tracking.release(look.key, released)
        fresh = dict(status(written))
        count_released(fresh, held - gone)
        uncounted = any(uncounted_of(fresh).values())
        if end is not None and problem is None and complete and not uncounted and not look.terminating:
            finish(fresh, end)
        await self._write_status(written, fresh)
        if problem is not None:
            problem.raiseException()

    def _tally(self, look: _Pass) -> tuple[list[Object], bool]:
        """Add pods that have ended to the uncounted ones and to the completed indexes. Returns the pods that may go,
        and False if there are more than one pass counts."""
        job, policy = look.job, spec(look.job).get("podFailurePolicy")
        uncounted, indexes, released = uncounted_of(look.fresh), 0, []
        indexed, complete = look.done is not None, True
        fails_rest = look.end is not None and look.end["type"] != "SuccessCriteriaMet"
        for pod in sorted(look.pending, key=lambda pod: -1 if (i := self._index(pod)) is None else i):
            failed, own = has_failed(job, pod), self._valid_index(job, pod) if indexed else None
            if not self._may_go(look, pod, failed):
                continue
            released.append(pod)
            valid = own is not None or not indexed
            if status(pod).get("phase") == "Succeeded" and uid(pod) not in uncounted["failed"]:
                if indexed:
                    indexes += own is not None and own not in look.before
                elif uid(pod) not in uncounted["succeeded"]:
                    uncounted["succeeded"].append(uid(pod))
            elif (failed or fails_rest) and valid and uid(pod) not in uncounted["failed"]:
                verdict = judge_failure(policy, pod)
                if verdict.action:
                    self._metrics.judged.add(verdict.action)
                if verdict.counts:
                    uncounted["failed"].append(uid(pod))
            if indexes + sum(map(len, uncounted.values())) >= MOST_UNCOUNTED:
                # The change of the status brings the job back into the queue.
                complete = False
                break
        look.fresh["uncountedTerminatedPods"] = {result: uids for result, uids in uncounted.items() if uids}
        return released, complete

    def _may_go(self, look: _Pass, pod: Object, failed: bool) -> bool:
        """True if the finalizer of a pod may be removed. The last failed pod of an index stays until its replacement
        has its counts."""
        if deleting(look.job) or look.end is not None or status(pod).get("phase") == "Succeeded":
            return True
        own = self._index(pod)
        kept = None if own is None else look.replaced.get(own)
        return failed and (kept is None or uid(kept) != uid(pod))


def _without_zeros(fresh: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fresh.items() if value != 0 or key in ("ready", "terminating")}
