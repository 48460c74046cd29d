"""Items and events of transactions: what the served store knows of a key besides its value (docs/decisions.md 13); and
items whose value is kept elsewhere.

A transaction with several writes has one revision, that of its last row; each write has a row of its own, and the
revisions of the other rows are never used. Plain items and events are those of single writes without a lease.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from orchd.store.interfaces import Event, EventType, KeyValue, Lent

#: The slot of an item's value, which `_Borrowed.value` hides.
_TEXT: Final[Any] = vars(KeyValue)["value"]


class Record(KeyValue):
    """An item with the number of writes since its creation (`version`), its `lease` (0: none) and its row."""

    __slots__ = ("lease", "row", "version")

    def __init__(
        self, key: str, value: bytes, revision: int, created: int, *, version: int, lease: int, row: int
    ) -> None:
        KeyValue.__init__(self, key, value, revision, created)
        put = object.__setattr__
        put(self, "version", version)
        put(self, "lease", lease)
        put(self, "row", row)

    version: int
    lease: int
    row: int


class _Borrowed:
    """The `value` of an item that keeps none, copied at each access. The item's slot has the text that it is a part
    of."""

    __slots__ = ()
    _start: int
    _stop: int
    _former: bytes

    @property
    def value(self) -> bytes:
        text: bytes = _TEXT.__get__(self)
        return b"%b%b%b" % (text[: self._start], self._former, text[self._stop :])

    @property
    def size(self) -> int:
        """Length of the value."""
        return len(_TEXT.__get__(self)) - self._stop + self._start + len(self._former)


class BorrowingItem(_Borrowed, KeyValue):
    """As `KeyValue`, with a value that is kept elsewhere (`IStore.lend`)."""

    __slots__ = ("_former", "_start", "_stop")


class BorrowingRecord(_Borrowed, Record):
    """As `Record`, with a value that is kept elsewhere."""

    __slots__ = ("_former", "_start", "_stop")


def borrowing(item: KeyValue, lent: Lent) -> KeyValue:
    """`item` without a value of its own."""
    put, is_record = object.__setattr__, isinstance(item, Record)
    cls: type[KeyValue] = BorrowingRecord if is_record else BorrowingItem
    record = object.__new__(cls)
    for name in (
        ("key", "revision", "created", "version", "lease", "row") if is_record else ("key", "revision", "created")
    ):
        put(record, name, getattr(item, name))
    _TEXT.__set__(record, lent.text)
    put(record, "_start", lent.start)
    put(record, "_stop", lent.stop)
    put(record, "_former", lent.former)
    return record


def value_size(item: KeyValue) -> int:
    """Length of the value of an item."""
    return item.size if isinstance(item, BorrowingItem | BorrowingRecord) else len(item.value)


class Recorded(Event):
    """One write of a transaction: its row, and the `item` that it left, None for a deletion."""

    __slots__ = ("item", "row")

    def __init__(
        self, key: str, item: Record | None, *, revision: int, row: int, created: int, previous: KeyValue | None
    ) -> None:
        kind, value = (EventType.DELETE, b"") if item is None else (EventType.PUT, item.value)
        Event.__init__(self, kind, key, value, revision, created, previous)
        put = object.__setattr__
        put(self, "item", item)
        put(self, "row", row)

    item: Record | None
    row: int


@dataclass(frozen=True, slots=True)
class Change:
    """One write of a transaction: `value` None deletes the key, which must exist. `lease` is 0 or that of a granted
    lease."""

    key: str
    value: bytes | None
    lease: int = 0


def version_of(item: KeyValue | None) -> int:
    """The number of writes of a key since its creation; 0 for None. Plain items do not count them: 2 means two or
    more."""
    if item is None:
        return 0
    if isinstance(item, Record):
        return item.version
    return 1 if item.created == item.revision else 2


def lease_of(item: KeyValue | None) -> int:
    """The lease of a key; 0 without one."""
    return item.lease if isinstance(item, Record) else 0


def row_of(item: KeyValue | None) -> int:
    """The row of an item; 0 for None."""
    if item is None:
        return 0
    return item.row if isinstance(item, Record) else item.revision


def event_row(event: Event) -> int:
    """The row of an event."""
    return event.row if isinstance(event, Recorded) else event.revision


def item_of(event: Event) -> KeyValue | None:
    """The item that an event left; None for a deletion."""
    if isinstance(event, Recorded):
        return event.item
    if event.type is EventType.DELETE:
        return None
    return KeyValue(event.key, event.value, event.revision, event.created)
