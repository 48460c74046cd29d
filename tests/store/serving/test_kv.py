"""The service KV over a store in memory: results and errors of etcd."""

from __future__ import annotations

from typing import Any

import pytest

from orchd.store.etcd import messages
from orchd.store.grpc.status import INVALID_ARGUMENT, NOT_FOUND, OUT_OF_RANGE, StatusError
from tests.store.serving.services import Connected


@pytest.fixture
def kv() -> Connected:
    return Connected()


def keys(response: Any) -> list[str]:
    return [kv.key.decode() for kv in response.kvs]


def test_item_counts_its_writes(kv: Connected) -> None:
    """A key has the revisions of its creation and last write, and the number of writes since its creation."""
    first = kv.put("a", "1").header.revision
    second = kv.put("a", "2", prev_kv=True)
    assert (second.prev_kv.value, second.prev_kv.version) == (b"1", 1)
    (item,) = kv.range("a").kvs
    assert (item.create_revision, item.mod_revision, item.version, item.value) == (
        first, second.header.revision, 2, b"2",
    )  # fmt: skip
    assert kv.range("a", revision=first).kvs[0].value == b"1"
    kv.delete("a")
    kv.put("a", "3")
    assert kv.range("a").kvs[0].version == 1


@pytest.mark.parametrize(
    ("asked", "found", "count", "more"),
    [
        ({"key": "/b"}, ["/b"], 1, False),
        ({"key": "/x"}, [], 0, False),
        ({"key": "/b", "end": "/d"}, ["/b", "/c"], 2, False),
        ({"key": "/d", "end": "/b"}, [], 0, False),
        ({"key": "\0", "end": "\0"}, ["/a", "/b", "/c", "/d"], 4, False),
        ({"key": "/", "end": "0", "limit": 3}, ["/a", "/b", "/c"], 4, True),
        ({"key": "/", "end": "0", "limit": 4}, ["/a", "/b", "/c", "/d"], 4, False),
        ({"key": "/", "end": "0", "count_only": True}, [], 4, False),
        ({"key": "/", "end": "0", "sort_order": 2}, ["/d", "/c", "/b", "/a"], 4, False),
        ({"key": "/", "end": "0", "sort_order": 2, "sort_target": 3, "limit": 1}, ["/a"], 4, True),
        ({"key": "/", "end": "0", "sort_target": 4}, ["/d", "/c", "/b", "/a"], 4, False),
        ({"key": "/", "end": "0", "sort_order": 2, "sort_target": 1, "limit": 1}, ["/a"], 4, True),
        ({"key": "/", "end": "0", "min_mod_revision": 4, "max_mod_revision": 5}, ["/c", "/d"], 4, False),
        ({"key": "/", "end": "0", "max_create_revision": 2}, ["/a"], 4, False),
    ],
)
def test_ranges(kv: Connected, asked: Any, found: list[str], count: int, more: bool) -> None:
    """Ranges are limited, sorted and filtered, and count all of their keys."""
    for key, value in (("/a", "9"), ("/b", "8"), ("/c", "7"), ("/d", "6")):
        kv.put(key, value)
    kv.put("/a", "9")
    response = kv.range(**asked)
    assert (keys(response), response.count, response.more) == (found, count, more)


def test_long_range_is_encoded_in_turns(kv: Connected) -> None:
    """A range of many keys is complete, and of one revision, though others write while it is encoded."""
    kv.store._recent_events = 10_000
    for number in range(4100):
        kv.put(f"/{number:04}", "1")
    response = kv.range("/", "0", keys_only=True)
    assert len(response.kvs) == response.count == 4100 and not response.kvs[0].value


def compare(key: str, target: int, result: int = messages.EQUAL, **value: Any) -> dict[str, Any]:
    return {"key": key.encode(), "target": target, "result": result, **value}


@pytest.mark.parametrize(
    ("compared", "succeeds"),
    [
        (compare("a", messages.VALUE, value=b"2"), True),
        (compare("a", messages.VALUE, value=b"1"), False),
        (compare("a", messages.VALUE, messages.GREATER, value=b"1"), True),
        (compare("a", messages.VERSION, version=2), True),
        (compare("a", messages.VERSION, messages.LESS, version=2), False),
        (compare("a", messages.CREATE_REVISION, create_revision=2), True),
        (compare("a", messages.MOD_REVISION, mod_revision=3), True),
        (compare("a", messages.MOD_REVISION, messages.NOT_EQUAL, mod_revision=3), False),
        (compare("a", messages.LEASE, lease=0), True),
        (compare("x", messages.VERSION, version=0), True),
        (compare("x", messages.VALUE, value=b""), False),
        (compare("a", messages.VERSION, messages.GREATER, version=0, range_end=b"c"), True),
        (compare("a", messages.VERSION, version=2, range_end=b"c"), False),
    ],
)
def test_comparisons(kv: Connected, compared: dict[str, Any], succeeds: bool) -> None:
    """Comparisons hold for all keys of their range; a missing key has the revisions and version 0 and no value."""
    kv.put("a", "1")
    kv.put("a", "2")
    kv.put("b", "1")
    request = messages.TxnRequest(compare=[compared])
    assert kv.call(messages.TXN, request, messages.TxnResponse).succeeded is succeeds


