"""Base class of the controllers of workloads: maps events of pods to owners."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Final

from orchd.client.informers import key_of
from orchd.client.interfaces import ResourceRef
from orchd.controllers.adoption import Parent
from orchd.controllers.base import Controller, Key
from orchd.controllers.batching import batch_seconds
from orchd.controllers.expectations import Expectations
from orchd.controllers.interfaces import Environment
from orchd.controllers.objects import PODS
from orchd.controllers.pod_control import PodControl
from orchd.controllers.podviews import PodsByOwner, view
from orchd.controllers.selection import index_by_selector, list_selecting
from orchd.kinds.fields import deleting, labels, mapping, namespace, owner, spec, uid
from orchd.kinds.jsonvalues import Object
from orchd.kinds.objects.selectors import LabelSelector
from orchd.txkit.lru_cache import LruCache

#: Number of expressions of a selector up to which it is made for each use, and of larger ones that are kept.
_FEW_EXPRESSIONS: Final = 16
_MOST_SELECTORS: Final = 16


class WorkloadController(Controller):
    """Base class of workload controllers. `ref` is the resource of the owners, `subject` their apiVersion and kind.

    Reconciling begins when the informer of pods has delivered all of them. Subclasses keep what they need of the pods
    of each owner: `observe_pod` is called for every change of a pod; `batch_seconds` returns for how long changes of an
    owner's pods are collected.
    """

    ref: ClassVar[ResourceRef]

    def __init__(self, env: Environment, *, workers: int = 5) -> None:
        super().__init__(env, workers=workers)
        self._control = PodControl(self.client, self.recorder, *self.subject)
        #: Selects the pods of an owner. The index of owners keeps it for longer than the controller.
        self.selector: Callable[[Object], LabelSelector] = partial(self.make_selector, LruCache(_MOST_SELECTORS))
        self._owners = self.follow(self.ref, self._owner_changed, primary=True)
        self._pods = self.follow(PODS, self._pod_changed, complete=True)
        index_by_selector(self._owners, self.selector)
        self._expected: Expectations[Key] = Expectations(self._pods, env.clock.seconds)

    @staticmethod
    def make_selector(kept: LruCache[tuple[str, Any], LabelSelector], each: Object) -> LabelSelector:
        """The selector of an owner. Large ones are kept by its UID and generation: each pass needs one several times."""
        described = mapping(spec(each), "selector")
        if len(described.get("matchExpressions") or ()) <= _FEW_EXPRESSIONS:
            return LabelSelector.from_object(described)
        version = uid(each), each["metadata"].get("generation")
        return kept.obtain(version, lambda: LabelSelector.from_object(described))

    def as_parent(self, each: Object) -> Parent:
        """An owner as the parent of its dependents."""
        return Parent(each, self.ref, self.subject, self.selector(each))

    def adopts(self, each: Object, pod: Object) -> bool:
        """True if the owner may adopt a pod that its selector matches."""
        return True

    # -- event handlers

    def _owner_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        if new is None and old is not None:
            self.forget(key_of(old))
        self.enqueue(event, old, new)

    def forget(self, key: Key) -> None:
        """Drop the state of a deleted owner."""
        self._expected.forget(key)

    def _pod_changed(self, event: str, old: Object | None, new: Object | None) -> None:
        self._expected.observe(old, new)
        self.observe_pod(old, new)
        before = None if old is None else owner(old)
        after = None if new is None else owner(new)
        concerned = [each for each in (before, after) if each is not None and each.get("kind") == self.subject[1]]
        # Most pods belong to owners of other kinds.
        if concerned:
            within = namespace(new or old or {})
            for reference in {(each["name"], each.get("uid")): each for each in concerned}.values():
                self.enqueue_owner((within, str(reference["name"])), reference, new)
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

    def observe_pod(self, old: Object | None, new: Object | None) -> None:
        """Process a change of a pod of any owner."""
        raise NotImplementedError

    def batch_seconds(self, within: str, owner_uid: str) -> float:
        """Seconds for which changes of an owner's pods are collected."""
        return 0.0


class PodViewController(WorkloadController):
    """A workload controller that reads views of all pods of an owner.

    Changes of the pods of a large owner are collected for a time that grows with their number, so that its share of the
    processor stays bounded. `see` makes the view of a pod.
    """

    def __init__(self, env: Environment, *, workers: int = 5, see: Callable[[Object], Object] = view) -> None:
        super().__init__(env, workers=workers)
        self._views = PodsByOwner(self.subject[1], see)

    def observe_pod(self, old: Object | None, new: Object | None) -> None:
        self._views.observe(old, new)

    def batch_seconds(self, within: str, owner_uid: str) -> float:
        return batch_seconds(self._views.count(within, owner_uid))
