"""Call failures, and the store errors that they map to."""

from __future__ import annotations

from typing import Final

from orchd.store.grpc.status import DEADLINE_EXCEEDED, OUT_OF_RANGE, UNAVAILABLE, StatusError
from orchd.store.interfaces import StoreError, UnavailableError


class CallError(StatusError):
    """A call ended with a status other than OK. `sent` is False if the server certainly has not received it."""

    def __init__(self, code: int, message: str, *, sent: bool = True) -> None:
        super().__init__(code, message or f"gRPC status {code}")
        self.sent = sent

    @property
    def compacted(self) -> bool:
        return self.code == OUT_OF_RANGE and "compacted" in str(self)

    @property
    def future(self) -> bool:
        return self.code == OUT_OF_RANGE and "future" in str(self)

    @property
    def transient(self) -> bool:
        """True if a retry may succeed on another connection or later."""
        return self.code in (UNAVAILABLE, DEADLINE_EXCEEDED)


#: The beginning of the reason of a connection without TLS that ended before the server sent anything.
SILENT_CLOSE: Final = "the server closed the connection at once"
#: Substrings of connection errors, and their explanation to the operator.
_MEANINGS: Final = (
    (("certificate verify failed",), "the certificate that etcd shows is not signed by an authority of --etcd-cafile"),
    (("Mismatch(",), "the certificate that etcd shows is not for the host in --etcd-servers"),
    (
        ("certificate required", "bad certificate", "unknown ca", "certificate unknown", "handshake failure"),
        "etcd asks for a client certificate that an authority of its own has signed: see --etcd-certfile and "
        "--etcd-keyfile",
    ),
    (
        ("wrong version number", "packet length too long", "record layer failure"),
        "etcd does not speak TLS there: its URL in --etcd-servers should begin with http://",
    ),
    (
        ("broke HTTP/2", SILENT_CLOSE),
        "is it an etcd that speaks TLS only? Then its URL in --etcd-servers should begin with https://",
    ),
)


def explain(reason: str) -> str:
    """A connection error, with a remedy where one is known."""
    for marks, meaning in _MEANINGS:
        if any(mark in reason for mark in marks):
            return f"{meaning} ({reason})"
    return reason


class ValueTooLargeError(StoreError):
    """The request exceeds etcd's size limit."""

    def __init__(self, size: int) -> None:
        super().__init__(
            f"etcd refused a value of {size} bytes as too large: its --max-request-bytes should be 4194304 on "
            "every member"
        )


def of_write(error: CallError, size: int) -> StoreError:
    """The store error of a failed write. After a lost response it is unknown whether the write happened."""
    if "too large" in str(error) or "larger than max" in str(error):
        return ValueTooLargeError(size)
    if "too many operations" in str(error):
        return UnavailableError(f"etcd: {error}: its --max-txn-ops should be larger on every member")
    if error.sent and error.transient:
        return UnavailableError(f"etcd did not respond, and the write may have been applied or not: {error}")
    return UnavailableError(f"etcd: {error}")
