"""The transaction of API servers: one key is written or deleted if it is unchanged. Nearly all writes are that, so it
is recognized."""

from __future__ import annotations

from typing import Any, Final

from orchd.store.etcd import messages
from orchd.store.records import Change
from orchd.store.serving.interfaces import IServedStore

#: Compare.target to what must be equal.
_GUARDS: Final = {messages.CREATE_REVISION: "create_revision", messages.MOD_REVISION: "mod_revision"}


def guarded_write(store: IServedStore, request: Any) -> Change | None:
    """What a transaction writes now: a key, with nothing else asked, under the one condition that it has a revision,
    which it has. None for every other transaction, also for invalid ones."""
    compare, success, failure = request.compare, request.success, request.failure
    if len(compare) != 1 or len(success) != 1 or len(failure) > 1:
        return None
    guard, operation = compare[0], success[0]
    field = _GUARDS.get(guard.target)
    if field is None or guard.result != messages.EQUAL or guard.range_end:
        return None
    key: bytes = guard.key
    if failure and failure[0] != _range_of(key):
        return None
    kind = operation.WhichOneof("one")
    if kind == "put":
        put = operation.put
        if put.key != key or put.prev_kv or put.ignore_value or put.ignore_lease:
            return None
        value, lease = put.value, put.lease
        if lease and lease not in store.grants:
            return None
    elif kind == "delete_range" and operation.delete_range == messages.DeleteRangeRequest(key=key):
        value, lease = None, 0
    else:
        return None
    try:
        name = key.decode()
    except UnicodeDecodeError:
        return None
    current = store.newest(name)
    if current is None:
        holds = getattr(guard, field) == 0 and value is not None and name
    else:
        actual = current.created if guard.target == messages.CREATE_REVISION else current.revision
        holds = getattr(guard, field) == actual
    return Change(name, value, lease) if holds else None


def _range_of(key: bytes) -> Any:
    return messages.RequestOp(range=messages.RangeRequest(key=key))
