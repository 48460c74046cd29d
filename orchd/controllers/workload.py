"""What the controllers of objects that own pods have in common: which events concern which owner."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from orchd.client.informers import key_of
from orchd.client.interfaces import Object, ResourceRef
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import batch_seconds
from orchd.controllers.expectations import Expectations
from orchd.controllers.interfaces import Environment
from orchd.controllers.members import Members
from orchd.controllers.objects import PODS, deleting, index_by_controller, labels, namespace, owner, spec
from orchd.controllers.pod_control import PodControl
from orchd.controllers.selection import index_by_selector, list_selecting
from orchd.kinds.objects.selectors import LabelSelector
from orchd.txkit.background import Background


class WorkloadController(Controller):
    """`ref` is the resource of the owners and `subject` their apiVersion and kind.

    Work begins when the informer of pods has delivered all of them. A pass that looks at every pod of its owner sets
    `batched`: of an owner with many pods, changes of pods are then collected for a time that grows with their number, so
    that the passes' share of the processor does not grow with the owner.
    """

    ref: ClassVar[ResourceRef]
    batched: ClassVar[bool] = True

    def __init__(self, env: Environment, *, workers: int = 5) -> None:
        super().__init__(env, workers=workers)
        self._control = PodControl(self.client, self.recorder, *self.subject)
        self._owners = self.follow(self.ref, self._owner_changed, primary=True)
        self._pods = self.follow(PODS, self._pod_changed)
        index_by_controller(self._pods)
        index_by_selector(self._owners, self.selector)
        self._members = Members(self.subject[1], env.dialect("controller.{long}.io/pod-deletion-cost"))
        self._expected: Expectations[Key] = Expectations(self._pods, env.clock.seconds)
        self._beginning = Background()

    async def start(self) -> None:
        await self.listen()
        self._beginning.add(self._begin(), f"controller {self.name}, first delivery of pods")

    async def _begin(self) -> None:
        await self._pods.wait_delivered()
        self.loop.start()
        self.schedule_resync()

    async def stop(self) -> None:
        await self._beginning.stop()
        await super().stop()

    def selector(self, each: Object) -> LabelSelector:
        """Selects the pods of an owner."""
        return LabelSelector.from_object(spec(each).get("selector") or {})

    def adopts(self, each: Object, pod: Object) -> bool:
        """True if the owner may adopt a pod that its selector matches."""
        return True

    # -- what makes work

    def _owner_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self.forget(key_of(old))
        self.enqueue(event, old, new)

    def forget(self, key: Key) -> None:
        """Drop what is remembered of an owner that has gone."""
        self._expected.forget(key)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._expected.observe(old, new)
        self._members.observe(old, new)
        before, after = (None if pod is None else owner(pod) for pod in (old, new))
        references = {(r["name"], r.get("uid")): r for r in (before, after) if r is not None and r.get("kind") == self.subject[1]}
        for reference in references.values():
            self.enqueue_owner((namespace(new or old or {}), str(reference["name"])), reference, new)
        if new is None or after is not None or deleting(new):
            return
        if old is None or before is not None or labels(old) != labels(new):
            for each in self._select(new):
                self.queue.add(key_of(each))

    def _select(self, pod: Object) -> Iterable[Object]:
        return (each for each in list_selecting(self._owners, self.selector, pod) if self.adopts(each, pod))

    def enqueue_owner(self, key: Key, reference: dict[str, Any], pod: Object | None) -> None:
        """Queue the owner of a pod that has changed to `pod`, None if it was deleted."""
        self.queue.add_after(key, self.batch_seconds(key[0], str(reference.get("uid", ""))))

    def batch_seconds(self, within: str, owner_uid: str) -> float:
        """Seconds for which changes of an owner's pods are collected."""
        return batch_seconds(len(self._members.of_owner(within, owner_uid).members)) if self.batched else 0.0
