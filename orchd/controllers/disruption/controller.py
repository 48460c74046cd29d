"""The disruption controller: event handlers and the reconcile of a budget."""

from __future__ import annotations

from typing import Any, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import WriteShare, batch_seconds
from orchd.controllers.disruption import budget as counting
from orchd.controllers.disruption.scales import ScaleError, Scales
from orchd.controllers.event_objects import NORMAL, WARNING, with_type
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS
from orchd.controllers.selection import SelectedPods, index_by_selector, list_selecting
from orchd.kinds.fields import labels, name, namespace, spec, status
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector

BUDGETS: Final = ResourceRef("policy", "v1", "poddisruptionbudgets")


def _selector(budget: Object) -> LabelSelector:
    return LabelSelector.from_object(spec(budget).get("selector"))


class DisruptionController(Controller):
    name = "disruption"
    account = "disruption-controller"
    component = "controllermanager"
    subject = ("policy/v1", "PodDisruptionBudget")

    def __init__(self, env: Environment) -> None:
        super().__init__(env, workers=1)
        self._budgets = self.follow(BUDGETS, self._budget_changed, primary=True)
        index_by_selector(self._budgets, _selector)
        pods = self.follow(PODS, self._pod_changed, complete=True)
        self._selected = SelectedPods(pods, _selector, env.clock)
        self._share = WriteShare(env.clock)
        self._scales = Scales(
            self.client, env.catalog, {ref: self.follow(ref, self._owner_changed) for ref in Scales.REFS}
        )

    def _budget_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self._selected.forget(key_of(old))
        self.enqueue(event, old, new)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._selected.observe(old, new)
        for pod in (old, new):
            if pod is None or (pod is old and new is not None and labels(old) == labels(new)):
                continue
            for budget in list_selecting(self._budgets, _selector, pod):
                key = key_of(budget)
                self.queue.add_after(key, batch_seconds(self._selected.count(key)))

    def _owner_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        """Queue the budgets of an owner's namespace when its size changes or it is new."""
        if new is None or (old is not None and spec(old).get("replicas") == spec(new).get("replicas")):
            return
        for budget in self._budgets.list(namespace(new)):
            if counting.needs_scale(budget) and (old is not None or counting.has_failed(budget)):
                self.queue.add(key_of(budget))

    async def reconcile(self, key: Key) -> float | None:
        budget = self._budgets.get(*key)
        if budget is None:
            return None
        pods = await self._selected.find(budget)
        if not pods:
            self.record(budget, NORMAL, "NoPods", "No matching pods found")
        now = self.env.wall()
        try:
            scale = await self._scales.total(pods) if counting.needs_scale(budget) else 0
        except ScaleError as error:
            note = f"Failed to calculate the number of expected pods: {error}"
            self.record(budget, WARNING, "CalculateExpectedPodCountFailed", note)
            await self._write(budget, counting.make_failed_status(budget, str(error), now))
            return None
        expected, desired = counting.compute_desired(budget, len(pods), scale)
        pending, failed, left = counting.sort_evictions(budget, pods, now)
        for pod in failed:
            note = f"Pod was expected by PDB {namespace(budget)}/{name(budget)} to be deleted but it wasn't"
            self.recorder.event(with_type(pod, "v1", "Pod"), WARNING, "NotDeleted", note)
        current = counting.count_healthy(pods, pending)
        fresh = counting.next_status(
            budget, expected=expected, desired=desired, current=current, pending=pending, now=now
        )
        await self._write(budget, fresh)
        return left

    async def _write(self, budget: Object, fresh: dict[str, Any]) -> None:
        if fresh != status(budget):
            self.queue.hold(self._share.spend(self._selected.count(key_of(budget))))
            await self.write_status(BUDGETS, budget, fresh)
