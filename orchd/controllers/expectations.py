"""Writes of a controller that its informer has not delivered yet: acting earlier would repeat them."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from orchd.client.interfaces import IInformer
from orchd.kinds.fields import deleting, name, namespace, uid
from orchd.kinds.jsonvalues import Object

#: Seconds after which an expectation expires: the write may have been undone before the informer delivered it.
_TIMEOUT = 60.0

K = TypeVar("K", bound=Hashable)


class Expectations(Generic[K]):
    """Expectations by key of the owner. Call `observe` for every event of the dependents' informer. `seconds` returns
    the time of a monotonic clock."""

    def __init__(self, informer: IInformer, seconds: Callable[[], float]) -> None:
        self._informer = informer
        self._seconds = seconds
        self._pending: dict[K, dict[str, float]] = {}
        self._owner: dict[str, K] = {}

    def expect_creation(self, key: K, obj: Object) -> None:
        """Expect the creation of `obj` for the owner `key`."""
        observed = self._informer.get(namespace(obj), name(obj))
        if observed is None or uid(observed) != uid(obj):
            self._expect(key, uid(obj))

    def expect_deletion(self, key: K, obj: Object) -> None:
        """Expect the deletion of `obj`."""
        observed = self._informer.get(namespace(obj), name(obj))
        if observed is not None and uid(observed) == uid(obj) and not deleting(observed):
            self._expect(key, uid(obj))

    def _expect(self, key: K, expected: str) -> None:
        self._pending.setdefault(key, {})[expected] = self._seconds()
        self._owner[expected] = key

    def observe(self, old: Object | None, new: Object | None) -> None:
        """Follow an event of a dependent, which fulfils its expected creation or deletion."""
        obj = new or old
        if obj is None or not self._owner:
            return
        key = self._owner.pop(uid(obj), None)
        if key is not None:
            pending = self._pending.get(key, {})
            pending.pop(uid(obj), None)
            if not pending:
                self._pending.pop(key, None)

    def pause(self, key: K) -> float:
        """Seconds until the newest expectation of the owner expires; 0 if all are fulfilled or expired."""
        pending = self._pending.get(key)
        if not pending:
            return 0.0
        left = max(pending.values()) + _TIMEOUT - self._seconds()
        if left <= 0:
            self.forget(key)
            return 0.0
        return left

    def forget(self, key: K) -> None:
        """Drop the expectations of a deleted owner."""
        for expected in self._pending.pop(key, {}):
            self._owner.pop(expected, None)
