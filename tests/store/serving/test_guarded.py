"""Guarded writes of one key, which are recognized, are answered as every other transaction."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.defer import fail

from orchd.store.etcd import messages
from orchd.store.grpc.status import StatusError
from orchd.store.interfaces import UnavailableError
from orchd.store.serving.guarded import guarded_write
from tests.store.serving.services import Connected

LEASE = 7


def store() -> Connected:
    """A store with the key /a, written twice, and a lease."""
    connected = Connected()
    connected.call(messages.LEASE_GRANT, messages.LeaseGrantRequest(ttl=60, id=LEASE), messages.LeaseGrantResponse)
    connected.put("/a", "1")
    connected.put("/a", "2")
    return connected


def guarded(key: bytes, *, fail: bool = True, guard: Any = None, **operation: Any) -> Any:
    """A transaction that writes or deletes `key`, and reads it if it has changed."""
    request = messages.TxnRequest(compare=[{"key": key, **(guard or {"target": messages.CREATE_REVISION})}])
    request.success.add(**operation)
    if fail:
        request.failure.add(range={"key": key})
    return request


MODIFIED = {"target": messages.MOD_REVISION, "mod_revision": 3}
CREATED = {"target": messages.CREATE_REVISION, "create_revision": 2}
RECOGNIZED = {
    "create": guarded(b"/new", put={"key": b"/new", "value": b"v"}),
    "create without a read": guarded(b"/new", fail=False, put={"key": b"/new", "value": b"v"}),
    "create with a lease": guarded(b"/new", put={"key": b"/new", "value": b"v", "lease": LEASE}),
    "create without a value": guarded(b"/new", put={"key": b"/new"}),
    "update": guarded(b"/a", guard=MODIFIED, put={"key": b"/a", "value": b"v" * 300}),
    "update with a lease": guarded(b"/a", guard=MODIFIED, put={"key": b"/a", "value": b"v", "lease": LEASE}),
    "update of what was created": guarded(b"/a", guard=CREATED, put={"key": b"/a", "value": b"v"}),
    "delete": guarded(b"/a", guard=MODIFIED, delete_range={"key": b"/a"}),
}
OTHERS = {
    "create what exists": guarded(b"/a", put={"key": b"/a", "value": b"v"}),
    "update what has changed": guarded(b"/a", guard={**MODIFIED, "mod_revision": 2}, put={"key": b"/a", "value": b"v"}),
    "update what is not there": guarded(b"/new", guard=MODIFIED, put={"key": b"/new", "value": b"v"}),
    "delete what is not there": guarded(b"/new", delete_range={"key": b"/new"}),
    "another key": guarded(b"/a", guard=MODIFIED, put={"key": b"/b", "value": b"v"}),
    "another key to delete": guarded(b"/a", guard=MODIFIED, delete_range={"key": b"/b"}),
    "a range to delete": guarded(b"/a", guard=MODIFIED, delete_range={"key": b"/a", "range_end": b"/b"}),
    "what was deleted": guarded(b"/a", guard=MODIFIED, delete_range={"key": b"/a", "prev_kv": True}),
    "what was there": guarded(b"/a", guard=MODIFIED, put={"key": b"/a", "value": b"v", "prev_kv": True}),
    "the same value": guarded(b"/a", guard=MODIFIED, put={"key": b"/a", "ignore_value": True}),
    "the same lease": guarded(b"/a", guard=MODIFIED, put={"key": b"/a", "ignore_lease": True, "value": b"v"}),
    "an unknown lease": guarded(b"/new", put={"key": b"/new", "value": b"v", "lease": 8}),
    "a guard of a range": guarded(b"/b", guard={"target": messages.CREATE_REVISION, "range_end": b"/c"}, put={"key": b"/b"}),
    "a guard that is not equal": guarded(b"/a", guard={**MODIFIED, "result": messages.LESS}, put={"key": b"/a"}),
    "a version": guarded(b"/a", guard={"target": messages.VERSION, "version": 2}, put={"key": b"/a", "value": b"v"}),
    "no text": guarded(b"\xff", put={"key": b"\xff", "value": b"v"}),
    "no key": guarded(b"", put={"key": b"", "value": b"v"}),
    "a read only": guarded(b"/a", guard=MODIFIED, range={"key": b"/a"}),
    "a read of something else": messages.TxnRequest(
        compare=[{"key": b"/a", **MODIFIED}],
        success=[{"put": {"key": b"/a", "value": b"v"}}],
        failure=[{"range": {"key": b"/a", "sort_order": 9}}],
    ),
}  # fmt: skip


def outcome(connected: Connected, request: Any) -> tuple[Any, Any]:
    """What is answered, and what is in the store then."""
    response: Any
    try:
        response = connected.call(messages.TXN, request, messages.TxnResponse)
    except StatusError as error:
        response = (error.code, str(error))
    return response, connected.range("\0", "\0")


@pytest.mark.parametrize("request_", RECOGNIZED.values(), ids=RECOGNIZED)
def test_is_answered_as_any_transaction(request_: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Response and state are those of a transaction that is executed step by step."""
    assert guarded_write(store().store, request_) is not None
    answer = outcome(store(), request_)
    monkeypatch.setattr("orchd.store.serving.transactions.guarded_write", lambda store, request: None)
    expected = outcome(store(), request_)
    assert answer == expected
    assert answer[0].succeeded


@pytest.mark.parametrize("request_", OTHERS.values(), ids=OTHERS)
def test_others_are_not_recognized(request_: Any) -> None:
    """Transactions that ask for more, whose guard does not hold, or that are invalid are executed step by step."""
    assert guarded_write(store().store, request_) is None


def test_failed_write_is_refused() -> None:
    """A guarded write that cannot be made durable is answered with the error of the store."""
    connected = store()
    connected.store.stop()
    with pytest.raises(StatusError, match="stopped"):
        connected.call(messages.TXN, RECOGNIZED["create"], messages.TxnResponse)


def test_write_that_is_not_durable_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a commit is that of the call."""
    connected = store()
    monkeypatch.setattr(connected.store, "apply", lambda changes, forwarded: fail(UnavailableError("the disk is full")))
    with pytest.raises(StatusError, match="the disk is full"):
        connected.call(messages.TXN, RECOGNIZED["create"], messages.TxnResponse)
