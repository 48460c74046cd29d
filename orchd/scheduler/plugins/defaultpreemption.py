"""DefaultPreemption: removes pods of lower priority from the node with the least impact, to make room for a pod."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final

from twisted.internet.task import deferLater
from zope.interface import implementer

from orchd.client.disrupted_pods import DisruptedPods
from orchd.client.interfaces import IInformer, ResourceRef
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.conditions import find_condition
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.scheduler.config.model import DefaultPreemptionArgs
from orchd.scheduler.interfaces import ExtenderError, ExtenderVictims, IHandle, IPostFilter, IRefusals
from orchd.scheduler.nodes import NodeView
from orchd.scheduler.plugins.importance import by_importance
from orchd.scheduler.pods import Pod
from orchd.scheduler.values import Code, CycleState, Status, count_reasons, unresolvable
from orchd.txkit.log import Logger

PODS = ResourceRef("", "v1", "pods")
BUDGETS = ResourceRef("policy", "v1", "poddisruptionbudgets")
_MERGE = "application/strategic-merge-patch+json"
#: Added to each priority in sums, so that all terms are positive and a further victim never decreases the sum.
_PRIORITY_OFFSET = 2**31
#: The reason of the condition of pods that are preempted.
_PREEMPTED: Final = "PreemptionByScheduler"
#: Why removing pods from a node does not help: there are none to remove, or the node was refused for good.
_NO_VICTIMS: Final = unresolvable("No preemption victims found for incoming pod")
_NOT_TRIED: Final = unresolvable("Preemption is not helpful for scheduling")
#: Seconds after which the search for candidates yields to the reactor.
_TIME_SLICE = 0.004


@dataclass(frozen=True, slots=True)
class Candidate:
    """A node and its victims: first those whose removal violates a budget; each group most important first."""

    node: str
    victims: tuple[Pod, ...]
    violations: int


async def delete(handle: IHandle, victim: Pod, pod: Pod) -> None:
    """Delete a victim. Raises ApiError."""
    options = {"preconditions": {"uid": victim.uid}}
    await handle.client.delete(PODS, victim.namespace, victim.name, options=options)


async def mark_and_delete(handle: IHandle, victim: Pod, pod: Pod) -> None:
    """Say in the status of a victim that it is preempted, then delete it, unless it is being deleted already. Raises
    ApiError."""
    obj = handle.pod_object(victim)
    if obj is None or victim.deleting:
        return
    await DisruptedPods(handle.client, handle.wall).mark(
        obj, _PREEMPTED, f"{pod.template.scheduler_name}: preempting to accommodate a higher priority pod"
    )
    await delete(handle, victim, pod)


def awaits_deleted(handle: IHandle, other: Pod) -> bool:
    """Any pod that is being deleted is awaited."""
    return True


def awaits_preempted(handle: IHandle, other: Pod) -> bool:
    """Only pods that a scheduler preempted are awaited."""
    obj = handle.pod_object(other)
    condition = None if obj is None else find_condition(fields.status(obj), "DisruptionTarget")
    return condition is not None and condition.get("status") == "True" and condition.get("reason") == _PREEMPTED


@dataclass(frozen=True, slots=True, kw_only=True)
class PreemptionRule:
    """How victims are removed and awaited. `awaits` decides by a pod of lower priority that is being deleted if a
    nominated pod waits for it; `names_pod` is how events name the pod for which victims are removed."""

    delete: Callable[[IHandle, Pod, Pod], Awaitable[None]]
    awaits: Callable[[IHandle, Pod], bool]
    names_pod: Callable[[Pod], str]
    sorts_victims: bool


#: By the release that begins a rule.
RULES: Final = (
    ("", PreemptionRule(delete=delete, awaits=awaits_deleted, names_pod=attrgetter("key"), sorts_victims=False)),
    (
        "1.26",
        PreemptionRule(
            delete=mark_and_delete, awaits=awaits_preempted, names_pod=lambda pod: f"pod {pod.uid}", sorts_victims=True
        ),
    ),
)


@implementer(IPostFilter)
class DefaultPreemption:
    log = Logger()
    name = "DefaultPreemption"
    events = ()

    def __init__(self, handle: IHandle, args: DefaultPreemptionArgs) -> None:
        self._handle = handle
        self._args = args
        self._rule: PreemptionRule = handle.release.choose(RULES)
        self._budgets: IInformer = handle.informer(BUDGETS)
        #: Wall time of the current attempt, used as the start time of pods that have not started.
        self._now = 0.0

    async def post_filter(self, state: CycleState, pod: Pod, refused: IRefusals) -> str | None:
        if self._handle.pod_object(pod) is None:
            return None
        why_not = self.ineligible(pod, refused)
        if why_not:
            refused.explain(f"preemption: {why_not}")
            return None
        self._handle.metrics.preemption_attempts.add()
        self._now = self._handle.wall()
        hopeless: list[Status] = []
        candidates: Sequence[Candidate] = await self.candidates(state, pod, refused, hopeless)
        if not candidates:
            refused.explain(f"preemption: {self._count(hopeless)}")
            return ""
        candidates = await self._ask_extenders(pod, candidates)
        if not candidates:
            refused.explain("preemption: no candidate node for preemption")
            return None
        best = self.choose(candidates)
        if not await self._prepare(pod, best):
            return None
        return best.node

    # -- eligibility and candidates

    def ineligible(self, pod: Pod, refused: IRefusals) -> str:
        """Why a pod may not preempt: it never does, or victims of an earlier preemption terminate. "" if it may."""
        if pod.template.preemption_policy == "Never":
            return "not eligible due to preemptionPolicy=Never."
        row = self._handle.snapshot.row_of(pod.nominated) if pod.nominated else -1
        if row < 0:
            return ""
        status = refused.status(row)
        if status is not None and status.code is Code.UNRESOLVABLE:
            return ""
        terminating = (other for other in self._handle.snapshot.pods(row) if other.deleting)
        if any(other.priority < pod.priority and self._rule.awaits(self._handle, other) for other in terminating):
            return "not eligible due to a terminating pod on the nominated node."
        return ""

    def _count(self, hopeless: Sequence[Status]) -> str:
        """The message about nodes on which removing pods does not help; those without a status were not tried."""
        nodes = self._handle.snapshot.count
        reasons = count_reasons([*((each, 1) for each in hopeless), (_NOT_TRIED, nodes - len(hopeless))])
        counted = sorted(f"{number} {reason}" for reason, number in reasons.items() if number)
        return f"0/{nodes} nodes are available: {', '.join(counted)}."

    def count_candidates(self, nodes: int) -> int:
        """The number of candidates after which the search stops."""
        return min(
            nodes,
            max(nodes * self._args.min_candidate_nodes_percentage // 100, self._args.min_candidate_nodes_absolute),
        )

    async def candidates(
        self, state: CycleState, pod: Pod, refused: IRefusals, hopeless: list[Status]
    ) -> list[Candidate]:
        """Nodes on which removing pods makes room, searched from a random one on, until there are enough; the statuses
        of the other nodes are added to `hopeless`. Yields to the reactor."""
        snapshot, clock = self._handle.snapshot, self._handle.clock
        # Usually no node has a pod of lower priority; this check covers all nodes at once.
        rows = refused.resolvable()
        if not (snapshot.lowest < pod.priority).any():
            hopeless += [_NO_VICTIMS] * len(rows)
            return []
        if not rows:
            return []
        self._handle.prepare_plain(state, pod)
        budgets = self._known_budgets()
        start, enough = self._handle.random.randrange(len(rows)), self.count_candidates(len(rows))
        candidates: list[Candidate] = []
        # Candidates with and without budget violations are counted separately: violations are the last resort.
        without_violations = 0
        started = clock.seconds()
        for index in range(len(rows)):
            row = rows[(start + index) % len(rows)]
            if clock.seconds() - started > _TIME_SLICE:
                await deferLater(clock, 0)
                started = clock.seconds()
            # A row without a node has no pods either.
            if snapshot.lowest[row] >= pod.priority:
                hopeless.append(_NO_VICTIMS)
                continue
            candidate = self.try_node(state.clone(), pod, snapshot.node(row), budgets)
            if isinstance(candidate, Status):
                hopeless.append(candidate)
            else:
                candidates.append(candidate)
                without_violations += not candidate.violations
                if without_violations and len(candidates) >= enough:
                    break
        return candidates

    def try_node(
        self, state: CycleState, pod: Pod, node: NodeView, budgets: Sequence[tuple[Object, LabelSelector]]
    ) -> Candidate | Status:
        """Remove all pods of lower priority from a copy of the node, then add back as many as can stay. A status says
        why that does not help."""
        priority = pod.priority
        lower = [other for other in node.pods.values() if other.template.priority < priority]
        if not lower:
            return _NO_VICTIMS
        for other in lower:
            self._handle.remove_pod(state, pod, other, node)
        refused = self._handle.run_filters(state, pod, node)
        if refused is not None:
            return refused
        violating, others = split_by_budgets(by_importance(lower), budgets)
        victims: list[Pod] = []
        violations = 0
        for group, counts in ((violating, True), (others, False)):
            for other in group:
                self._handle.add_pod(state, pod, other, node)
                if self._handle.run_filters(state, pod, node) is not None:
                    self._handle.remove_pod(state, pod, other, node)
                    victims.append(other)
                    violations += counts
        if not victims:
            return _NO_VICTIMS
        if self._rule.sorts_victims:
            victims = by_importance(victims)
        return Candidate(node.name, tuple(victims), violations)

    def _start(self, pod: Pod) -> float:
        """Start time of a pod; the time of the attempt if it has not started."""
        return self._now if pod.started is None else pod.started

    def _known_budgets(self) -> list[tuple[Object, LabelSelector]]:
        return [(each, LabelSelector.from_object(fields.spec(each).get("selector"))) for each in self._budgets.list()]

    # -- choice of the candidate

    def choose(self, candidates: Sequence[Candidate]) -> Candidate:
        """The best candidate: each rule reduces the candidates that the previous rules leave."""
        left = list(candidates)
        for rule in (
            lambda each: each.violations,
            lambda each: each.victims[0].priority,
            lambda each: sum(victim.priority + _PRIORITY_OFFSET for victim in each.victims),
            lambda each: len(each.victims),
            lambda each: -self._earliest_start(each),
        ):
            least = min(map(rule, left))
            left = [each for each in left if rule(each) == least]
            if len(left) == 1:
                break
        return left[0]

    def _earliest_start(self, candidate: Candidate) -> float:
        """The earliest start time among the victims of the highest priority."""
        highest = max(victim.priority for victim in candidate.victims)
        return min(self._start(victim) for victim in candidate.victims if victim.priority == highest)

    async def _ask_extenders(self, pod: Pod, candidates: Sequence[Candidate]) -> Sequence[Candidate]:
        """Let extenders remove candidates and change victims. Returns an empty sequence if a non-ignorable extender
        fails."""
        victims: Mapping[str, ExtenderVictims] = {
            each.node: ExtenderVictims(each.victims, each.violations) for each in candidates
        }
        for extender in self._handle.extenders:
            if not extender.preempts or not extender.interested(pod):
                continue
            try:
                victims = await extender.preempt(self._handle.pod_object(pod) or {}, victims)
            except ExtenderError as error:
                if extender.ignorable:
                    continue
                self.log.warn("no preemption for pod {pod}: {why}", pod=pod.key, why=error)
                return ()
            if not victims:
                return ()
        return [Candidate(node, tuple(each.pods), each.violations) for node, each in victims.items() if each.pods]

    # -- removal of the victims

    async def _prepare(self, pod: Pod, best: Candidate) -> bool:
        """Delete the victims and clear nominations of lower priority for the node. Returns False if a deletion
        failed."""
        for victim in best.victims:
            waiting = self._handle.waiting(victim.uid)
            if waiting is not None:
                waiting.reject(self.name, "preempted")
            else:
                try:
                    await self._rule.delete(self._handle, victim, pod)
                except ApiError as error:
                    if error.code not in (404, 409):
                        self.log.warn("pod {pod} was not preempted: {why}", pod=victim.key, why=error.message)
                        return False
            self._record_event(victim, pod, best.node)
        self._handle.metrics.victims.observe(len(best.victims))
        for other in self._handle.nominator.nominated(best.node):
            if other.priority < pod.priority:
                await self._clear_nomination(other)
        return True

    def _record_event(self, victim: Pod, pod: Pod, node_name: str) -> None:
        self._handle.recorder.event(
            _reference(victim), "Normal", "Preempted", f"Preempted by {self._rule.names_pod(pod)} on node {node_name}",
            action="Preempting", related=_reference(pod),
        )  # fmt: skip

    async def _clear_nomination(self, pod: Pod) -> None:
        self._handle.nominator.clear(pod)
        patch = {"metadata": {"uid": pod.uid}, "status": {"nominatedNodeName": None}}
        try:
            await self._handle.client.patch(
                PODS, pod.namespace, pod.name, patch, content_type=_MERGE, subresource="status"
            )
        except ApiError as error:
            if error.code not in (404, 409):
                self.log.warn("nomination of pod {pod} was not cleared: {why}", pod=pod.key, why=error.message)


def _reference(pod: Pod) -> dict[str, Any]:
    metadata = {"namespace": pod.namespace, "name": pod.name, "uid": pod.uid, "resourceVersion": pod.version}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}


def split_by_budgets(
    pods: Iterable[Pod], budgets: Sequence[tuple[Object, LabelSelector]]
) -> tuple[list[Pod], list[Pod]]:
    """Pods whose removal would violate a disruption budget, and the others; both in the order given."""
    left = [int(fields.status(each).get("disruptionsAllowed") or 0) for each, _ in budgets]
    violating: list[Pod] = []
    others: list[Pod] = []
    for pod in pods:
        violates = False
        if pod.labels:
            for index, (budget, selector) in enumerate(budgets):
                if budget["metadata"].get("namespace") != pod.namespace or selector.everything:
                    continue
                if not selector.matches(pod.labels):
                    continue
                if pod.name in (fields.status(budget).get("disruptedPods") or {}):
                    # The budget has already counted this disruption.
                    continue
                left[index] -= 1
                violates = violates or left[index] < 0
        (violating if violates else others).append(pod)
    return violating, others
