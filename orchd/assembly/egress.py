"""The egress selector of one server, from --egress-selector-config-file. Without the flag all connections are
direct."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from twisted.internet import ssl

from orchd.assembly.runtime import Runtime
from orchd.config.documents.egress import ProxyConnection, parse_egress
from orchd.server.outbound.egress import Egress, EgressSelector, HttpConnectProxy
from orchd.txkit.config_file_watcher import read_limited
from orchd.txkit.file_reloading import FileReloader
from orchd.txkit.tls_client import own_certificate, trust_roots

#: The first release with a metric of connections that are begun.
_BEGUN_SINCE = "1.24"
_FLAG = "--egress-selector-config-file"
#: Seconds between checks of the certificate files of a proxy.
_INTERVAL = 60.0


def egress_selector(runtime: Runtime) -> EgressSelector:
    """Raises ValueError naming the flag, the file and the field."""
    path = runtime.settings.egress_file
    counts_begun = runtime.settings.release.includes(_BEGUN_SINCE)
    if not path:
        return EgressSelector(runtime.reactor, {}, counts_begun)
    try:
        configuration = parse_egress(read_limited(path), runtime.dialect)
        proxies = {Egress(name): _proxy(connection, runtime.reactor) for name, connection in configuration.items()}
    except (OSError, ValueError) as error:
        raise ValueError(f"{_FLAG}: {path}: {error}") from error
    return EgressSelector(runtime.reactor, proxies, counts_begun)


def _proxy(connection: ProxyConnection | None, reactor: Any) -> HttpConnectProxy | None:
    """Raises ValueError naming the field and the file."""
    if connection is None:
        return None
    if not connection.certificate_file:
        return HttpConnectProxy(url=connection.url, socket=connection.socket)
    return HttpConnectProxy(url=connection.url, options=_ProxyTls(connection, reactor).options)


class _ProxyTls:
    """TLS with a proxy; its files are read again when they have changed."""

    def __init__(self, connection: ProxyConnection, reactor: Any) -> None:
        self._connection = connection
        names = [name for name in (connection.authority_file, connection.certificate_file, connection.key_file) if name]
        self._files = FileReloader(
            f"certificates for the egress proxy {connection.url}",
            self._read,
            lambda: names,
            clock=reactor.seconds,
            interval=_INTERVAL,
        )

    def options(self, host: str) -> Any:
        authority, certificate, key = self._files()
        return ssl.optionsForClientTLS(
            host,
            trustRoot=trust_roots(authority) if authority else ssl.platformTrust(),
            clientCertificate=own_certificate(certificate, key),
        )

    def _read(self) -> tuple[bytes, bytes, bytes]:
        connection = self._connection
        authority = self._read_file("caBundle", connection.authority_file)
        pair = (
            self._read_file("clientCert", connection.certificate_file),
            self._read_file("clientKey", connection.key_file),
        )
        try:
            if connection.authority_file and b"-----BEGIN CERTIFICATE-----" not in authority:
                raise ValueError("no certificate in it")
            trust_roots(authority)
        except Exception as error:  # pyOpenSSL raises a different error for each kind of damage
            raise ValueError(f"{connection.at}.caBundle: {connection.authority_file}: {error}") from error
        try:
            own_certificate(*pair)
        except Exception as error:
            raise ValueError(
                f"{connection.at}.clientCert: {connection.certificate_file} and {connection.key_file} are not a "
                "certificate and its key"
            ) from error
        return authority, *pair

    def _read_file(self, name: str, file: str) -> bytes:
        try:
            return Path(file).read_bytes() if file else b""
        except OSError as error:
            raise ValueError(f"{self._connection.at}.{name}: {file}: {error.strerror}") from error
