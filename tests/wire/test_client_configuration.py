"""Kubeconfigs against a real server: exec plugins, impersonation, proxies, server names, renewed files."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
import pytest_twisted
import yaml
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ClientEndpoint, TCP4ServerEndpoint, connectProtocol
from twisted.internet.protocol import Factory, Protocol

from orchd.client.interfaces import ResourceRef
from orchd.client.remote import ClientOptions, RemoteClient
from orchd.errors import ApiError
from orchd.pki import clientconfig
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import private_pem
from orchd.testing.processes.daemon import DaemonProcess

CONFIG_MAPS = ResourceRef("", "v1", "configmaps")

PLUGIN = """#!/bin/sh
echo run >> "$COUNT"
printf '%s' "$KUBERNETES_EXEC_INFO" > "$COUNT.info"
token=$(cat "$TOKEN_FILE")
printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$token"
"""


class Configurations:
    """Writes kubeconfigs for the server, and closes the clients that use them."""

    def __init__(self, server: DaemonProcess, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.admin = yaml.safe_load(server.config_file.read_text())
        self._clients: list[RemoteClient] = []

    def client(self, user: Any = None, **cluster: Any) -> RemoteClient:
        """A client as the administrator unless another user is given."""
        document = json.loads(json.dumps(self.admin))
        document["clusters"][0]["cluster"].update(cluster)
        if user is not None:
            document["users"][0]["user"] = user
        path = self.folder / "config"
        path.write_text(yaml.safe_dump(document))
        client = RemoteClient(clientconfig.load(path), reactor, ClientOptions(agent="wire/1"), random=Random(1))
        self._clients.append(client)
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


@pytest_twisted.async_yield_fixture
async def configurations(server: DaemonProcess, tmp_path: Path) -> AsyncIterator[Configurations]:
    configurations = Configurations(server, tmp_path)
    yield configurations
    await configurations.close()


async def names(client: RemoteClient) -> list[str]:
    return [obj["metadata"]["name"] for obj in (await client.list(CONFIG_MAPS, "kube-system"))["items"]]


@pytest_twisted.ensureDeferred
async def test_exec_plugin_provides_the_token(configurations: Configurations) -> None:
    """A real plugin provides the token; after the server has rejected one the plugin runs again for the next
    request."""
    folder = configurations.folder
    script, count, token = folder / "get-token", folder / "count", folder / "token"
    script.write_text(PLUGIN)
    script.chmod(0o755)
    token.write_text("unknown-token")
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": "./get-token",
        "interactiveMode": "Never",
        "provideClusterInfo": True,
        "env": [{"name": "COUNT", "value": str(count)}, {"name": "TOKEN_FILE", "value": str(token)}],
    }
    client = configurations.client({"exec": plugin})
    with pytest.raises(ApiError) as caught:
        await names(client)
    assert caught.value.code == 401
    token.write_text("admin-token")
    assert "extension-apiserver-authentication" in await names(client)
    await names(client)
    assert count.read_text() == "run\nrun\n"
    told = json.loads(Path(f"{count}.info").read_text())
    assert told["spec"]["cluster"]["server"] == configurations.server.url
    assert client.metrics.plugin_calls.values["0", "no_error"] == 2


@pytest_twisted.ensureDeferred
async def test_failing_exec_plugin_is_named(configurations: Configurations) -> None:
    """The error names the failing plugin; nothing is sent."""
    plugin = {"apiVersion": "client.authentication.k8s.io/v1", "command": "false", "interactiveMode": "Never"}
    client = configurations.client({"exec": plugin})
    with pytest.raises(ApiError, match="executable false failed with exit code 1"):
        await names(client)
    assert not client.metrics.results.values


@pytest_twisted.ensureDeferred
async def test_configured_impersonation(configurations: Configurations) -> None:
    """Requests are made as the configured user."""
    user = {
        **configurations.admin["users"][0]["user"],
        "as": "jane",
        "as-groups": ["dev"],
        "as-user-extra": {"a/b": ["x"]},
    }
    client = configurations.client(user)
    with pytest.raises(ApiError, match='User "jane" cannot list resource "configmaps"'):
        await names(client)


@pytest_twisted.ensureDeferred
async def test_tls_server_name_is_checked(configurations: Configurations) -> None:
    """The server's certificate is verified for the configured name."""
    assert await names(configurations.client(**{"tls-server-name": "kubernetes.default.svc"}))
    with pytest.raises(ApiError, match="cannot reach"):
        await names(configurations.client(**{"tls-server-name": "elsewhere.example"}))


