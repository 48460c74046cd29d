"""The scheduling queue.

A pending pod is in one of three queues: `active` (ready, in the order of the queue sort plugin), `backoff` (its
back-off after a failed attempt has not ended) or `unschedulable` (no event since then may have made it schedulable);
during an attempt it is in none. Unschedulable pods are grouped by template and rejecting plugins, so that an event that
helps no pod of a group costs nothing per pod.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall, IReactorTime

from orchd.scheduler.pods import Pod, PodTemplate
from orchd.scheduler.values import ClusterEvent
from orchd.txkit.metrics.histogram import Histogram, exponential

ACTIVE, BACKOFF, UNSCHEDULABLE = "active", "backoff", "unschedulable"
#: Metric labels of the reasons for which a pod joins a queue, besides cluster events.
POD_ADD, ATTEMPT_FAILED, BACKOFF_ENDED, FORCED, FLUSHED, UPDATED, BACKOFF_CUT = (
    "PodAdd", "ScheduleAttemptFailure", "BackoffComplete", "ForceActivate", "UnschedulableTimeout", "PodUpdate",
    "PopFromBackoffQ",
)  # fmt: skip
#: Seconds between flushes of the unschedulable queue.
FLUSH_EVERY: Final = 30.0

#: Bucket upper bounds in seconds of the handling of an event.
HANDLING: Final = exponential(0.0001, 2, 12)

#: True if an event may make pods of a template schedulable; called once per template and set of plugins, with those
#: that rejected the pods and registered for the event.
Check = Callable[[PodTemplate, frozenset[str]], bool]
#: Pods by uid, of one template and rejected by the same plugins.
Group = dict[str, "QueuedPod"]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRule:
    """A flush retries pods that have been unschedulable for `flush_after` seconds. With `cuts_backoff`, pods that were
    rejected do not wait for the end of their back-off while no pod is active."""

    flush_after: float
    cuts_backoff: bool


#: By the release that begins a rule.
QUEUE_RULES: Final = (
    ("", QueueRule(flush_after=60.0, cuts_backoff=False)),
    ("1.26", QueueRule(flush_after=300.0, cuts_backoff=False)),
    ("1.33", QueueRule(flush_after=300.0, cuts_backoff=True)),
)


class QueuedPod:
    """A pending pod and its attempts. `since` is the time at which it last joined the queue."""

    __slots__ = ("attempts", "first", "group", "moves", "place", "pod", "refused_by", "since", "ticket")

    def __init__(self, pod: Pod, now: float) -> None:
        self.pod = pod
        self.attempts = 0
        self.first = now
        self.since = now
        #: Plugins that rejected it in its last attempt; empty if that failed with an error.
        self.refused_by: frozenset[str] = frozenset()
        self.place = ""
        #: Key of its group while it is unschedulable.
        self.group: tuple[frozenset[str], PodTemplate] | None = None
        #: The queue's count of moves when the attempt began.
        self.moves = 0
        self.ticket = 0


class SchedulingQueue:
    """`key` sorts active pods. `registered` maps plugins to the cluster events that may make pods schedulable that they
    rejected. `clock` is monotonic and also orders pods by arrival. `backoff` is the first and the longest one, in
    seconds."""

    def __init__(
        self,
        clock: IReactorTime,
        *,
        key: Callable[[Pod, float], Any],
        registered: Mapping[str, Sequence[ClusterEvent]],
        backoff: tuple[float, float] = (1.0, 10.0),
        rule: QueueRule = QUEUE_RULES[0][1],
        updated: Callable[[Pod | None, Pod], object] = lambda old, new: None,
        removed: Callable[[Pod], object] = lambda pod: None,
    ) -> None:
        self._clock = clock
        self._key = key
        self._registered = registered
        self._initial, self._longest = backoff
        self._rule = rule
        self._updated, self._removed = updated, removed
        self._pods: dict[str, QueuedPod] = {}
        self._active: list[tuple[Any, int, QueuedPod]] = []
        self._backoff: list[tuple[float, int, QueuedPod]] = []
        #: Rejecting plugins -> template -> pods; and the templates among them that have pod affinity terms.
        self._groups: dict[frozenset[str], dict[PodTemplate, Group]] = {}
        self._affine: Counter[PodTemplate] = Counter()
        self._counts: Counter[str] = Counter()
        self._tickets = 0
        #: Number of events that moved pods: a pod goes to `backoff` if its failed attempt overlapped with one.
        self._moves = 0
        #: As `_backoff`: pods that may become active while no other pod is.
        self._eager: list[tuple[float, int, QueuedPod]] = []
        self._backoff_timer: IDelayedCall | None = None
        self._flush_timer: IDelayedCall | None = None
        self._waiter: Deferred[None] | None = None
        self.closed = False
        #: Seconds that the handling of events took, by their labels.
        self.handling: dict[str, Histogram] = {}
        #: (queue, reason label) -> number of pods that joined.
        self.incoming: Counter[tuple[str, str]] = Counter()

    def count(self, place: str) -> int:
        """Number of pods in one of the three queues."""
        return self._counts[place]

    def __len__(self) -> int:
        return len(self._pods)

    def get(self, uid: str) -> QueuedPod | None:
        """A pending pod, including one in an attempt."""
        return self._pods.get(uid)

    def pending(self) -> Iterator[QueuedPod]:
        return iter(self._pods.values())

    # -- changes of pods

    def add(self, pod: Pod) -> None:
        """Add a pod without a node."""
        entry = self._pods.get(pod.uid)
        if entry is not None:
            self.update(entry.pod, pod, changed=True)
            return
        queued = self._pods[pod.uid] = QueuedPod(pod, self._clock.seconds())
        self._updated(None, pod)
        self._enter(queued, ACTIVE, POD_ADD)

    def update(self, old: Pod, new: Pod, *, changed: bool) -> None:
        """Replace a pending pod; `changed` is False if only its status or bookkeeping metadata differ."""
        queued = self._pods[new.uid]
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
            # Its priority may have changed.
            self._leave(queued)
            queued.pod = new
            self._enter(queued, ACTIVE, "")
            return
        if not place and changed:
            # The running attempt uses the old pod: if it fails, the pod is retried after its back-off.
            queued.moves = -1
        queued.pod = new

    def remove(self, uid: str) -> None:
        """Remove a pod that was deleted, bound, or given to another scheduler."""
        queued = self._pods.pop(uid, None)
        if queued is not None:
            self._leave(queued)
            self._removed(queued.pod)

    # -- attempts

    async def wait(self) -> bool:
        """Wait until `take_now` returns a pod. False if the queue is closed. Supports one waiter at a time."""
        while not self.closed and not self._counts[ACTIVE] and self._soonest() is None:
            self._waiter = Deferred()
            await self._waiter
        return not self.closed

    def take_now(self) -> QueuedPod | None:
        """Remove and return the next active pod; None if the active queue is empty."""
        soonest = None if self._counts[ACTIVE] else self._soonest()
        if soonest is not None:
            self._leave(soonest)
            self._enter(soonest, ACTIVE, BACKOFF_CUT)
        while self._active:
            _, ticket, queued = heappop(self._active)
            if queued.ticket == ticket and queued.place == ACTIVE:
                self._leave(queued)
                queued.attempts += 1
                queued.moves = self._moves
                return queued
        return None

    def _soonest(self) -> QueuedPod | None:
        """The pod in `backoff` that may become active before its back-off ends, of several the one whose back-off ends
        first."""
        while self._eager:
            _, ticket, queued = self._eager[0]
            if queued.ticket == ticket and queued.place == BACKOFF:
                return queued
            heappop(self._eager)
        return None

    def retry(self, queued: QueuedPod, refused_by: frozenset[str] = frozenset()) -> None:
        """Queue a pod again after a failed attempt. `refused_by` are the plugins that rejected it, empty after an
        error."""
        if self._pods.get(queued.pod.uid) is not queued or queued.place:
            return
        queued.refused_by = refused_by
        queued.since = self._clock.seconds()
        overlapped = self._moves > queued.moves
        self._enter(queued, BACKOFF if overlapped else UNSCHEDULABLE, ATTEMPT_FAILED)

    def done(self, queued: QueuedPod) -> None:
        """Remove a bound pod."""
        if self._pods.get(queued.pod.uid) is queued:
            del self._pods[queued.pod.uid]
            self._leave(queued)
            self._removed(queued.pod)

    def backoff(self, queued: QueuedPod) -> float:
        """Back-off in seconds after the pod's last attempt."""
        return min(self._initial * 2.0 ** min(max(queued.attempts - 1, 0), 60), self._longest)

    def _is_backing_off(self, queued: QueuedPod) -> bool:
        return queued.since + self.backoff(queued) > self._clock.seconds()

    # -- cluster events

    def move(self, event: ClusterEvent, check: Check | None = None, *, spare: str = "") -> None:
        """Move the unschedulable pods that an event may make schedulable. `check` filters them by template; the pod
        with uid `spare` is not moved."""
        self._moves += 1
        began = self._clock.seconds()
        verdicts: dict[tuple[PodTemplate, frozenset[str]], bool] = {}
        for refused_by in list(self._groups):
            helped = self.registered_for(refused_by, event)
            if refused_by and not helped:
                continue
            for template, group in list(self._groups[refused_by].items()):
                if check is not None:
                    if (template, helped) not in verdicts:
                        verdicts[template, helped] = check(template, helped)
                    if not verdicts[template, helped]:
                        continue
                self._reactivate([each for uid, each in group.items() if uid != spare], event.label)
        self.handling.setdefault(event.label, Histogram(HANDLING)).observe(HANDLING, self._clock.seconds() - began)

    def refusals(self) -> Iterator[tuple[frozenset[str], PodTemplate, int]]:
        """The unschedulable pods: the plugins that rejected them, their template, and their number."""
        for refused_by, templates in self._groups.items():
            for template, group in templates.items():
                yield refused_by, template, len(group)

    def move_affine(self, which: Callable[[PodTemplate], bool], label: str) -> None:
        """Move unschedulable pods with pod affinity terms whose template `which` accepts, regardless of the plugin that
        rejected them."""
        affine = {template for template in self._affine if which(template)}
        if not affine:
            return
        self._moves += 1
        for templates in list(self._groups.values()):
            for template in affine & templates.keys():
                self._reactivate(list(templates[template].values()), label)

    def activate(self, uids: Iterable[str]) -> None:
        """Move pods to the active queue, regardless of their back-off."""
        for uid in uids:
            queued = self._pods.get(uid)
            if queued is not None and queued.place in (BACKOFF, UNSCHEDULABLE):
                self._leave(queued)
                self._enter(queued, ACTIVE, FORCED)

    def registered_for(self, plugins: frozenset[str], event: ClusterEvent) -> frozenset[str]:
        """The given plugins that registered for an event."""
        return frozenset(
            name for name in plugins if any(each.concerns(event) for each in self._registered.get(name, ()))
        )

    def _reactivate(self, pods: Iterable[QueuedPod], label: str) -> None:
        for queued in pods:
            self._leave(queued)
            self._enter(queued, BACKOFF if self._is_backing_off(queued) else ACTIVE, label)

    # -- the three queues

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
            entry = (queued.since + self.backoff(queued), self._tickets, queued)
            heappush(self._backoff, entry)
            self._set_backoff_timer()
            if self._rule.cuts_backoff and queued.refused_by:
                heappush(self._eager, entry)
                self._notify()

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
        """Retry pods that have been unschedulable for `flush_after` seconds, in case an event was missed."""
        self._flush_timer = None
        limit = self._clock.seconds() - self._rule.flush_after
        groups = [group for templates in self._groups.values() for group in templates.values()]
        late = [each for group in groups for each in group.values() if each.since < limit]
        if late:
            self._moves += 1
            self._reactivate(late, FLUSHED)
        if self._groups and self._flush_timer is None and not self.closed:
            self._flush_timer = self._clock.callLater(FLUSH_EVERY, self._flush)

    def close(self) -> None:
        """Cancel timers and end the wait for pods. Idempotent."""
        self.closed = True
        for timer in (self._backoff_timer, self._flush_timer):
            if timer is not None:
                timer.cancel()
        self._backoff_timer = self._flush_timer = None
        self._notify()
