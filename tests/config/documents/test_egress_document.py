"""EgressSelectorConfiguration files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orchd.config.documents.decoding import DocumentError
from orchd.config.documents.egress import ProxyConnection, parse_egress
from orchd.dialect import ORCH

AT = "egressSelections[0].connection"
TCP = {"url": "http://proxy:3128"}
TLS = {"url": "https://proxy", "tlsConfig": {"caBundle": "ca", "clientCert": "crt", "clientKey": "key"}}


def document(*selections: Any, version: str = "v1beta1", **members: Any) -> bytes:
    head = {"apiVersion": ORCH("apiserver.{abbr}.io/") + version, "kind": "EgressSelectorConfiguration"}
    return json.dumps({**head, "egressSelections": selections, **members}).encode()


def one(protocol: str = "HTTPConnect", name: str = "cluster", **transport: Any) -> dict[str, Any]:
    connection = {"proxyProtocol": protocol, **({"transport": transport} if transport else {})}
    return {"name": name, "connection": connection}


def test_connections() -> None:
    """Connections are direct, over TCP with and without TLS, or over a Unix socket; names are case-insensitive."""
    given = document(one("Direct"), one(name="ControlPlane", tcp=TLS), one(name="ETCD", uds={"udsName": "/run/s"}))
    selection = parse_egress(given, ORCH)
    assert selection == {
        "cluster": None,
        "controlplane": ProxyConnection(
            at="egressSelections[1].connection.transport.tcp.tlsConfig",
            url="https://proxy", authority_file="ca", certificate_file="crt", key_file="key",
        ),
        "etcd": ProxyConnection(at="egressSelections[2].connection.transport", socket="/run/s"),
    }  # fmt: skip
    plain = parse_egress(document(one(tcp=TCP)), ORCH)["cluster"]
    assert plain is not None
    assert plain.url == "http://proxy:3128"


def test_the_name_of_the_first_version() -> None:
    """v1alpha1 calls the control plane "master"; v1beta1 rejects that name."""
    assert parse_egress(document(one("Direct", "master"), version="v1alpha1"), ORCH) == {"controlplane": None}
    with pytest.raises(DocumentError, match=r'egressSelections\[0\].name: Unsupported value: "master"'):
        parse_egress(document(one("Direct", "master")), ORCH)
    with pytest.raises(DocumentError, match=r'egressSelections\[1\].name: Duplicate value: "controlplane"'):
        parse_egress(document(one("Direct", "master"), one("Direct", "controlplane"), version="v1alpha1"), ORCH)


@pytest.mark.parametrize(("selection", "why"), [
    (one("GRPC", uds={"udsName": "/s"}),
     f'{AT}.proxyProtocol: Invalid value: "GRPC": GRPC tunnels are not supported by this server: use HTTPConnect'),
    (one("SOCKS"), f'{AT}.proxyProtocol: Unsupported value: "SOCKS": supported values: "Direct", "GRPC", "HTTPConnect"'),
    (one("Direct", tcp=TCP), f'{AT}.transport: Invalid value: "direct": Transport config should be absent'),
    (one(), f"{AT}.transport: Required value: transport must be set for HTTPConnect"),
    (one(tcp=TCP, uds={"udsName": "/s"}), f'{AT}.transport.tcp: Invalid value: "http://proxy:3128": TCP and UDS cannot both be set'),
    (one(tcp=None), f"{AT}.transport.tcp: Required value: One of TCP or UDS must be set"),
    (one(uds={"udsName": ""}), f'{AT}.transport.uds.udsName: Invalid value: "": UDSName should be present'),
    (one(tcp={"url": "proxy:3128"}), f'{AT}.transport.tcp.url: Invalid value: "proxy:3128": supported connection protocols'),
    (one(tcp={"url": "http://:3128"}), f'{AT}.transport.tcp.url: Invalid value: "http://:3128": must have the name'),
    (one(tcp={"url": "http://p:x"}), f'{AT}.transport.tcp.url: Invalid value: "http://p:x": Port could not be cast'),
    (one(tcp={"url": "http://u:p@p/a"}), f'{AT}.transport.tcp.url: Invalid value: "http://u:p@p/a": must be a scheme'),
    (one(tcp={**TLS, "url": "http://p"}), f'{AT}.transport.tcp.tlsConfig: Invalid value: "nil": TLSConfig config should not'),
    (one(tcp={"url": "https://p"}), f"{AT}.transport.tcp.tlsConfig: Required value: TLSConfig must be present"),
    (one(tcp={"url": "https://p", "tlsConfig": {"clientCert": "c"}}),
     f'{AT}.transport.tcp.tlsConfig.clientKey: Invalid value: "nil": Using TLS requires clientKey'),
    (one(tcp={**TCP, "proxy": 1}), 'strict decoding error: unknown field "egressSelections[0].connection.transport.tcp.proxy"'),
])  # fmt: skip
def test_invalid_documents(selection: dict[str, Any], why: str) -> None:
    """Each error names the field."""
    with pytest.raises(DocumentError) as caught:
        parse_egress(document(selection), ORCH)
    assert str(caught.value).startswith(why)


def test_versions() -> None:
    """The kind has its own API group with two versions."""
    with pytest.raises(DocumentError, match=r"expected EgressSelectorConfiguration of apiserver\.orch\.io/v1beta1 or "):
        parse_egress(document(version="v1"), ORCH)
