"""The scheduling queue.

A pending pod is in one of three places: `active` (ready, in the order of the queue sort plugin), `backoff` (failed lately; its
pause has not ended) or `unschedulable` (nothing has changed that may help it). Or it is being attempted; then it is in none.
Unschedulable pods are kept in groups that failed alike, so that news that cannot help any of a group costs nothing per pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import ClusterEvent

ACTIVE, BACKOFF, UNSCHEDULABLE = "active", "backoff", "unschedulable"
#: Labels of what brings a pod into a queue, besides cluster events.
POD_ADD, ATTEMPT_FAILED, BACKOFF_ENDED, FORCED, FLUSHED, UPDATED = (
    "PodAdd", "ScheduleAttemptFailure", "BackoffComplete", "ForceActivate", "UnschedulableTimeout", "PodUpdate",
)  # fmt: skip
#: Seconds between looks for pods that have been unschedulable for too long, and how long that is.
FLUSH_EVERY, FLUSH_AFTER = 30.0, 60.0

#: Does news help pods of a template? Asked once per template.
Check = Callable[[PodTemplate], bool]
#: Pods by uid, that failed alike and are alike.
Group = dict[str, "QueuedPod"]


class QueuedPod:
    """A pending pod and what became of its attempts. `since` is when it joined the queue the last time."""

    __slots__ = ("attempts", "first", "group", "moves", "place", "pod", "refused_by", "since", "ticket")

    def __init__(self, pod: Pod, now: float) -> None:
        self.pod = pod
        self.attempts = 0
        self.first = now
        self.since = now
        #: Plugins that refused it in its last attempt; none when that failed otherwise.
        self.refused_by: frozenset[str] = frozenset()
        self.place = ""
        #: Under which it is kept while it is unschedulable.
        self.group: tuple[frozenset[str], PodTemplate] | None = None
        #: What the queue had counted of moves when the attempt began.
        self.moves = 0
        self.ticket = 0


class SchedulingQueue:
    """`key` sorts active pods. `registered` says by plugin which news wake the pods that it refused. `clock` is monotonic and
    also what the order of pods rests on."""

    def __init__(
        self,
        clock: IReactorTime,
        *,
        key: Callable[[Pod, float], Any],
        registered: Mapping[str, Sequence[ClusterEvent]],
        initial_backoff: float = 1.0,
        longest_backoff: float = 10.0,
        updated: Callable[[Pod | None, Pod], object] = lambda old, new: None,
        removed: Callable[[Pod], object] = lambda pod: None,
    ) -> None:
        self._clock = clock
        self._key = key
        self._registered = registered
        self._initial, self._longest = initial_backoff, longest_backoff
        self._updated, self._removed = updated, removed
        self._pods: dict[str, QueuedPod] = {}
        self._active: list[tuple[Any, int, QueuedPod]] = []
        self._backoff: list[tuple[float, int, QueuedPod]] = []
        #: What refused them -> template -> pods; and the templates among them that want to be near other pods.
        self._groups: dict[frozenset[str], dict[PodTemplate, Group]] = {}
        self._affine: Counter[PodTemplate] = Counter()
        self._counts: Counter[str] = Counter()
        self._tickets = 0
        #: News that moved pods so far, and pods taken: an attempt that news overlapped goes to `backoff` when it fails.
        self._moves = 0
        self._backoff_timer: IDelayedCall | None = None
        self._flush_timer: IDelayedCall | None = None
        self._waiter: Deferred[None] | None = None
        self.closed = False
        #: (queue, label of what brought them) -> pods so far.
        self.incoming: Counter[tuple[str, str]] = Counter()

    def count(self, place: str) -> int:
        """Pods in one of the three places."""
        return self._counts[place]

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> QueuedPod | None:
        """A pod that waits or is being attempted."""
        return self._pods.get(uid)

    def pending(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    # -- pods come, change and go

    def add(self, pod: Pod) -> None:
        """A pod without a node appeared."""
        found = self._pods.get(pod.uid)
        if found is not None:
            self.update(found.pod, pod, changed=True)
            return
        queued = self._pods[pod.uid] = QueuedPod(pod, self._clock.seconds())
        self._updated(None, pod)
        self._enter(queued, ACTIVE, POD_ADD)

    def update(self, old: Pod, new: Pod, *, changed: bool) -> None:
        """A pending pod changed; `changed` is False when only its status or bookkeeping did."""
        queued = self._pods.get(new.uid)
        if queued is None:
            self.add(new)
            return
        self._updated(old, new)
        place, moved = queued.place, queued.pod.template is not new.template
        if place == UNSCHEDULABLE and (changed or moved):
            self._leave(queued)
            queued.pod = new
            if changed:
                self._enter(queued, BACKOFF if self._is_backing_off(queued) else ACTIVE, UPDATED)
            else:
                self._enter(queued, UNSCHEDULABLE, "")
            return
        if place == ACTIVE and moved:
            # Its priority may be another one.
            self._leave(queued)
            queued.pod = new
            self._enter(queued, ACTIVE, "")
            return
        if not place and changed:
            # The attempt under way looks at what the pod was: should it fail, the pod is tried again soon.
            queued.moves = -1
        queued.pod = new

    def remove(self, uid: str) -> None:
        """A pod is gone, bound, or no longer this scheduler's."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)
            self._removed(queued.pod)

    # -- attempts

    async def wait(self) -> bool:
        """Wait until a pod is active; False when the queue is closed. One may wait at a time."""
        while not self.closed and not self._counts[ACTIVE]:
            self._waiter = Deferred()
            await self._waiter
        return not self.closed

    def take_now(self) -> QueuedPod | None:
        """Remove and return the next active pod; None if the active queue is empty."""
        while self._active:
            _, ticket, queued = heappop(self._active)
            if queued.ticket == ticket and queued.place == ACTIVE:
                self._leave(queued)
                queued.attempts += 1
                queued.moves = self._moves
                return queued
        return None

    def retry(self, queued: QueuedPod, refused_by: frozenset[str] = frozenset()) -> None:
        """An attempt failed. `refused_by` are the plugins that refused the pod, if it was that."""
        if self._pods.get(queued.pod.uid) is not queued or queued.place:
            return
        queued.refused_by = refused_by
        queued.since = self._clock.seconds()
        overlapped = self._moves > queued.moves
        self._enter(queued, BACKOFF if overlapped else UNSCHEDULABLE, ATTEMPT_FAILED)

    def done(self, queued: QueuedPod) -> None:
        """A pod was bound: the queue forgets it."""
        if self._pods.get(queued.pod.uid) is queued:
            del self._pods[queued.pod.uid]
            self._leave(queued)
            self._removed(queued.pod)

    def backoff(self, queued: QueuedPod) -> float:
        """Seconds that a pod pauses after its last attempt."""
        return min(self._initial * 2.0 ** min(max(queued.attempts - 1, 0), 60), self._longest)

    def _is_backing_off(self, queued: QueuedPod) -> bool:
        return queued.since + self.backoff(queued) > self._clock.seconds()

    # -- news

    def move(self, event: ClusterEvent, check: Check | None = None, *, spare: str = "") -> None:
        """Something happened: try those unschedulable pods again that it may help. `check` narrows them by template; the
        pod with uid `spare` stays."""
        self._moves += 1
        helped: dict[PodTemplate, bool] = {}
        for refused_by in [each for each in self._groups if self._concerned(each, event)]:
            for template, group in list(self._groups[refused_by].items()):
                if check is not None:
                    if template not in helped:
                        helped[template] = check(template)
                    if not helped[template]:
                        continue
                self._wake([each for uid, each in group.items() if uid != spare], event.label)

    def move_affine(self, which: Callable[[PodTemplate], bool], label: str) -> None:
        """Try unschedulable pods again that want to be near other pods, by template and whatever refused them."""
        wanted = {template for template in self._affine if which(template)}
        if not wanted:
            return
        self._moves += 1
        for templates in list(self._groups.values()):
            for template in wanted & templates.keys():
                self._wake(list(templates[template].values()), label)

    def activate(self, uids: Iterable[str]) -> None:
        """Try pods again now, paused or not."""
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is not None and queued.place in (BACKOFF, UNSCHEDULABLE):
                self._leave(queued)
                self._enter(queued, ACTIVE, FORCED)

    def _concerned(self, refused_by: frozenset[str], event: ClusterEvent) -> bool:
        if not refused_by:
            return True
        return any(each.concerns(event) for name in refused_by for each in self._registered.get(name, ()))

    def _wake(self, pods: Iterable[QueuedPod], label: str) -> None:
        for queued in pods:
            self._leave(queued)
            self._enter(queued, BACKOFF if self._is_backing_off(queued) else ACTIVE, label)

    # -- places

    def _enter(self, queued: QueuedPod, place: str, label: str) -> None:
        queued.place = place
        self._counts[place] += 1
        if label:
            self.incoming[place, label] += 1
        if place == UNSCHEDULABLE:
            template = queued.pod.template
            queued.group = (queued.refused_by, template)
            self._groups.setdefault(queued.refused_by, {}).setdefault(template, {})[queued.pod.uid] = queued
            if template.affinity:
                self._affine[template] += 1
            if self._flush_timer is None and not self.closed:
                self._flush_timer = self._clock.callLater(FLUSH_EVERY, self._flush)
            return
        self._tickets += 1
        queued.ticket = self._tickets
        if place == ACTIVE:
            heappush(self._active, (self._key(queued.pod, queued.since), self._tickets, queued))
            self._notify()
        else:
            heappush(self._backoff, (queued.since + self.backoff(queued), self._tickets, queued))
            self._set_backoff_timer()

    def _leave(self, queued: QueuedPod) -> None:
        if not queued.place:
            return
        self._counts[queued.place] -= 1
        if queued.group is not None:
            self._leave_group(queued, *queued.group)
        queued.place, queued.ticket = "", 0

    def _leave_group(self, queued: QueuedPod, refused_by: frozenset[str], template: PodTemplate) -> None:
        templates = self._groups[refused_by]
        pods = templates[template]
        del pods[queued.pod.uid]
        if not pods:
            del templates[template]
        if not templates:
            del self._groups[refused_by]
        if template.affinity:
            self._affine[template] -= 1
            if not self._affine[template]:
                del self._affine[template]
        queued.group = None

    def _notify(self) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is not None:
            waiter.callback(None)

    # -- timers

    def _set_backoff_timer(self) -> None:
        while self._backoff and self._backoff[0][2].ticket != self._backoff[0][1]:
            heappop(self._backoff)
        if not self._backoff or self.closed:
            return
        due = self._backoff[0][0]
        if self._backoff_timer is not None:
            if self._backoff_timer.getTime() <= due:
                return
            self._backoff_timer.cancel()
        pause = max(0.0, due - self._clock.seconds())
        self._backoff_timer = self._clock.callLater(pause, self._end_backoff)

    def _end_backoff(self) -> None:
        self._backoff_timer = None
        now = self._clock.seconds()
        while self._backoff and self._backoff[0][0] <= now:
            _, ticket, queued = heappop(self._backoff)
            if queued.ticket == ticket and queued.place == BACKOFF:
                self._leave(queued)
                self._enter(queued, ACTIVE, BACKOFF_ENDED)
        self._set_backoff_timer()

    def _flush(self) -> None:
        """Try pods again that have been unschedulable for long, in case news was missed."""
        self._flush_timer = None
        limit = self._clock.seconds() - FLUSH_AFTER
        groups = [group for templates in self._groups.values() for group in templates.values()]
        late = [each for group in groups for each in group.values() if each.since < limit]
        if late:
            self._moves += 1
            self._wake(late, FLUSHED)
        if self._groups and self._flush_timer is None and not self.closed:
            self._flush_timer = self._clock.callLater(FLUSH_EVERY, self._flush)

    def close(self) -> None:
        """Give no more pods. Idempotent."""
        self.closed = True
        for timer in (self._backoff_timer, self._flush_timer):
            if timer is not None:
                timer.cancel()
        self._backoff_timer = self._flush_timer = None
        self._notify()
