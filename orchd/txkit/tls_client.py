"""HTTPS client parts: bodies from bytes, trust roots and client certificates from PEM."""

from __future__ import annotations

from typing import Any

from OpenSSL import SSL
from twisted.internet import ssl
from twisted.internet.defer import Deferred, succeed
from twisted.internet.interfaces import IOpenSSLClientConnectionCreator
from twisted.web.iweb import IBodyProducer, IPolicyForHTTPS
from zope.interface import implementer

from orchd.txkit.lru_cache import LruCache
from orchd.txkit.pem import certificates

#: Names of servers whose TLS settings are kept, for each policy.
_MOST_NAMES = 64


@implementer(IBodyProducer)
class BytesBodyProducer:
    """A request body from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.length = len(data)

    def startProducing(self, consumer: Any) -> Deferred[None]:
        consumer.write(self._data)
        return succeed(None)

    def pauseProducing(self) -> None:
        pass

    def resumeProducing(self) -> None:
        pass

    def stopProducing(self) -> None:
        pass


@implementer(IOpenSSLClientConnectionCreator)
class UnverifiedConnection:
    """TLS without verification of the server, for configurations that request it. `own`: client certificate or None."""

    def __init__(self, own: ssl.PrivateCertificate | None) -> None:
        pair = {} if own is None else {"privateKey": own.privateKey.original, "certificate": own.original}
        self._context = ssl.CertificateOptions(verify=False, **pair).getContext()

    def clientConnectionForTLS(self, protocol: Any) -> SSL.Connection:
        return SSL.Connection(self._context, None)


@implementer(IPolicyForHTTPS)
class ServerPolicy:
    """Verifies servers by `authority` (PEM; b"": the CAs that this machine trusts), under `name` or else the host of
    the URL; with `unchecked` not at all. Presents `own`. Raises OpenSSL.crypto.Error for an unreadable authority."""

    def __init__(
        self, authority: bytes, own: ssl.PrivateCertificate | None, *, unchecked: bool = False, name: str = ""
    ) -> None:
        self._trust = trust_roots(authority) if authority else ssl.platformTrust()
        self._own = own
        self._unchecked = unchecked
        self._name = name
        self._options: LruCache[str, Any] = LruCache(_MOST_NAMES)

    def creatorForNetloc(self, hostname: bytes, port: int) -> Any:
        if self._unchecked:
            return UnverifiedConnection(self._own)
        name = self._name or hostname.decode("ascii").strip("[]")
        return self._options.obtain(
            name, lambda: ssl.optionsForClientTLS(name, trustRoot=self._trust, clientCertificate=self._own)
        )


def trust_roots(pem: bytes) -> Any:
    """The CA certificates of a PEM text, as the ``trustRoot`` of `optionsForClientTLS`. Raises OpenSSL.crypto.Error."""
    return ssl.trustRootFromCertificates(certificates(pem))


def own_certificate(certificate: bytes, key: bytes) -> ssl.PrivateCertificate | None:
    """A client certificate with its key, from PEM; None if `certificate` is b"". Raises OpenSSL.crypto.Error."""
    return ssl.PrivateCertificate.loadPEM(certificate + b"\n" + key) if certificate else None
