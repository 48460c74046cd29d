"""Words for failed requests to other servers."""

from __future__ import annotations

import errno

import pytest
from twisted.internet.error import ConnectError, ConnectionRefusedError, DNSLookupError
from twisted.web._newclient import ParseError

from orchd.txkit.failures import describe


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(), "dial tcp [::1]:443: connect: connection refused"),
        (ConnectError(errno.ENETUNREACH), "dial tcp [::1]:443: connect: network is unreachable"),
        (ConnectError(errno.EHOSTUNREACH), "dial tcp [::1]:443: connect: no route to host"),
        (DNSLookupError(), "dial tcp: lookup [::1]: no such host"),
        (
            ParseError("wrong number of parts", b"\0\xffno" + b" " * 1000),
            'net/http: HTTP/1.x transport connection broken: malformed HTTP response: wrong number of parts: "\\x00\\xffno'
            + " " * 96
            + '"',
        ),
    ],
)
def test_failures_of_connections(error: Exception, text: str) -> None:
    """A connection that cannot be made is described by the system's reason, as in the reference."""
    assert describe(error, ("::1", 443)) == text
