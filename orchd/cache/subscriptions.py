"""Subscriptions indexed by prefix, so that a change only costs the subscribers it is delivered to."""

from __future__ import annotations

from collections.abc import Callable

from zope.interface import implementer

from orchd.cache.entries import Change
from orchd.cache.interfaces import ISubscription
from orchd.txkit.log import Logger

_log = Logger()


@implementer(ISubscription)
class Subscription:
    """One subscriber. Receives changes with a revision above `after`."""

    __slots__ = ("_subscriptions", "active", "after", "on_change", "on_end", "prefix")

    def __init__(
        self,
        subscriptions: Subscriptions,
        prefix: str,
        after: int,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
    ) -> None:
        self._subscriptions = subscriptions
        self.prefix = prefix
        self.after = after
        self.on_change = on_change
        self.on_end = on_end
        self.active = True

    def cancel(self) -> None:
        if self.active:
            self.active = False
            self._subscriptions.remove(self)

    def end(self, error: Exception) -> None:
        """Cancel, then call `on_end`. Idempotent."""
        if self.active:
            self.cancel()
            self.on_end(error)

    def deliver(self, change: Change) -> None:
        """Call `on_change`. If it raises, the subscriber has missed the change, so its subscription ends."""
        try:
            self.on_change(change)
        except Exception as error:
            # Caught broadly: delivery runs in the reactor turn of the writer, and other subscribers must not be affected.
            _log.failure("a subscriber to {prefix} failed", prefix=self.prefix or "everything")
            self.end(error)


class Subscriptions:
    """The subscriptions of one resource by prefix: everything (""), a namespace (``ns/``), or one path."""

    def __init__(self) -> None:
        self._buckets: dict[str, dict[Subscription, None]] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, subscription: Subscription) -> None:
        self._buckets.setdefault(subscription.prefix, {})[subscription] = None
        self._count += 1

    def remove(self, subscription: Subscription) -> None:
        bucket = self._buckets.get(subscription.prefix)
        if bucket is not None and subscription in bucket:
            del bucket[subscription]
            self._count -= 1
            if not bucket:
                del self._buckets[subscription.prefix]

    def publish(self, path: str, change: Change) -> None:
        """Deliver a change of the object at `path` to all matching subscribers."""
        buckets = self._buckets
        if not buckets:
            return
        # Collected before delivery: a subscription added by a subscriber has this change from the window already.
        matching = [*buckets.get("", ()), *buckets.get(path, ())]
        slash = path.find("/")
        if slash >= 0:
            matching += buckets.get(path[: slash + 1], ())
        revision = change.entry.revision
        for subscription in matching:
            if subscription.active and revision > subscription.after:
                subscription.deliver(change)

    def end(self, error: Exception) -> None:
        """End all subscriptions."""
        for bucket in list(self._buckets.values()):
            for subscription in list(bucket):
                subscription.end(error)
