"""Tracking of a job's pods with a finalizer: a finished pod may go only after the job's status has counted it.

A status write records the uids of finished pods in `uncountedTerminatedPods`; then their finalizers are removed; the
next write moves them to the counters. A controller that stops between any two of these steps continues where the status
says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from twisted.python.failure import Failure

from orchd.client.informers import key_of
from orchd.client.interfaces import IClient
from orchd.controllers.base import Key
from orchd.controllers.indexes import IndexSet
from orchd.controllers.objects import PODS, STRATEGIC_MERGE
from orchd.controllers.write_errors import ignore_missing_or_changed
from orchd.errors import ApiError
from orchd.kinds.fields import deleting, mapping, name, namespace, owner, status, uid
from orchd.kinds.jsonvalues import Object
from orchd.txkit.for_each import side_by_side

#: Number of pods that one pass counts: it bounds the size of the status.
MOST_UNCOUNTED: Final = 500
_RESULTS: Final = {"Succeeded": "succeeded", "Failed": "failed"}


def uncounted_of(current: dict[str, Any]) -> dict[str, list[str]]:
    """The uids that a status has not counted yet, by result."""
    uncounted = mapping(current, "uncountedTerminatedPods")
    return {result: list(uncounted.get(result) or ()) for result in _RESULTS.values()}


@dataclass(slots=True)
class Tally:
    """The additions of one pass to a status: pods whose finalizers go, uids of finished pods by result, and completed
    indexes."""

    released: list[Object] = field(default_factory=list)
    uncounted: dict[str, list[str]] = field(default_factory=dict)
    indexes: set[int] = field(default_factory=set)


class FinalizerTracking:
    """The finalizer `finalizer` on pods of jobs. Call `observe` for every change of a pod with its job's key."""

    def __init__(self, client: IClient, finalizer: str) -> None:
        self.finalizer = finalizer
        self._client = client
        #: Uids of pods whose finalizer was removed, until the informer shows it.
        self._removing: dict[Key, set[str]] = {}
        #: Pods that are being deleted and have the finalizer, by uid: their job may be gone.
        self._terminating: dict[Key, dict[str, Object]] = {}

    def holds(self, pod: Object) -> bool:
        """True if a pod has the finalizer."""
        return self.finalizer in (pod["metadata"].get("finalizers") or ())

    def observe(self, key: Key, old: Object | None, new: Object | None) -> None:
        pod = new or old
        if pod is None:
            return
        held = new is not None and self.holds(new)
        if not held:
            self._discard(self._removing, key, uid(pod))
        terminating = self._terminating.get(key)
        if new is not None and held and deleting(new):
            self._terminating.setdefault(key, {})[uid(new)] = _identity(new)
        elif terminating is not None:
            terminating.pop(uid(pod), None)
            if not terminating:
                del self._terminating[key]

    def forget(self, key: Key) -> None:
        """Drop what is known of a deleted job, except its pods that are being deleted."""
        self._removing.pop(key, None)

    def pending(self, key: Key, pods: Iterable[Object]) -> list[Object]:
        """The pods with the finalizer whose removal has not been sent: those that are not counted yet."""
        removing = self._removing.get(key, ())
        return [pod for pod in pods if self.holds(pod) and uid(pod) not in removing]

    async def release_orphans(self, key: Key, job: Object | None) -> None:
        """Remove the finalizer from deleted pods of former jobs of this name. Raises ApiError."""
        pods = [
            pod
            for pod in self._terminating.get(key, {}).values()
            if job is None or (owner(pod) or {}).get("uid") != uid(job)
        ]
        if pods:
            await self.release(None, pods)

    async def release(self, key: Key | None, pods: list[Object]) -> tuple[set[str], Failure | None]:
        """Remove the finalizer from pods. Returns the uids of those that no longer have it, and the first failure.
        Without the key of a job, failures are raised."""
        if key is not None:
            self._removing.setdefault(key, set()).update(map(uid, pods))

        async def one(pod: Object) -> None:
            try:
                await self._remove(pod)
            except ApiError:
                # No change of the pod will show it.
                if key is not None:
                    self._discard(self._removing, key, uid(pod))
                raise

        results = await side_by_side([one(pod) for pod in pods])
        failures = [each for each in results if isinstance(each, Failure)]
        if key is None and failures:
            failures[0].raiseException()
        released = {uid(pod) for pod, result in zip(pods, results, strict=True) if not isinstance(result, Failure)}
        return released, failures[0] if failures else None

    async def _remove(self, pod: Object) -> None:
        """Does nothing if another pod has the name by now. Raises ApiError."""
        metadata = {"uid": uid(pod), "$deleteFromPrimitiveList/finalizers": [self.finalizer]}
        with ignore_missing_or_changed():
            await self._client.patch(
                PODS, namespace(pod), name(pod), {"metadata": metadata}, content_type=STRATEGIC_MERGE
            )

    @staticmethod
    def _discard(sets: dict[Key, set[str]], key: Key, member: str) -> None:
        members = sets.get(key)
        if members is not None:
            members.discard(member)
            if not members:
                del sets[key]