@pytest_twisted.ensureDeferred
async def test_insecure_skip_tls_verify(configurations: Configurations) -> None:
    """With insecure-skip-tls-verify no CA is needed."""
    del configurations.admin["clusters"][0]["cluster"]["certificate-authority-data"]
    with pytest.raises(ApiError, match="cannot reach"):
        await names(configurations.client())
    assert await names(configurations.client(**{"insecure-skip-tls-verify": True}))


class Proxy(Protocol):
    """Connects to any requested address, or responds with `Proxy.refusal`."""

    #: There is one while data comes.
    transport: Any
    refusal = b""
    asked: list[bytes] = []

    def connectionMade(self) -> None:
        self.head = b""
        self.other: Any = None

    def dataReceived(self, data: bytes) -> None:
        if self.other is not None:
            self.other.transport.write(data)
            return
        self.head += data
        if not self.head.endswith(b"\r\n\r\n"):
            return
        Proxy.asked.append(self.head)
        if Proxy.refusal:
            self.transport.write(Proxy.refusal)
            self.transport.loseConnection()
            return
        host, port = self.head.split()[1].decode().rsplit(":", 1)
        connecting = connectProtocol(TCP4ClientEndpoint(reactor, host, int(port)), Relay(self))
        connecting.addCallback(self._connected)

    def _connected(self, other: Any) -> None:
        self.other = other
        self.transport.write(b"HTTP/1.1 200 Connection established\r\n\r\n")

    def connectionLost(self, reason: Any = None) -> None:
        if self.other is not None:
            self.other.transport.loseConnection()


class Relay(Protocol):
    def __init__(self, proxy: Proxy) -> None:
        self.proxy = proxy

    def dataReceived(self, data: bytes) -> None:
        self.proxy.transport.write(data)

    def connectionLost(self, reason: Any = None) -> None:
        self.proxy.transport.loseConnection()


@pytest_twisted.async_yield_fixture
async def proxy() -> AsyncIterator[int]:
    Proxy.refusal, Proxy.asked = b"", []
    port = await TCP4ServerEndpoint(reactor, 0, interface="127.0.0.1").listen(Factory.forProtocol(Proxy))
    yield port.getHost().port
    await port.stopListening()


@pytest_twisted.ensureDeferred
async def test_requests_go_through_the_proxy(configurations: Configurations, proxy: int) -> None:
    """Requests use a tunnel through the proxy, with the credentials of its URL."""
    client = configurations.client(**{"proxy-url": f"http://me:pass%21@127.0.0.1:{proxy}"})
    assert await names(client)
    head = Proxy.asked[0].decode()
    assert head.startswith(f"CONNECT 127.0.0.1:{configurations.server.port} HTTP/1.1\r\n")
    assert "Proxy-Authorization: Basic bWU6cGFzcyE=\r\n" in head


@pytest_twisted.ensureDeferred
async def test_refusing_proxy_is_reported(configurations: Configurations, proxy: int) -> None:
    """The error of a refused tunnel has the proxy's response."""
    Proxy.refusal = b"HTTP/1.1 403 Forbidden\r\n\r\n"
    client = configurations.client(**{"proxy-url": f"http://127.0.0.1:{proxy}"})
    with pytest.raises(
        ApiError,
        match=r"cannot reach .*proxy http://127.0.0.1:[0-9]+: responded to CONNECT with 'HTTP/1.1 403 Forbidden'",
    ):
        await names(client)


@pytest_twisted.ensureDeferred
async def test_renewed_client_certificate_is_used(
    configurations: Configurations, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client certificate that is replaced in its file is used from then on."""
    monkeypatch.setattr("orchd.client.transport._FILES_AGE", 0.0)
    pki = configurations.server.data / "pki"
    crt, key = configurations.folder / "crt", configurations.folder / "key"
    crt.write_bytes((pki / "admin.crt").read_bytes())
    key.write_bytes((pki / "admin.key").read_bytes())
    client = configurations.client({"client-certificate": str(crt), "client-key": str(key)})
    assert await names(client)
    # Signed by another authority than the server's.
    config = clientconfig.load(configurations.server.config_file)
    other = self_signed("other", names=(), now=datetime.now(UTC))
    crt.write_bytes(chain_pem(other.certificate))
    key.write_bytes(private_pem(other.key))
    with pytest.raises(ApiError):
        await names(client)
    crt.write_bytes(config.certificate)
    # A pair that does not match is ignored: the previous one stays in use.
    with pytest.raises(ApiError):
        await names(client)
    key.write_bytes(config.key)
    assert await names(client)
