"""etcd members: endpoints from URLs and TLS files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from OpenSSL.crypto import Error as TlsError
from twisted.internet import ssl
from twisted.internet.endpoints import UNIXClientEndpoint, wrapClientTLS
from twisted.internet.error import VerifyError
from twisted.internet.interfaces import IStreamClientEndpoint

from orchd.store.interfaces import StoreError
from orchd.txkit import pem
from orchd.txkit.proxy_tunnel import Dial
from orchd.txkit.tcp_client import TcpEndpoint

#: Timeout of one connection attempt in seconds, without TLS.
_CONNECT = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """PEM files; "" for the system's CAs, and for no client certificate."""

    authorities: str = ""
    certificate: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """One member: its URL, its endpoint, and values of request headers. `socket` is the path of its Unix socket, ""
    without one."""

    url: str
    endpoint: IStreamClientEndpoint
    authority: str
    scheme: str
    socket: str = ""


def make_servers(
    reactor: Any, urls: Sequence[str], tls: TlsFiles | None = None, dial: Dial | None = None
) -> tuple[Server, ...]:
    """Members from `urls` (``http://host:port``, ``https://host:port``, ``unix:///path``). `dial` connects to hosts,
    None directly. Raises StoreError naming the URL or file."""
    if not urls:
        raise StoreError("no etcd server is given")
    return tuple(_server(reactor, url, tls or TlsFiles(), dial) for url in urls)


def _server(reactor: Any, url: str, tls: TlsFiles, dial: Dial | None) -> Server:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme == "unix" and not parts.netloc and parts.path.strip("/"):
        local = UNIXClientEndpoint(reactor, parts.path, timeout=_CONNECT)
        return Server(url=url, endpoint=local, authority="localhost", scheme="http", socket=parts.path)
    if parts.username is not None:
        raise StoreError(f"etcd server {parts.hostname}: no user of a URL is sent: use a client certificate")
    try:
        host, port = parts.hostname, parts.port or 2379
    except ValueError as error:
        raise StoreError(f"etcd server {url!r}: {error}") from None
    if parts.scheme not in ("http", "https") or not host or parts.path not in ("", "/"):
        raise StoreError(f"etcd server {url!r} is not http://host:port, https://host:port or unix:///path")
    endpoint: IStreamClientEndpoint
    if dial is None:
        endpoint = TcpEndpoint(reactor, host, port, timeout=_CONNECT)
    else:
        endpoint = dial(host, port, _CONNECT)
    if parts.scheme == "https":
        endpoint = wrapClientTLS(_options(host, tls), endpoint)
    name = f"[{host}]" if ":" in host else host
    return Server(url=url, endpoint=endpoint, authority=f"{name}:{port}", scheme=parts.scheme)


def _options(host: str, tls: TlsFiles) -> Any:
    extra: dict[str, Any] = {}
    client = trust = None
    if tls.authorities:
        trust = ssl.trustRootFromCertificates(_certificates(tls.authorities))
    if tls.certificate:
        chain = _certificates(tls.certificate)
        try:
            # Twisted's own way in.
            key = ssl.KeyPair.load(Path(tls.key).read_bytes(), ssl.SSL.FILETYPE_PEM)  # type: ignore[attr-defined]
        except (OSError, TlsError, ValueError) as error:
            raise StoreError(
                f"--etcd-keyfile: key of the client certificate for etcd {tls.key}: {pem.reason(error)}"
            ) from error
        try:
            client = ssl.PrivateCertificate.fromCertificateAndKeyPair(chain[0], key)
        except VerifyError as error:
            raise StoreError(
                f"--etcd-keyfile: the key {tls.key} is not that of the client certificate for etcd {tls.certificate}"
            ) from error
        extra["extraCertChain"] = [each.original for each in chain[1:]]
    return ssl.optionsForClientTLS(
        host, trustRoot=trust, clientCertificate=client, acceptableProtocols=[b"h2"], extraCertificateOptions=extra
    )


def _certificates(name: str) -> list[Any]:
    try:
        return pem.read_certificates(name)
    except ValueError as error:
        raise StoreError(f"certificates for etcd {name}: {error}") from error
