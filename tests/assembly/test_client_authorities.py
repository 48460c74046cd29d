"""The authorities that a TLS handshake names as acceptable for client certificates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from OpenSSL import SSL

from orchd.assembly.capabilities import capabilities
from orchd.assembly.files import prepare
from orchd.config.options import Options, from_options
from orchd.pki.certificates import chain_pem, new_authority
from orchd.server.http.tls import KeyPairFiles, ServerContexts, TlsSettings

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def authority(folder: Path, *names: str) -> str:
    """A PEM file with new authorities of these names."""
    file = folder / f"{names[0]}.crt"
    file.write_bytes(b"".join(chain_pem(new_authority(name, now=NOW).certificate) for name in names))
    return str(file)


def contexts(folder: Path, *flags: str) -> ServerContexts:
    options = Options(capabilities=capabilities())
    options.parseOptions([f"--data-dir={folder / 'data'}", *flags])
    return ServerContexts(prepare(from_options(options), port=0, now=NOW.timestamp()).tls)


def acceptable_authorities(server: SSL.Connection) -> list[str]:
    """The common names of the acceptable authorities that the server sends in the handshake."""
    client = SSL.Connection(SSL.Context(SSL.TLS_CLIENT_METHOD), None)
    client.set_connect_state()
    for _ in range(4):
        for one, other in ((client, server), (server, client)):
            try:
                one.do_handshake()
            except SSL.WantReadError:
                """The other side has to answer."""
            try:
                other.bio_write(one.bio_read(65536))
            except SSL.WantReadError:
                """Nothing to pass on."""
    return [str(name.CN) for name in client.get_client_ca_list()]


def test_all_client_authorities_are_sent(tmp_path: Path) -> None:
    """The server names the cluster's own authority, those of --client-ca-file and those of front proxies."""
    given, proxies = authority(tmp_path, "people", "robots"), authority(tmp_path, "proxies")
    tls_contexts = contexts(tmp_path, f"--client-ca-file={given}", f"--requestheader-client-ca-file={proxies}")
    own, *others = acceptable_authorities(tls_contexts.serverConnectionForTLS(None))
    assert (own, others) == ("orch", ["people", "robots", "proxies"])


def test_changed_file_is_reloaded(tmp_path: Path) -> None:
    """New connections are sent the new authorities; a file without certificates is reported and changes nothing."""
    given = authority(tmp_path, "people")
    tls_contexts = contexts(tmp_path, f"--client-ca-file={given}")
    Path(given).rename(tmp_path / "old")
    Path(authority(tmp_path, "others")).rename(given)
    assert tls_contexts.reload()
    assert acceptable_authorities(tls_contexts.serverConnectionForTLS(None))[1:] == ["others"]
    Path(given).write_text("nothing")
    assert not tls_contexts.reload()
    assert acceptable_authorities(tls_contexts.serverConnectionForTLS(None))[1:] == ["others"]


def test_file_without_certificates_fails_the_start(tmp_path: Path) -> None:
    """The error names the file."""
    pair = contexts(tmp_path).settings.serving
    (tmp_path / "empty.crt").write_text("nothing")
    settings = TlsSettings(
        serving=KeyPairFiles(certificate=pair.certificate, key=pair.key), client_ca_files=(str(tmp_path / "empty.crt"),)
    )
    with pytest.raises(ValueError, match=r"empty\.crt: no certificate in PEM form"):
        ServerContexts(settings)
