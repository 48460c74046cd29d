"""KV.Put, KV.DeleteRange and KV.Txn: decided in one turn of the reactor, completed when durable.

A transaction is executed against the state after all submitted writes. Its own writes are visible to its later
operations. What it has read is durable before the response: with its writes, or after a barrier if it has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from twisted.python.failure import Failure

from orchd.store.etcd import messages
from orchd.store.grpc.call import UnaryResult
from orchd.store.grpc.status import StatusError
from orchd.store.interfaces import KeyValue, StoreError
from orchd.store.records import Change, Record, lease_of, version_of
from orchd.store.serving.bounds import Bounds, bounds, key_text
from orchd.store.serving.checks import check_delete, check_put, check_transaction
from orchd.store.serving.encoding import headed, inner_headed, item_pieces, range_tail, varint
from orchd.store.serving.errors import compacted, future, key_not_found, lease_not_found, of_store, parsed
from orchd.store.serving.guarded import guarded_write
from orchd.store.serving.interfaces import IServedStore
from orchd.store.serving.ranges import Found, read, select

#: Encodes a response, without its header, once the revision of the transaction is known.
Response = Callable[[int], list[bytes]]

#: The result of a range at a given revision.
Past = Found | StatusError

#: Compare.target to what is compared of an item, None for a missing one.
_COMPARED: Final[dict[int, Callable[[KeyValue | None], Any]]] = {
    messages.VERSION: version_of,
    messages.CREATE_REVISION: lambda item: 0 if item is None else item.created,
    messages.MOD_REVISION: lambda item: 0 if item is None else item.revision,
    messages.VALUE: lambda item: b"" if item is None else item.value,
    messages.LEASE: lease_of,
}
_FIELDS: Final = {
    messages.VERSION: "version", messages.CREATE_REVISION: "create_revision", messages.MOD_REVISION: "mod_revision",
    messages.VALUE: "value", messages.LEASE: "lease",
}  # fmt: skip


class Transactions:
    """Handles Put, DeleteRange and Txn."""

    def __init__(self, store: IServedStore) -> None:
        self._store = store

    async def put(self, data: bytes) -> list[bytes]:
        request = parsed(messages.PutRequest.FromString, data)
        check_put(request)
        execution = Execution(self._store)
        return await self._respond(execution, execution.put(request))

    async def delete(self, data: bytes) -> list[bytes]:
        request = parsed(messages.DeleteRangeRequest.FromString, data)
        check_delete(request)
        execution = Execution(self._store)
        return await self._respond(execution, execution.delete(request))

    def transact(self, data: bytes) -> UnaryResult:
        request = parsed(messages.TxnRequest.FromString, data)
        write = guarded_write(self._store, request)
        if write is None:
            return self._transact(request)
        try:
            return self._store.apply([write], forwarded=True).addCallbacks(
                _written, _not_written, callbackArgs=(write,)
            )
        except StoreError as error:
            raise of_store(error) from error

    async def _transact(self, request: Any) -> list[bytes]:
        check_transaction(request)
        past: dict[bytes, Past] = {}
        for each in _past_ranges(request):
            past[each.SerializeToString()] = await self._read_past(each)
        execution = Execution(self._store, past)
        return await self._respond(execution, execution.transact(request))

    async def _respond(self, execution: Execution, response: Response) -> list[bytes]:
        try:
            revision = await execution.commit()
        except StoreError as error:
            raise of_store(error) from error
        return [headed(revision), *response(revision)]

    async def _read_past(self, request: Any) -> Past:
        """The reads of a transaction at a durable revision, which later writes do not change."""
        if request.revision > self._store.revision:
            return future()
        if request.revision < 0:
            # Only in a transaction, as in etcd: by itself, such a range is one of the newest state.
            return compacted()
        try:
            selection, _ = await read(self._store, request)
        except StoreError as error:
            return of_store(error)
        return selection


class Execution:
    """One transaction: what it has changed so far, over the state of the store. Until `commit`, new items have the
    revision 0.

    `past` has the results of its ranges at given revisions, by their requests. An error counts only if that range is
    executed.
    """

    def __init__(self, store: IServedStore, past: Mapping[bytes, Past] | None = None) -> None:
        self._store = store
        self._before = store.submitted
        self._past = past or {}
        self._written: dict[str, KeyValue | None] = {}
        self._changes: dict[str, Change] = {}

    async def commit(self) -> int:
        """Write the changes, if any; returns the revision of the response when all it says is durable. Raises
        StoreError."""
        store = self._store
        if self._changes:
            return await store.apply(list(self._changes.values()), forwarded=True)
        revision = store.submitted
        await store.barrier()
        return revision

    # State.

    def _get(self, key: str) -> KeyValue | None:
        return self._written[key] if key in self._written else self._store.newest(key)

    def _span(self, asked: Bounds) -> Sequence[KeyValue]:
        if asked.high == asked.low + "\0":
            item = self._get(asked.low)
            return () if item is None else (item,)
        items = {item.key: item for item in self._store.newest_span(asked.low, asked.high)}
        for key, written in self._written.items():
            if key in asked:
                if written is None:
                    items.pop(key, None)
                else:
                    items[key] = written
        return [items[key] for key in sorted(items)]

    # Operations. Each returns its response.

    def put(self, request: Any) -> Response:
        """Raises StatusError."""
        key = key_text(request.key)
        before = self._get(key)
        if request.lease and request.lease not in self._store.grants:
            raise lease_not_found()
        if before is None and (request.ignore_value or request.ignore_lease):
            raise key_not_found()
        value, lease = request.value, request.lease
        if request.ignore_value and before is not None:
            value = before.value
        if request.ignore_lease:
            lease = lease_of(before)
        created = 0 if before is None else before.created
        self._written[key] = Record(key, value, 0, created, version=version_of(before) + 1, lease=lease, row=0)
        self._changes[key] = Change(key, value, lease)
        previous = before if request.prev_kv else None
        return lambda revision: [] if previous is None else [*item_pieces(b"\x12", previous)]

    def delete(self, request: Any) -> Response:
        keys = self._span(bounds(request.key, request.range_end))
        for item in keys:
            self._written[item.key] = None
            self._changes[item.key] = Change(item.key, None)
        previous = keys if request.prev_kv else ()

        def response(revision: int) -> list[bytes]:
            pieces = [b"\x10" + varint(len(keys))] if keys else []
            for item in previous:
                pieces += item_pieces(b"\x1a", item)
            return pieces

        return response

    def range(self, request: Any) -> Response:
        """At the revision of the transaction, or the one that is given. Raises StatusError."""
        if request.revision:
            past: Past = self._past[request.SerializeToString()]
            if isinstance(past, StatusError):
                raise past
        else:
            past = select(request, self._span(bounds(request.key, request.range_end)))
        keys_only = request.keys_only

        def response(revision: int) -> list[bytes]:
            pieces: list[bytes] = []
            for item in past.items:
                pieces += item_pieces(b"\x12", _as_of(item, revision), keys_only=keys_only)
            pieces.append(range_tail(past.count, past.more))
            return pieces

        return response

    def transact(self, request: Any) -> Response:
        """Raises StatusError."""
        return self._run(request, self._decide(request))

    def _decide(self, request: Any) -> tuple[bool, list[Any]]:
        """Whether a transaction succeeds, and the same of nested ones, all by the state before the first write."""
        succeeded = all(map(self._holds, request.compare))
        chosen = request.success if succeeded else request.failure
        return succeeded, [self._decide(each.txn) for each in chosen if each.WhichOneof("one") == "txn"]

    def _run(self, request: Any, decided: tuple[bool, list[Any]]) -> Response:
        succeeded, inner = decided
        nested = iter(inner)
        #: The tag of each response, whether its header has the revision of the transaction (False: the one before;
        #: None: none, as in etcd), and the rest of it.
        responses: list[tuple[bytes, bool | None, Response]] = []
        for operation in request.success if succeeded else request.failure:
            kind = operation.WhichOneof("one")
            if kind == "range":
                responses.append((b"\x0a", bool(self._changes), self.range(operation.range)))
            elif kind == "put":
                responses.append((b"\x12", True, self.put(operation.put)))
            elif kind == "delete_range":
                deleted = self.delete(operation.delete_range)
                responses.append((b"\x1a", bool(self._changes), deleted))
            else:
                responses.append((b"\x22", None, self._run(operation.txn, next(nested))))

        def response(revision: int) -> list[bytes]:
            pieces = [b"\x10\x01"] if succeeded else []
            heads = {True: inner_headed(revision), False: inner_headed(self._before), None: inner_headed(0)}
            for tag, written, each in responses:
                head = heads[written]
                body = b"".join(each(revision))
                inner = tag + varint(len(head) + len(body)) + head + body
                pieces.append(b"\x1a" + varint(len(inner)) + inner)
            return pieces

        return response

    def _holds(self, compare: Any) -> bool:
        """Whether all keys of a comparison fulfil it; a range without keys is compared as a missing key, whose value
        equals nothing."""
        items: Sequence[KeyValue | None] = self._span(bounds(compare.key, compare.range_end))
        if not items:
            if compare.target == messages.VALUE:
                return False
            items = (None,)
        read_item = _COMPARED.get(compare.target)
        if read_item is None:
            return True
        expected = getattr(compare, _FIELDS[compare.target])
        return all(_compare(compare.result, read_item(item), expected) for item in items)


def _written(revision: int, write: Change) -> list[bytes]:
    """The response to a guarded write."""
    head = inner_headed(revision)
    body = (
        b"\x12" + varint(len(head)) + head
        if write.value is not None
        else b"\x1a" + varint(len(head) + 2) + head + b"\x10\x01"
    )
    return [headed(revision), b"\x10\x01\x1a" + varint(len(body)) + body]


def _not_written(failure: Failure) -> Failure:
    error = failure.value
    return Failure(of_store(error)) if isinstance(error, StoreError) else failure


def _past_ranges(request: Any) -> Iterator[Any]:
    """The ranges of a transaction that name a revision."""
    for operation in (*request.success, *request.failure):
        kind = operation.WhichOneof("one")
        if kind == "range" and operation.range.revision:
            yield operation.range
        elif kind == "txn":
            yield from _past_ranges(operation.txn)


def _compare(result: int, actual: Any, expected: Any) -> bool:
    if result == messages.EQUAL:
        return bool(actual == expected)
    if result == messages.NOT_EQUAL:
        return bool(actual != expected)
    if result == messages.GREATER:
        return bool(actual > expected)
    return bool(actual < expected) if result == messages.LESS else True


def _as_of(item: KeyValue, revision: int) -> KeyValue:
    """An item that the transaction itself made, with its revision."""
    if item.revision or not isinstance(item, Record):
        return item
    return Record(
        item.key, item.value, revision, item.created or revision, version=item.version, lease=item.lease, row=revision
    )
