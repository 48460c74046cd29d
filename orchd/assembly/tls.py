"""TLS settings of a listener from its flags."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from orchd.config.sections.listener import ListenerSettings
from orchd.server.http.tls import KeyPairFiles, TlsSettings


def tls_settings(
    listener: ListenerSettings, own_pair: Callable[[], tuple[str, str]], *, client_authorities: Iterable[str] = ()
) -> TlsSettings:
    """`own_pair` returns the files of the generated certificate and key, for listeners without --tls-cert-file;
    `client_authorities` are files of the authorities whose client certificates authenticate."""
    certificate, key = (listener.cert_file, listener.key_file) if listener.cert_file else own_pair()
    return TlsSettings(
        serving=KeyPairFiles(
            certificate=certificate,
            key=key,
            flags="--tls-cert-file, --tls-private-key-file" if listener.cert_file else "",
        ),
        by_name=tuple(
            KeyPairFiles(certificate=s.cert_file, key=s.key_file, names=s.names, flags="--tls-sni-cert-key")
            for s in listener.sni
        ),
        min_version=listener.min_tls,
        cipher_suites=listener.ciphers,
        client_ca_files=tuple(client_authorities),
        http2=bool(listener.http2_max_streams),
    )
