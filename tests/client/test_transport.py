"""Connections to a server: through which proxy, and with which certificate."""

from __future__ import annotations

from typing import Any

import pytest
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.testing import MemoryReactorClock, StringTransport
from twisted.web.http_headers import Headers

from orchd.client import transport
from orchd.client.transport import Transport, tls_options
from orchd.pki.clientconfig import ClientConfig, ClientConfigError
from orchd.txkit.tls_client import UnverifiedConnection

PAIR, OTHER = (b"certificate", b"key"), (b"other", b"other key")


@pytest.mark.parametrize(
    ("proxy", "port", "first"),
    [
        ("http://127.0.0.9:3128", 3128, b"CONNECT 127.0.0.1:6443 HTTP/1.1\r\n"),
        ("http://127.0.0.9", 80, b"CONNECT 127.0.0.1:6443 HTTP/1.1\r\n"),
        # A record of a TLS handshake.
        ("https://127.0.0.9:3128", 3128, b"\x16\x03"),
        ("https://127.0.0.9", 443, b"\x16\x03"),
    ],
)
def test_proxies(proxy: str, port: int, first: bytes) -> None:
    """A proxy is asked for a tunnel to the server, over TLS if its URL says so; its port has a default."""
    reactor: Any = MemoryReactorClock()
    made = Transport(ClientConfig(server="https://127.0.0.1:6443", proxy=proxy), reactor, timeout=9, connections=1)
    made.request(b"GET", b"https://127.0.0.1:6443/x", Headers(), None, (b"", b""))
    ((_, number, factory, *_),) = reactor.tcpClients
    assert number == port
    protocol, wire = factory.buildProtocol(None), StringTransport()
    protocol.makeConnection(wire)
    assert wire.value().startswith(first)


@pytest.fixture
def presented(monkeypatch: pytest.MonkeyPatch) -> list[tuple[bytes, bytes]]:
    """The pairs for which options of TLS were made."""
    pairs: list[tuple[bytes, bytes]] = []

    def note(config: ClientConfig, host: str, certificate: bytes, key: bytes) -> Any:
        pairs.append((certificate, key))
        return tls_options(config, host, b"", b"")

    monkeypatch.setattr(transport, "tls_options", note)
    return pairs


def test_pair_of_a_connection_is_that_of_the_last_request(presented: list[tuple[bytes, bytes]]) -> None:
    """Options are made again for another certificate, of a request or of a connection of its own."""
    reactor: Any = MemoryReactorClock()
    config = ClientConfig(server="https://127.0.0.1:6443", certificate=PAIR[0], key=PAIR[1])
    made = Transport(config, reactor, timeout=9, connections=1)
    assert presented == [PAIR]
    for _ in range(2):
        made.request(b"GET", b"https://127.0.0.1:6443/x", Headers(), None, PAIR)
    assert presented == [PAIR]
    for _ in range(2):
        made.request(b"GET", b"https://127.0.0.1:6443/x", Headers(), None, OTHER)
    assert presented == [PAIR, OTHER]
    made.connect(Factory.forProtocol(Protocol), PAIR)
    assert presented == [PAIR, OTHER, PAIR]


def test_options_of_tls() -> None:
    """Servers are verified by the authorities of the system or by the configured one, unless that is turned off."""
    assert isinstance(tls_options(ClientConfig(server="https://h", insecure=True), "h", b"", b""), UnverifiedConnection)
    verified = tls_options(ClientConfig(server="https://h"), "h", b"", b"")
    assert not isinstance(verified, UnverifiedConnection)
    authority = b"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"
    with pytest.raises(ClientConfigError, match="certificates of user 'u' or cluster 'c'"):
        tls_options(ClientConfig(server="https://h", authority=authority, user="u", cluster="c"), "h", b"", b"")
