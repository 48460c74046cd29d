"""EgressSelectorConfiguration: the proxies of outgoing connections, by the type of what is connected to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from orchd.config.documents import types
from orchd.config.documents.decoding import decode_versioned
from orchd.config.documents.findings import raise_findings
from orchd.dialect import Dialect
from orchd.kinds.objects.settings import ObjectSettings
from orchd.kinds.objects.validate.paths import Path, root
from orchd.kinds.objects.validate.report import Report

Json = Mapping[str, Any]
NAMES: Final = ("cluster", "controlplane", "etcd")
_DIRECT, _CONNECT, _GRPC = "Direct", "HTTPConnect", "GRPC"
#: What v1alpha1 calls controlplane.
_OLD_NAMES: Final = {"master": "controlplane"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyConnection:
    """An HTTP proxy at a `url` or at the path of a Unix socket (`socket`). The files are those of an https URL;
    `authority_file` "" means the system's CAs. `at` is the path of the field, for errors."""

    at: str
    url: str = ""
    socket: str = ""
    authority_file: str = ""
    certificate_file: str = ""
    key_file: str = ""


def parse_egress(data: bytes, dialect: Dialect) -> dict[str, ProxyConnection | None]:
    """The proxy of each named egress type, None for direct connections. Raises DocumentError."""
    version, document = decode_versioned(data, types.EGRESS, dialect)
    report = Report(ObjectSettings(dialect=dialect))
    selections: Sequence[Json] = document.get("egressSelections") or ()
    at, out = root("egressSelections"), dict[str, ProxyConnection | None]()
    for index, selection in enumerate(selections):
        name = selection["name"].lower()
        if version == "v1alpha1":
            name = _OLD_NAMES.get(name, name)
        if name in out:
            report.duplicate(at[index] / "name", name)
        elif name not in NAMES:
            report.unsupported(at[index] / "name", name, NAMES)
        out[name] = _connection(selection["connection"], at[index] / "connection", report)
    raise_findings(report)
    return out


def _connection(section: Json, at: Path, report: Report) -> ProxyConnection | None:
    protocol, transport = section["proxyProtocol"], section.get("transport")
    if protocol == _DIRECT:
        if transport is not None:
            report.invalid(at / "transport", "direct", "Transport config should be absent for direct connect")
    elif protocol == _GRPC:
        report.invalid(at / "proxyProtocol", protocol, "GRPC tunnels are not supported by this server: use HTTPConnect")
    elif protocol != _CONNECT:
        report.unsupported(at / "proxyProtocol", protocol, (_DIRECT, _GRPC, _CONNECT))
    elif transport is None:
        report.required(at / "transport", "transport must be set for HTTPConnect")
    else:
        return _proxy(transport, at / "transport", report)
    return None


def _proxy(transport: Json, at: Path, report: Report) -> ProxyConnection | None:
    tcp, uds = transport.get("tcp"), transport.get("uds")
    if tcp is not None and uds is not None:
        report.invalid(at / "tcp", tcp["url"], "TCP and UDS cannot both be set")
    elif uds is not None:
        if uds["udsName"]:
            return ProxyConnection(at=str(at), socket=uds["udsName"])
        report.invalid(at / "uds" / "udsName", "", "UDSName should be present for UDS connections")
    elif tcp is not None:
        return _tcp(tcp, at / "tcp", report)
    else:
        report.required(at / "tcp", "One of TCP or UDS must be set")
    return None


def _tcp(section: Json, at: Path, report: Report) -> ProxyConnection | None:
    url, files = section["url"], section.get("tlsConfig")
    if not _check_url(url, at / "url", report):
        return None
    if url.startswith("http://"):
        if files is not None:
            report.invalid(at / "tlsConfig", "nil", "TLSConfig config should not be present when using HTTP")
        return ProxyConnection(at=str(at), url=url)
    if files is None:
        report.required(at / "tlsConfig", "TLSConfig must be present when using HTTPS")
        return None
    for name in ("clientCert", "clientKey"):
        if not files.get(name):
            report.invalid(at / "tlsConfig" / name, "nil", f"Using TLS requires {name}")
    return ProxyConnection(
        at=str(at / "tlsConfig"),
        url=url,
        authority_file=files.get("caBundle", ""),
        certificate_file=files.get("clientCert", ""),
        key_file=files.get("clientKey", ""),
    )


def _check_url(url: str, at: Path, report: Report) -> bool:
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        report.invalid(at, url, str(error))
        return False
    if not url.startswith(("http://", "https://")):
        report.invalid(at, url, "supported connection protocols are http:// and https://")
    elif not host or not url.isascii():
        report.invalid(at, url, "must have the name or address of a host")
    elif parts.path not in ("", "/") or parts.query or parts.fragment or parts.username is not None:
        report.invalid(at, url, "must be a scheme, a host and a port")
    else:
        return True
    return False
