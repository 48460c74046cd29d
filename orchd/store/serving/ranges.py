"""KV.Range: current and past items of a key range, sorted and filtered as asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater

from orchd.store.etcd import messages
from orchd.store.interfaces import KeyValue, StoreError
from orchd.store.records import version_of
from orchd.store.serving.bounds import bounds
from orchd.store.serving.encoding import headed, item_pieces, range_tail
from orchd.store.serving.errors import empty_key, invalid_sort, of_store, parsed
from orchd.store.serving.interfaces import IServedStore

#: Items that are encoded in one turn of the reactor: some milliseconds.
_AT_ONCE: Final = 2000
_NONE, _ASCENDING, _DESCENDING = 0, 1, 2
#: RangeRequest.SortTarget.
_TARGETS: Final[Sequence[Callable[[KeyValue], Any]]] = (
    lambda item: item.key, version_of, lambda item: item.created, lambda item: item.revision, lambda item: item.value,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """Items of a range in the order asked for; `count` is the number of all keys in the range."""

    items: Sequence[KeyValue]
    count: int
    more: bool


def check_range(request: Any) -> None:
    """Raises StatusError."""
    if not request.key:
        raise empty_key()
    if not _NONE <= request.sort_order <= _DESCENDING or not 0 <= request.sort_target < len(_TARGETS):
        raise invalid_sort()


def is_selective(request: Any) -> bool:
    """True if the whole range must be read before the limit applies."""
    return bool(
        request.sort_order or request.sort_target or request.min_mod_revision or request.max_mod_revision
        or request.min_create_revision or request.max_create_revision
    )  # fmt: skip


def select(request: Any, items: Sequence[KeyValue]) -> Found:
    """The selection of a request among the items of its range."""
    count = len(items)
    if request.count_only:
        return Found((), count, False)
    for low, high, number in (
        (request.min_mod_revision, request.max_mod_revision, _TARGETS[3]),
        (request.min_create_revision, request.max_create_revision, _TARGETS[2]),
    ):
        if low or high:
            items = [item for item in items if number(item) >= low and (not high or number(item) <= high)]
    if request.sort_order or request.sort_target:
        items = sorted(items, key=_TARGETS[request.sort_target], reverse=request.sort_order == _DESCENDING)
    more = 0 < request.limit < len(items)
    return Found(items[: request.limit] if more else items, count, more)


async def read(store: IServedStore, request: Any) -> tuple[Found, int]:
    """The durable items of a request, and the newest revision. Raises StoreError."""
    asked = bounds(request.key, request.range_end)
    limit = 1 if request.count_only else 0 if is_selective(request) else max(0, request.limit)
    span = await store.span(asked.low, asked.high, limit=limit, revision=max(0, request.revision))
    if is_selective(request) and not request.count_only:
        return select(request, span.items), store.revision
    count = len(span.items) + span.remaining
    if request.count_only:
        return Found((), count, False), store.revision
    return Found(span.items, count, span.remaining > 0), store.revision


class Ranges:
    """Handles Range; long responses are encoded in several turns of the reactor."""

    def __init__(self, store: IServedStore, reactor: IReactorTime) -> None:
        self._store = store
        self._reactor = reactor

    async def range(self, data: bytes) -> list[bytes]:
        request = parsed(messages.RangeRequest.FromString, data)
        check_range(request)
        try:
            selection, revision = await read(self._store, request)
        except StoreError as error:
            raise of_store(error) from error
        items = selection.items
        pieces = [headed(revision)]
        keys_only = request.keys_only
        for first in range(0, len(items), _AT_ONCE):
            if first:
                await deferLater(self._reactor, 0)
            for item in items[first : first + _AT_ONCE]:
                pieces += item_pieces(b"\x12", item, keys_only=keys_only)
        pieces.append(range_tail(selection.count, selection.more))
        return pieces
