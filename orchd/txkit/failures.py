"""Errors of requests to other servers, as the reference's messages describe them."""

from __future__ import annotations

import os
from typing import Any, Final

from OpenSSL import SSL
from service_identity import VerificationError
from twisted.internet.defer import CancelledError
from twisted.internet.error import (
    ConnectError,
    ConnectingCancelledError,
    ConnectionClosed,
    ConnectionLost,
    ConnectionRefusedError,
    DNSLookupError,
)
from twisted.python.failure import Failure
from twisted.web._newclient import ParseError
from twisted.web.client import ResponseFailed

#: The connection was closed instead of a response.
CLOSED: Final = "EOF"
#: Bytes of what is no response that are quoted.
_MOST_QUOTED: Final = 100


def describe(error: BaseException, address: tuple[str, int]) -> str:
    """A failed request to an address (host, port)."""
    if isinstance(error, ResponseFailed):
        return describe(_first(error.reasons), address)
    host = f"[{address[0]}]" if ":" in address[0] else address[0]
    if isinstance(error, ConnectionRefusedError):
        return f"dial tcp {host}:{address[1]}: connect: connection refused"
    if isinstance(error, DNSLookupError):
        return f"dial tcp: lookup {host}: no such host"
    if isinstance(error, SSL.Error):
        reasons = (
            [str(reason[-1]) for reason in error.args[0]] if error.args and isinstance(error.args[0], list) else []
        )
        if "certificate verify failed" in reasons:
            return "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        return f"tls: {'; '.join(reasons) or 'handshake failed'}"
    if isinstance(error, VerificationError):
        return f"tls: failed to verify certificate: x509: certificate is not valid for {host}"
    if isinstance(error, ConnectionClosed):
        return CLOSED
    if isinstance(error, ParseError):
        line = error.data[:_MOST_QUOTED].decode("latin-1").encode("unicode_escape").decode("ascii")
        return f'net/http: HTTP/1.x transport connection broken: malformed HTTP response: {error.args[0]}: "{line}"'
    if isinstance(error, ConnectError):
        number = error.osError
        reason = f"connect: {os.strerror(number).lower()}" if isinstance(number, int) else str(number or error)
        return f"dial tcp {host}:{address[1]}: {reason}"
    return str(error) or type(error).__name__


def was_cancelled(error: BaseException) -> bool:
    """True for the failure of a cancelled request."""
    if isinstance(error, ResponseFailed):
        return any(isinstance(reason, Failure) and reason.check(CancelledError) for reason in error.reasons)
    return isinstance(error, CancelledError | ConnectingCancelledError)


def was_lost(error: BaseException) -> bool:
    """True if the peer closed the connection without a response."""
    if isinstance(error, ResponseFailed):
        return any(isinstance(reason, Failure) and reason.check(ConnectionLost) for reason in error.reasons)
    return isinstance(error, ConnectionLost)


def _first(reasons: Any) -> BaseException:
    """The most telling of several failures: one of TLS before that of the connection it ended."""
    failures = [reason.value for reason in reasons if isinstance(reason, Failure) and reason.value is not None]
    for value in failures:
        if not isinstance(value, ConnectionClosed):
            return value
    return failures[0] if failures else ConnectionClosed("")