def _identity(pod: Object) -> Object:
    metadata = pod["metadata"]
    return {"metadata": {k: metadata[k] for k in ("namespace", "name", "uid", "ownerReferences") if k in metadata}}


def counted(job: Object, pods: list[Object]) -> tuple[int, int]:
    """Succeeded and failed pods of a tracked job: those of the status, and of `pods`, which are not counted yet."""
    current = status(job)
    uncounted = uncounted_of(current)
    succeeded = int(current.get("succeeded") or 0) + len(uncounted["succeeded"])
    failed = int(current.get("failed") or 0) + len(uncounted["failed"])
    for pod in pods:
        phase = status(pod).get("phase")
        if phase == "Succeeded":
            succeeded += uid(pod) not in uncounted["succeeded"]
        elif phase == "Failed" or deleting(pod):
            # A pod that is deleted by others may never get a phase of its own.
            failed += uid(pod) not in uncounted["failed"]
    return succeeded, failed


def tally(
    job: Object, pods: list[Object], index: Callable[[Object], int | None] | None, done: IndexSet, *, ends: bool
) -> Tally:
    """The additions for `pods`, which are not counted yet, in order.

    `index` returns the valid index of a pod of an indexed job (None: not an indexed job), `done` are the indexes that
    the status has. If the job `ends`, its pods that have not finished count as failed.
    """
    result = Tally(uncounted=uncounted_of(status(job)))
    for pod in pods:
        phase = status(pod).get("phase")
        terminating = deleting(pod) or ends
        if phase in _RESULTS or terminating or deleting(job):
            result.released.append(pod)
        own = None if index is None else index(pod)
        if phase == "Succeeded" and index is not None:
            # The index alone keeps the pod from being counted twice.
            if own is not None and own not in done:
                result.indexes.add(own)
        elif phase in _RESULTS or terminating:
            listed = result.uncounted[_RESULTS.get(str(phase), "failed")]
            if uid(pod) not in listed and (index is None or own is not None):
                listed.append(uid(pod))
        if len(result.indexes) + sum(map(len, result.uncounted.values())) >= MOST_UNCOUNTED:
            # The change of the status brings the job back into the queue.
            break
    return result


def count_released(fresh: dict[str, Any], held: set[str]) -> None:
    """Move the uids that no pod with the finalizer has (`held`) from `uncountedTerminatedPods` to the counters of
    `fresh`."""
    uncounted = uncounted_of(fresh)
    for result, uids in uncounted.items():
        left = [each for each in uids if each in held]
        if len(left) < len(uids):
            fresh[result] = int(fresh.get(result) or 0) + len(uids) - len(left)
            uncounted[result] = left
    fresh["uncountedTerminatedPods"] = {result: uids for result, uids in uncounted.items() if uids}


def observe_pod(tracking: FinalizerTracking, kind: str, old: Object | None, new: Object | None) -> None:
    """Report a change of a pod to the tracking of its job, and of its former one."""
    for pod in (old, new):
        reference = None if pod is None else owner(pod)
        if pod is not None and reference is not None and reference.get("kind") == kind:
            tracking.observe((key_of(pod)[0], str(reference["name"])), old, new)