def test_transaction_sees_its_own_writes(kv: Connected) -> None:
    """Operations run in order, at one revision, and nested transactions are decided by the state before the first."""
    kv.put("/a", "1")
    request = messages.TxnRequest()
    add = request.success.add
    add().put.MergeFrom(messages.PutRequest(key=b"/b", value=b"2"))
    every = messages.RangeRequest(key=b"/", range_end=b"0")
    add().range.MergeFrom(every)
    deletion = add().delete_range
    deletion.key, deletion.prev_kv = b"/a", True
    add().range.MergeFrom(every)
    add().range.MergeFrom(messages.RangeRequest(key=b"/a", revision=2))
    inner = add().txn
    inner.compare.add(key=b"/b", target=messages.VERSION, version=0)
    inner.success.add().put.MergeFrom(messages.PutRequest(key=b"/c", value=b"3"))
    response = kv.call(messages.TXN, request, messages.TxnResponse)
    assert response.succeeded
    created, before, gone, after, past, nested = response.responses
    revision = response.header.revision
    assert created.put.header.revision == revision
    assert [(item.key, item.mod_revision) for item in before.range.kvs] == [(b"/a", 2), (b"/b", revision)]
    assert gone.delete_range.deleted == 1 and gone.delete_range.prev_kvs[0].value == b"1"
    assert [(item.key, item.create_revision) for item in after.range.kvs] == [(b"/b", revision)]
    assert past.range.kvs[0].value == b"1"
    assert nested.txn.succeeded
    assert [(item.key, item.mod_revision) for item in kv.range("/", "0").kvs] == [(b"/b", revision), (b"/c", revision)]


def test_headers_within_a_transaction(kv: Connected) -> None:
    """Responses within a transaction say the revision before it until something has changed, and nested ones none (etcd
    3.6)."""
    before = kv.put("/a", "1").header.revision
    request = messages.TxnRequest(
        success=[
            {"range": {"key": b"/a"}},
            {"delete_range": {"key": b"/x"}},
            {"txn": {"success": [{"range": {"key": b"/a"}}, {"put": {"key": b"/b"}}]}},
            {"delete_range": {"key": b"/y"}},
            {"range": {"key": b"/a"}},
        ]
    )
    response = kv.call(messages.TXN, request, messages.TxnResponse)
    after = response.header.revision
    assert after > before
    read, no_deletion, nested, nothing_deleted, read_again = response.responses
    assert read.range.header.revision == no_deletion.delete_range.header.revision == before
    assert nested.txn.HasField("header") and not nested.txn.header.ListFields()
    assert [each.header.revision for each in (nested.txn.responses[0].range, nested.txn.responses[1].put)] == [
        before,
        after,
    ]
    assert nothing_deleted.delete_range.header.revision == read_again.range.header.revision == after
    assert not read.range.header.cluster_id


def test_range_that_is_not_executed_has_no_error(kv: Connected) -> None:
    """A revision of the future in the branch that a transaction does not take is not looked at."""
    kv.put("/a", "1")
    request = messages.TxnRequest(
        success=[{"put": {"key": b"/b"}}], failure=[{"range": {"key": b"/a", "revision": 99}}]
    )
    assert kv.call(messages.TXN, request, messages.TxnResponse).succeeded


def test_failed_transaction_changes_no_revision(kv: Connected) -> None:
    """A transaction without writes has the revision of the state that it read."""
    revision = kv.put("/a", "1").header.revision
    request = messages.TxnRequest(compare=[compare("/a", messages.MOD_REVISION, mod_revision=99)])
    request.failure.add().range.key = b"/a"
    response = kv.call(messages.TXN, request, messages.TxnResponse)
    assert not response.succeeded and response.header.revision == revision
    assert response.responses[0].range.kvs[0].value == b"1"
    assert kv.delete("/x").deleted == 0 and kv.store.revision == revision


