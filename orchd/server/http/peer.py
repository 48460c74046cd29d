"""The peer of a transport: its address and client certificates."""

from __future__ import annotations

from typing import Any, cast

from cryptography.hazmat.primitives.serialization import Encoding
from twisted.internet.interfaces import ISSLTransport


def certificate_chain(transport: Any) -> tuple[bytes, ...]:
    """The client's certificate chain in DER, leaf first, as sent and unverified. () without TLS or certificate."""
    if not ISSLTransport.providedBy(transport):
        return ()
    connection: Any = cast(Any, transport).getHandle()
    leaf = connection.get_peer_certificate(as_cryptography=True)
    if leaf is None:
        return ()
    # On the server side OpenSSL omits the leaf from the chain; clients include it.
    first = leaf.public_bytes(Encoding.DER)
    sent = [one.public_bytes(Encoding.DER) for one in connection.get_peer_cert_chain(as_cryptography=True) or ()]
    return (first, *(der for der in sent if der != first))


def remote_address(transport: Any) -> str:
    """The peer's IP address; "" for transports without one."""
    return str(getattr(transport.getPeer(), "host", ""))
