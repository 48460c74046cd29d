"""Subscriptions indexed by prefix and by a required label or field, so that a change only costs the subscribers it is delivered to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from zope.interface import implementer

from orchd.cache.entries import Change, Entry
from orchd.cache.interfaces import ISubscription
from orchd.cache.listing import field_value
from orchd.txkit.log import Logger

_log = Logger()
#: A label (True) or field, its name, and the value that an object must have.
_Requirement = tuple[bool, str, str]


@implementer(ISubscription)
class Subscription:
    """One subscriber. Receives changes with a revision above `after`; with `requirements`, only those of objects that meet one of
    them before or after the change."""

    __slots__ = ("_subscriptions", "active", "after", "on_change", "on_end", "prefix", "requirement", "requirements")

    def __init__(
        self,
        subscriptions: Subscriptions,
        prefix: str,
        after: int,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
        requirements: Sequence[_Requirement] = (),
    ) -> None:
        self._subscriptions = subscriptions
        self.prefix = prefix
        self.after = after
        self.on_change = on_change
        self.on_end = on_end
        self.requirements = requirements
        #: The one of them by which it is found.
        self.requirement: _Requirement | None = None
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


class _Bucket:
    """The subscriptions to one prefix: those to all changes, and those to changes of objects with a value of a label or field."""

    __slots__ = ("by_value", "every")

    def __init__(self) -> None:
        self.every: dict[Subscription, None] = {}
        #: (True for a label, its name) -> value -> subscriptions. No dictionary is empty.
        self.by_value: dict[tuple[bool, str], dict[str, dict[Subscription, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self.every or self.by_value)

    def __iter__(self) -> Iterator[Subscription]:
        yield from self.every
        for values in self.by_value.values():
            for subscriptions in values.values():
                yield from subscriptions

    def add(self, subscription: Subscription) -> None:
        """File it under the requirement that the fewest others are filed under."""
        chosen = subscription.requirement = min(subscription.requirements, key=self._filed, default=None)
        if chosen is None:
            self.every[subscription] = None
        else:
            label, name, value = chosen
            self.by_value.setdefault((label, name), {}).setdefault(value, {})[subscription] = None

    def _filed(self, requirement: _Requirement) -> int:
        label, name, value = requirement
        return len(self.by_value.get((label, name), {}).get(value, ()))

    def remove(self, subscription: Subscription) -> None:
        if subscription.requirement is None:
            del self.every[subscription]
            return
        label, name, value = subscription.requirement
        values = self.by_value[label, name]
        del values[value][subscription]
        if not values[value]:
            del values[value]
        if not values:
            del self.by_value[label, name]

    def concerned(self, change: Change) -> Iterator[Subscription]:
        """Those that a change may be for."""
        yield from self.every
        for (label, name), values in self.by_value.items():
            now = _value(change.entry, label, name)
            if now is not None:
                yield from values.get(now, ())
            before = None if change.previous is None else _value(change.previous, label, name)
            if before is not None and before != now:
                yield from values.get(before, ())


def _value(entry: Entry, label: bool, name: str) -> str | None:
    return entry.labels.get(name) if label else field_value(entry, name)


class Subscriptions:
    """The subscriptions of one resource by prefix: everything (""), a namespace (``ns/``), or one path."""

    def __init__(self) -> None:
        self._buckets: dict[str, _Bucket] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, subscription: Subscription) -> None:
        bucket = self._buckets.get(subscription.prefix)
        if bucket is None:
            bucket = self._buckets[subscription.prefix] = _Bucket()
        bucket.add(subscription)
        self._count += 1

    def remove(self, subscription: Subscription) -> None:
        """Remove one that was added."""
        bucket = self._buckets[subscription.prefix]
        bucket.remove(subscription)
        self._count -= 1
        if not bucket:
            del self._buckets[subscription.prefix]

    def publish(self, path: str, change: Change) -> None:
        """Deliver a change of the object at `path` to all matching subscribers."""
        buckets = self._buckets
        if not buckets:
            return
        # Collected before delivery: a subscription added by a subscriber has this change from the window already.
        matching: list[Subscription] = []
        slash = path.find("/")
        for prefix in ("", path, path[: slash + 1]) if slash >= 0 else ("", path):
            bucket = buckets.get(prefix)
            if bucket is not None:
                matching += bucket.concerned(change)
        revision = change.entry.revision
        for subscription in matching:
            if subscription.active and revision > subscription.after:
                subscription.deliver(change)

    def end(self, error: Exception) -> None:
        """End all subscriptions."""
        for bucket in list(self._buckets.values()):
            for subscription in list(bucket):
                subscription.end(error)


def requirements_of(labels: Mapping[str, str] | None, fields: Mapping[str, str] | None) -> list[_Requirement]:
    """Exact requirements of selectors, for a subscription."""
    return [
        *((False, name, value) for name, value in (fields or {}).items()),
        *((True, name, value) for name, value in (labels or {}).items()),
    ]
