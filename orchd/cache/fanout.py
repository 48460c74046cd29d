"""Who hears of a change: subscriptions by what they are about, so that foreign changes cost them nothing."""

from __future__ import annotations

from collections.abc import Callable

from twisted.logger import Logger
from zope.interface import implementer

from orchd.cache.interfaces import Change, ISubscription

_log = Logger()


@implementer(ISubscription)
class Subscription:
    """One subscriber. Changes up to `after` are not for it."""

    __slots__ = ("_fanout", "active", "after", "on_change", "on_end", "prefix")

    def __init__(
        self,
        fanout: Fanout,
        prefix: str,
        after: int,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
    ) -> None:
        self._fanout = fanout
        self.prefix = prefix
        self.after = after
        self.on_change = on_change
        self.on_end = on_end
        self.active = True

    def cancel(self) -> None:
        if self.active:
            self.active = False
            self._fanout.remove(self)

    def end(self, error: Exception) -> None:
        if self.active:
            self.cancel()
            self.on_end(error)

    def tell(self, change: Change) -> None:
        """Hand over one change. A subscriber that raises has missed it, so its subscription ends."""
        try:
            self.on_change(change)
        except Exception as error:
            # Whatever it is: the other subscribers, and the writer in whose turn this happens, must not suffer.
            _log.failure("a subscriber to {prefix} failed", prefix=self.prefix or "everything")
            self.end(error)


class Fanout:
    """The subscriptions of one resource: to everything (""), to a namespace (``ns/``), to one path."""

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

    def tell(self, path: str, change: Change) -> None:
        buckets = self._buckets
        if not buckets:
            return
        # Collected first: whoever subscribes meanwhile has this change from the window already.
        concerned = [*buckets.get("", ()), *buckets.get(path, ())]
        slash = path.find("/")
        if slash >= 0:
            concerned += buckets.get(path[: slash + 1], ())
        revision = change.entry.revision
        for subscription in concerned:
            if subscription.active and revision > subscription.after:
                subscription.tell(change)

    def end(self, error: Exception) -> None:
        for bucket in list(self._buckets.values()):
            for subscription in list(bucket):
                subscription.end(error)
