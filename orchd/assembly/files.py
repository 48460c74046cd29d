"""Files that a server reads or generates: its data folder, and the files that flags name."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from ipaddress import ip_address
from pathlib import Path
from typing import Final, TypeVar

from orchd.assembly.tls import tls_settings
from orchd.config.settings import Settings
from orchd.pki import bootstrap as pki
from orchd.pki.certificates import load_chain
from orchd.pki.keys import PrivateKey, PublicKey, load_private, load_public_keys
from orchd.server.http.tls import TlsSettings
from orchd.server.registry.ranges import first_address

T = TypeVar("T")

#: An address of documentation for each family, to ask for the route to it.
_ELSEWHERE: Final = {socket.AF_INET: "192.0.2.1", socket.AF_INET6: "2001:db8::1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerFiles:
    """`client_authorities` is the PEM bundle that verifies client certificates; `signing_key` signs service account
    tokens, `verification_keys` verify them."""

    certificates: pki.Files
    tls: TlsSettings
    client_authorities: bytes
    client_authorities_flag: bytes
    #: PEM bundle of front-proxy authorities; b"" disables front-proxy authentication.
    proxy_authorities: bytes
    signing_key: PrivateKey
    verification_keys: tuple[PublicKey, ...]


def advertised_address(settings: Settings) -> str:
    """The advertised address: the flag's, the bind address, or the source address of the default route if that is
    unspecified or of loopback."""
    serving = settings.serving
    if serving.advertise_address is not None:
        return str(serving.advertise_address)
    bind = serving.bind_address
    if not (bind.is_unspecified or bind.is_loopback):
        return str(bind)
    families = (socket.AF_INET6, socket.AF_INET) if bind.version == 6 else (socket.AF_INET, socket.AF_INET6)
    return next(filter(None, map(_routed_address, families)), str(bind) if bind.is_loopback else "127.0.0.1")


def _routed_address(family: socket.AddressFamily) -> str:
    """The source address of the default route of an address family, "" without one."""
    # Connecting a datagram socket sends nothing; it makes the system choose a route.
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((_ELSEWHERE[family], 9))
            address: str = probe.getsockname()[0]
    except OSError:
        return ""
    return address


def api_service_address(settings: Settings) -> str:
    """The cluster IP of the API service: the first usable address of the first service range."""
    return first_address(settings.api.service_cluster_ip_range[0])


def local_url(settings: Settings, port: int) -> str:
    """The URL for clients on this machine."""
    bind = settings.serving.bind_address
    host = "127.0.0.1" if bind.is_unspecified else str(bind)
    return f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"


def prepare(
    settings: Settings, *, port: int, now: float, renew: bool = False, url: str = "", durable: bool = True
) -> ServerFiles:
    """Read the files, and generate those that are missing or due; with `renew` generate all certificates. `url` is the
    server's address in the administrator's configuration instead of the one with `port`; without `durable` what is
    generated is not synced to disk. Raises OSError and ValueError that name the file."""
    serving = settings.serving
    names = [str(serving.bind_address), advertised_address(settings), api_service_address(settings)]
    if serving.external_hostname:
        names.append(serving.external_hostname)
    own_files = pki.ensure(
        Path(settings.storage.data_dir),
        dialect=settings.dialect,
        server_url=url or local_url(settings, port),
        now=datetime.fromtimestamp(now, UTC),
        names=[n for n in names if not _is_unspecified(n)],
        serving_folder=Path(serving.cert_dir),
        renew=renew,
        durable=durable,
    )
    own = own_files.ca_certificate.read_bytes()
    client_authority = _read("client-ca-file", settings.authentication.client_ca_file)
    accounts = settings.authentication.service_accounts
    for flag, name in (
        ("client-ca-file", settings.authentication.client_ca_file),
        ("requestheader-client-ca-file", settings.authentication.front_proxy.ca_file),
    ):
        if name:
            _parse(flag, name, load_chain)
    if accounts.signing_key_file:
        signing = _parse("service-account-signing-key-file", accounts.signing_key_file, load_private)
    else:
        signing = load_private(own_files.signing_key.read_bytes())
    keys: list[PublicKey] = []
    for name in accounts.key_files:
        keys.extend(_parse("service-account-key-file", name, load_public_keys))
    if not keys:
        keys.append(signing.public_key())
        if not accounts.signing_key_file:
            keys.extend(_serving_keys(serving.key_file))
    client_files = (
        str(own_files.ca_certificate),
        settings.authentication.client_ca_file,
        settings.authentication.front_proxy.ca_file,
    )
    return ServerFiles(
        certificates=own_files,
        tls=tls_settings(
            settings.serving,
            lambda: (str(own_files.serving_certificate), str(own_files.serving_key)),
            client_authorities=filter(None, client_files),
        ),
        # The administrator's generated certificate must work with any configured client CA.
        client_authorities=client_authority + b"\n" + own,
        client_authorities_flag=client_authority or own,
        proxy_authorities=_read("requestheader-client-ca-file", settings.authentication.front_proxy.ca_file),
        signing_key=signing,
        verification_keys=tuple(keys),
    )


def _serving_keys(name: str) -> list[PublicKey]:
    """The public key of --tls-private-key-file; [] without the flag, and for a key that cannot verify tokens: TLS
    checks the file."""
    try:
        return load_public_keys(_read("tls-private-key-file", name)) if name else []
    except ValueError:
        return []


def _is_unspecified(name: str) -> bool:
    try:
        return ip_address(name).is_unspecified
    except ValueError:
        return False


def _parse(flag: str, name: str, parse: Callable[[bytes], T]) -> T:
    """The content of a file, parsed by `parse`. Raises ValueError naming the flag and the file."""
    data = _read(flag, name)
    try:
        return parse(data)
    except ValueError as error:
        raise ValueError(f"--{flag}: {name}: {error}") from error


def _read(flag: str, name: str) -> bytes:
    if not name:
        return b""
    try:
        return Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise ValueError(f"--{flag}: {error}") from error