def txn(*operations: dict[str, Any]) -> Any:
    return messages.TxnRequest(success=operations)


PUT_A = {"put": {"key": b"a"}}


@pytest.mark.parametrize(
    ("path", "request_", "code", "text"),
    [
        (messages.RANGE, messages.RangeRequest(), INVALID_ARGUMENT, "etcdserver: key is not provided"),
        (messages.RANGE, messages.RangeRequest(key=b"a", revision=99), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision is a future revision"),
        (messages.RANGE, messages.RangeRequest(key=b"a", revision=2), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision has been compacted"),
        (messages.RANGE, messages.RangeRequest(key=b"a", sort_target=9), INVALID_ARGUMENT, "etcdserver: invalid sort option"),
        (messages.PUT, messages.PutRequest(), INVALID_ARGUMENT, "etcdserver: key is not provided"),
        (messages.PUT, messages.PutRequest(key=b"x", ignore_value=True), INVALID_ARGUMENT, "etcdserver: key not found"),
        (messages.PUT, messages.PutRequest(key=b"a", value=b"1", ignore_value=True), INVALID_ARGUMENT,
         "etcdserver: value is provided"),
        (messages.PUT, messages.PutRequest(key=b"a", lease=1, ignore_lease=True), INVALID_ARGUMENT,
         "etcdserver: lease is provided"),
        (messages.PUT, messages.PutRequest(key=b"a", lease=1), NOT_FOUND, "etcdserver: requested lease not found"),
        (messages.PUT, messages.PutRequest(key=b"\xff"), INVALID_ARGUMENT,
         "etcdserver: key is not valid UTF-8, which this store requires"),
        (messages.DELETE_RANGE, messages.DeleteRangeRequest(), INVALID_ARGUMENT, "etcdserver: key is not provided"),
        (messages.TXN, txn(PUT_A, PUT_A), INVALID_ARGUMENT, "etcdserver: duplicate key given in txn request"),
        (messages.TXN, txn(PUT_A, {"delete_range": {"key": b"\0", "range_end": b"\0"}}), INVALID_ARGUMENT,
         "etcdserver: duplicate key given in txn request"),
        (messages.TXN, txn(PUT_A, {"txn": {"failure": [PUT_A]}}), INVALID_ARGUMENT,
         "etcdserver: duplicate key given in txn request"),
        (messages.TXN, txn({}), INVALID_ARGUMENT, "etcdserver: key not found"),
        (messages.TXN, txn({"range": {}}), INVALID_ARGUMENT, "etcdserver: key is not provided"),
        (messages.PUT, messages.PutRequest(key=b"missing", lease=1, ignore_value=True), NOT_FOUND,
         "etcdserver: requested lease not found"),
        (messages.TXN, txn({"range": {"key": b"a", "revision": -1}}), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision has been compacted"),
        (messages.TXN, txn({"range": {"key": b"a", "revision": 99}}), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision is a future revision"),
        (messages.TXN, txn(*[{"range": {"key": b"a"}}] * 1025), INVALID_ARGUMENT,
         "etcdserver: too many operations in txn request"),
        (messages.COMPACT, messages.CompactionRequest(revision=99), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision is a future revision"),
        (messages.COMPACT, messages.CompactionRequest(revision=3), OUT_OF_RANGE,
         "etcdserver: mvcc: required revision has been compacted"),
    ],
)  # fmt: skip
def test_mistakes_have_the_errors_of_etcd(kv: Connected, path: str, request_: Any, code: int, text: str) -> None:
    """Errors have the codes and texts that etcd's clients compare, and nothing was written."""
    kv.put("a", "1")
    kv.put("a", "2")
    kv.call(messages.COMPACT, messages.CompactionRequest(revision=3), messages.CompactionResponse)
    with pytest.raises(StatusError) as caught:
        kv.call(path, request_, messages.TxnResponse)
    assert (caught.value.code, str(caught.value)) == (code, text)
    assert kv.store.revision == 3


@pytest.mark.parametrize(
    "request_",
    [
        txn({"txn": {"success": [PUT_A], "failure": [PUT_A]}}),
        txn({"delete_range": {"key": b"b", "range_end": b"c"}}, {"delete_range": {"key": b"b"}}, PUT_A),
        txn({"put": {"key": b"c"}}, {"delete_range": {"key": b"a", "range_end": b"c"}}),
    ],
)
def test_keys_of_branches_may_repeat(kv: Connected, request_: Any) -> None:
    """Only one branch of a nested transaction runs, and a deletion up to a key does not delete it."""
    assert kv.call(messages.TXN, request_, messages.TxnResponse).succeeded
