"""Settings of an HTTPS listener, which the API server and the ports of the other components share."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address

from orchd.config.values import NamedCertKey


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerSettings:
    """Without `cert_file` a certificate is generated in `cert_dir`. `min_tls` and `ciphers` are flag values; `ciphers` () means the
    secure suites. `http2_max_streams` 0 disables HTTP/2."""

    bind_address: IPv4Address | IPv6Address
    port: int
    cert_dir: str
    cert_file: str
    key_file: str
    sni: tuple[NamedCertKey, ...]
    min_tls: str
    ciphers: tuple[str, ...]
    share_port: bool
    share_address: bool
    http2_max_streams: int
    profiling: bool
