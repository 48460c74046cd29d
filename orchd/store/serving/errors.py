"""Errors as etcd's clients expect them: they compare the texts (etcd: api/v3rpc/rpctypes/error.go)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.protobuf.message import DecodeError

from orchd.store.grpc.status import (
    FAILED_PRECONDITION,
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OUT_OF_RANGE,
    UNAVAILABLE,
    StatusError,
)
from orchd.store.interfaces import CompactedError, FutureRevisionError, StoreError

#: Reasons why a watch is cancelled.
COMPACTED_TEXT = "etcdserver: mvcc: required revision has been compacted"


def empty_key() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: key is not provided")


def key_not_found() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: key not found")


def value_provided() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: value is provided")


def lease_provided() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: lease is provided")


def too_many_operations() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: too many operations in txn request")


def duplicate_key() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: duplicate key given in txn request")


def invalid_sort() -> StatusError:
    return StatusError(INVALID_ARGUMENT, "etcdserver: invalid sort option")


def key_not_text() -> StatusError:
    """etcd's keys are any bytes; those of the embedded store are text."""
    return StatusError(INVALID_ARGUMENT, "etcdserver: key is not valid UTF-8, which this store requires")


def compacted() -> StatusError:
    return StatusError(OUT_OF_RANGE, COMPACTED_TEXT)


def future() -> StatusError:
    return StatusError(OUT_OF_RANGE, "etcdserver: mvcc: required revision is a future revision")


def lease_not_found() -> StatusError:
    return StatusError(NOT_FOUND, "etcdserver: requested lease not found")


def lease_exists() -> StatusError:
    return StatusError(FAILED_PRECONDITION, "etcdserver: lease already exists")


def lease_too_long() -> StatusError:
    return StatusError(OUT_OF_RANGE, "etcdserver: too large lease TTL")


def of_store(error: StoreError) -> StatusError:
    """The status of a failure of the store."""
    if isinstance(error, CompactedError):
        return compacted()
    if isinstance(error, FutureRevisionError):
        return future()
    return StatusError(UNAVAILABLE, f"etcdserver: {error}")


def parsed(parse: Callable[[bytes], Any], data: bytes) -> Any:
    """A protobuf message. Raises StatusError."""
    try:
        return parse(data)
    except DecodeError as error:
        raise StatusError(INTERNAL, f"grpc: error unmarshalling request: {error}") from None
