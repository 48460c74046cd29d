"""Subscriptions indexed by prefix and by a required label or field, so that a change only costs the subscribers it is
delivered to.

Subscriptions whose selector has no such requirement (``a!=b``, ``a notin (b,c)``, ``!a``) are grouped by it, and it is
evaluated once for each change, whatever their number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Final, TypeVar

from zope.interface import implementer

from orchd.cache.entries import Change, Entry
from orchd.cache.interfaces import ISubscription
from orchd.cache.listing import field_value
from orchd.kinds.objects.list_query import EVERYTHING, Selection
from orchd.txkit.log import Logger

_log = Logger()
_K = TypeVar("_K")
#: A label (True) or field, its name, and the values of which an object must have one; none: any value.
_Requirement = tuple[bool, str, Collection[str]]
#: In the place of a value: subscriptions to objects with any value.
_PRESENT: Final = None


@implementer(ISubscription)
class Subscription:
    """One subscriber. Receives changes with a revision above `after`, and not all those of objects that `selection`
    accepts neither before nor after the change."""

    __slots__ = ("_subscriptions", "active", "after", "on_change", "on_end", "prefix", "requirement", "selection")

    def __init__(
        self,
        subscriptions: Subscriptions,
        prefix: str,
        after: int,
        on_change: Callable[[Change], None],
        on_end: Callable[[Exception], None],
        selection: Selection = EVERYTHING,
    ) -> None:
        self._subscriptions = subscriptions
        self.prefix = prefix
        self.after = after
        self.on_change = on_change
        self.on_end = on_end
        self.selection = selection
        #: What of it the subscription is filed under; None: filed under the whole selection.
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
            # Caught broadly: delivery runs in the reactor turn of the writer, and other subscribers must not be
            # affected.
            _log.failure("a subscriber to {prefix} failed", prefix=self.prefix or "everything")
            self.end(error)


class _Bucket:
    """The subscriptions to one prefix: to changes of objects with a value of a label or field, and all others by their
    selectors."""

    __slots__ = ("by_selector", "by_value")

    def __init__(self) -> None:
        #: Texts of the selectors -> subscriptions, whose selections are alike. No dictionary is empty.
        self.by_selector: dict[tuple[str, str], dict[Subscription, None]] = {}
        #: (True for a label, its name) -> value -> subscriptions. No dictionary is empty. One is under each value that
        #: it accepts.
        self.by_value: dict[tuple[bool, str], dict[str | None, dict[Subscription, None]]] = {}

    def __bool__(self) -> bool:
        return bool(self.by_selector or self.by_value)

    def __iter__(self) -> Iterator[Subscription]:
        for alike in self.by_selector.values():
            yield from alike
        for values in self.by_value.values():
            yield from {each: None for subscriptions in values.values() for each in subscriptions}

    def add(self, subscription: Subscription) -> None:
        """File it under the requirement that the fewest others are filed under."""
        chosen = subscription.requirement = min(_requirements(subscription.selection), key=self._filed, default=None)
        if chosen is None:
            self.by_selector.setdefault(subscription.selection.texts, {})[subscription] = None
            return
        label, name, accepted = chosen
        values = self.by_value.setdefault((label, name), {})
        for value in accepted or (_PRESENT,):
            values.setdefault(value, {})[subscription] = None

    def _filed(self, requirement: _Requirement) -> int:
        label, name, accepted = requirement
        values = self.by_value.get((label, name), {})
        return sum(len(values.get(value, ())) for value in accepted or (_PRESENT,))

    def remove(self, subscription: Subscription) -> None:
        if subscription.requirement is None:
            texts = subscription.selection.texts
            _discard(self.by_selector, texts, subscription)
            return
        label, name, accepted = subscription.requirement
        values = self.by_value[label, name]
        for value in accepted or (_PRESENT,):
            _discard(values, value, subscription)
        if not values:
            del self.by_value[label, name]

    def concerned(self, change: Change) -> Iterator[Subscription]:
        """Subscriptions that a change may concern, each once."""
        entry, previous = change.entry, change.previous
        for alike in self.by_selector.values():
            selection = next(iter(alike)).selection
            if (
                selection.everything
                or selection.accepts(entry)
                or (previous is not None and selection.accepts(previous))
            ):
                yield from alike
        for (label, name), values in self.by_value.items():
            now = _value(entry, label, name)
            before = None if previous is None else _value(previous, label, name)
            if now is None and before is None:
                continue
            yield from values.get(_PRESENT, ())
            alike = values.get(now, {}) if now is not None else {}
            yield from alike
            if before is not None and before != now:
                yield from (each for each in values.get(before, ()) if each not in alike)


def _requirements(selection: Selection) -> Iterator[_Requirement]:
    """The requirements that an object must all meet, exact ones first."""
    for name, value in (selection.fields or {}).items():
        yield False, name, (value,)
    for name, value in (selection.labels or {}).items():
        yield True, name, (value,)
    for name, values in selection.choices.items():
        yield True, name, values


def _discard(groups: dict[_K, dict[Subscription, None]], key: _K, subscription: Subscription) -> None:
    """Remove a subscription from a group, and the group if it is empty."""
    del groups[key][subscription]
    if not groups[key]:
        del groups[key]


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
        # Of a path without a namespace the last prefix is the first.
        for prefix in dict.fromkeys(("", path, path[: path.find("/") + 1])):
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
