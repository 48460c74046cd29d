"""Outgoing connections through proxies of an EgressSelectorConfiguration, on real sockets."""

from __future__ import annotations

import base64
import json
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.endpoints import TCP4ServerEndpoint
from twisted.internet.protocol import Factory, Protocol

from orchd.dialect import KUBERNETES
from orchd.server.outbound.egress import Egress, EgressSelector, HttpConnectProxy
from orchd.server.pipeline.verbs.subresources.addresses import AddressNotAllowedError, any_address
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.upstream import NodePolicy, UnreachableError, Upstream, UpstreamLimits
from orchd.testing.processes.daemon import PATIENCE, DaemonProcess, exchange
from orchd.testing.processes.etcd import Etcd, find_etcd
from orchd.testing.processes.ports import free_port
from orchd.txkit.proxy_tunnel import LONGEST_RESPONSE, ProxyError
from tests.waiting import until
from tests.wire.connect_proxy import ConnectProxy
from tests.wire.identity_doubles import Outside, Pki

CLOCK: Any = reactor
HOOKS = KUBERNETES("/apis/admissionregistration.{abbr}.io/v1/validatingwebhookconfigurations")
REVIEWS = KUBERNETES("/apis/authentication.{abbr}.io/v1/tokenreviews")
ACCESS = KUBERNETES("/apis/authorization.{abbr}.io/v1/subjectaccessreviews")
SERVICES = KUBERNETES("/apis/apiregistration.{abbr}.io/v1/apiservices")
MERGE = "application/merge-patch+json"
METRIC = "apiserver_egress_dialer_dial"


def server_tls(pki: Pki) -> ssl.SSLContext:
    """TLS of a proxy that requires a client certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*pki.server)
    context.load_verify_locations(pki.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    return context


class Answering(Protocol):
    """Answers each request with 204."""

    def dataReceived(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(b"HTTP/1.1 204 No Content\r\n\r\n")


async def fetch(proxy: HttpConnectProxy, port: int) -> tuple[EgressSelector, int]:
    """A request through a proxy; returns the dialers and the status."""
    selector = EgressSelector(CLOCK, {Egress.CLUSTER: proxy})
    upstream = Upstream(
        CLOCK,
        NodePolicy(),
        addresses=any_address,
        dial=selector.dial(Egress.CLUSTER),
        limits=UpstreamLimits(connect_seconds=PATIENCE),
    )
    reply = await upstream.fetch("GET", Location("http", "127.0.0.1", port), "/", ())
    reply.stream.stop()
    return selector, reply.code


@pytest_twisted.ensureDeferred
async def test_transports(tmp_path: Path) -> None:
    """The proxy is asked for the address over TCP and over a Unix socket, and durations are measured by transport."""
    listening = await TCP4ServerEndpoint(CLOCK, 0, interface="127.0.0.1").listen(Factory.forProtocol(Answering))
    port = listening.getHost().port
    path = tmp_path / "socket"
    with ConnectProxy() as tcp, ConnectProxy(path=path) as uds:
        for given, double, transport in (
            (HttpConnectProxy(url=f"http://127.0.0.1:{tcp.port}"), tcp, "tcp"),
            (HttpConnectProxy(socket=str(path)), uds, "uds"),
        ):
            selector, code = await fetch(given, port)
            assert (code, double.targets) == (204, [f"127.0.0.1:{port}"])
            assert list(selector.metrics.seconds.values) == [("http_connect", transport)]
            assert not selector.metrics.failures.values
            assert selector.dial(Egress.ETCD) is None
    await listening.stopListening()


@pytest.mark.parametrize(("answer", "why"), [
    (b"HTTP/1.1 403 Forbidden\r\n\r\n", "responded to CONNECT with 'HTTP/1.1 403 Forbidden'"),
    (b"HTTP/1.1 200 OK\r\n\r\nmore", "sent 4 bytes after its response to CONNECT"),
    (b"HTTP/1.1 200 OK\r\nA: " + b"a" * LONGEST_RESPONSE, f"its response to CONNECT is longer than {LONGEST_RESPONSE} bytes"),
    (b"SSH-2.0\r\n\r\n", "responded to CONNECT with 'SSH-2.0'"),
    (b"HTTP/1.1 20", "the connection was closed before a response to CONNECT"),
])  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_proxies_that_do_not_connect(answer: bytes, why: str) -> None:
    """The error names the proxy and the reason; the failure is counted for the proxy's stage."""
    with ConnectProxy(answer=answer) as double:
        url = f"http://127.0.0.1:{double.port}"
        selector = EgressSelector(CLOCK, {Egress.CLUSTER: HttpConnectProxy(url=url)})
        upstream = Upstream(
            CLOCK,
            NodePolicy(),
            addresses=any_address,
            dial=selector.dial(Egress.CLUSTER),
            limits=UpstreamLimits(connect_seconds=PATIENCE),
        )
        with pytest.raises(UnreachableError) as caught:
            await upstream.fetch("GET", Location("http", "10.1.2.3", 80), "/", ())
    assert str(caught.value) == f"proxy {url}: {why}"
    assert dict(selector.metrics.failures.values) == {("http_connect", "tcp", "proxy"): 1}


@pytest_twisted.ensureDeferred
async def test_proxies_that_are_not_reached(tmp_path: Path) -> None:
    """A missing listener or socket is a failure of the stage connect. Forbidden addresses are not requested."""
    for given in (
        HttpConnectProxy(url=f"http://127.0.0.1:{free_port()}"),
        HttpConnectProxy(socket=str(tmp_path / "none")),
    ):
        selector = EgressSelector(CLOCK, {Egress.CLUSTER: given})
        dial = selector.dial(Egress.CLUSTER)
        assert dial is not None
        with pytest.raises(ProxyError, match=f"^proxy {given.name}: "):
            await dial("host", 443, PATIENCE).connect(Factory.forProtocol(Protocol))
        assert dict(selector.metrics.failures.values) == {("http_connect", given.transport, "connect"): 1}
        with pytest.raises(ProxyError, match="not the name of a host"):
            await dial("h\u00f6st", 443, PATIENCE).connect(Factory.forProtocol(Protocol))
        with pytest.raises(AddressNotAllowedError):
            await Upstream(CLOCK, NodePolicy(), dial=dial).fetch("GET", Location("http", "127.0.0.1"), "/", ())


class Hook(Outside):
    """Allows all admission reviews, and reviews tokens."""

    def reply(self, document: Any) -> Any:
        if "request" in document:
            return {**document, "response": {"uid": document["request"]["uid"], "allowed": True}}
        return super().reply(document)


class Place:
    """A server behind three proxies: TLS for the control plane, a Unix socket for the cluster, TCP for etcd."""

    def __init__(self, folder: Path, etcd: Etcd) -> None:
        self.pki = Pki(folder, "outside")
        self.hook = Hook(self.pki, free_port())
        self.beside = ConnectProxy(tls=server_tls(self.pki))
        self.cluster = ConnectProxy(path=folder / "cluster.socket")
        self.etcd = ConnectProxy()
        certificate, key = self.pki.pair("egress")
        self.file = folder / "egress.json"
        tls = {"caBundle": str(self.pki.ca), "clientCert": str(certificate), "clientKey": str(key)}
        transports = {
            "controlplane": {"tcp": {"url": f"https://127.0.0.1:{self.beside.port}", "tlsConfig": tls}},
            "cluster": {"uds": {"udsName": str(folder / "cluster.socket")}},
            "etcd": {"tcp": {"url": f"http://127.0.0.1:{self.etcd.port}"}},
        }
        self.file.write_text(json.dumps({
            "apiVersion": KUBERNETES("apiserver.{abbr}.io/v1beta1"), "kind": "EgressSelectorConfiguration",
            "egressSelections": [
                {"name": name, "connection": {"proxyProtocol": "HTTPConnect", "transport": transport}}
                for name, transport in transports.items()
            ],
        }))  # fmt: skip
        self.server = DaemonProcess(
            folder / "server", "--controllers=-*", "--scheduler=false", "--disable-admission-plugins=ServiceAccount", f"--egress-selector-config-file={self.file}",
            f"--etcd-servers={etcd.url}", f"--etcd-prefix={folder}",
            f"--authentication-token-webhook-config-file={self.hook.configuration('authn.conf', '/authn')}",
            f"--authorization-webhook-config-file={self.hook.configuration('authz.conf', '/authz')}", "--authorization-mode=RBAC,Webhook",
            dialect=KUBERNETES,
        )  # fmt: skip

    def __enter__(self) -> Place:
        self.hook.start()
        for each in (self.beside, self.cluster, self.etcd, self.server):
            each.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        for each in (self.server, self.etcd, self.cluster, self.beside):
            each.__exit__(None, None, None)
        self.hook.stop()

    def register_webhook(self, name: str, where: dict[str, Any]) -> None:
        """Register a webhook for ConfigMaps of the namespace default that are labelled with `name`."""
        rule = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}
        bundle = base64.b64encode(self.pki.ca.read_bytes()).decode()
        webhook = {
            "name": f"{name}.example.org", "rules": [rule], "clientConfig": {**where, "caBundle": bundle}, "sideEffects": "None",
            "objectSelector": {"matchLabels": {name: ""}}, "admissionReviewVersions": ["v1"], "failurePolicy": "Ignore",
        }  # fmt: skip
        assert self.server.request("POST", HOOKS, {"metadata": {"name": name}, "webhooks": [webhook]})[0] == 201

    def create(self, label: str) -> bool:
        """Whether the ConfigMap was created."""
        body = {"metadata": {"generateName": "a-", "labels": {label: ""}}}
        return bool(self.server.request("POST", "/api/v1/namespaces/default/configmaps", body)[0] == 201)

    @property
    def metrics(self) -> str:
        connection = self.server.connect()
        shown: str = exchange(connection, "GET", "/metrics")[1]
        connection.close()
        return shown


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    program = find_etcd()
    if program is None:
        pytest.skip("no etcd on the path (Debian: etcd-server)")
    etcd = Etcd(program, tmp_path / "etcd")
    etcd.start()
    try:
        with Place(tmp_path, etcd) as place:
            yield place
    finally:
        etcd.kill()


def test_each_caller_takes_its_proxy(place: Place) -> None:
    """Each destination uses its proxy: stores, reviews and webhooks at URLs, webhooks at Services, aggregated servers,
    nodes, pods and services."""
    server, target = place.server, f"127.0.0.1:{place.hook.port}"
    assert set(place.etcd.targets)
    assert not place.beside.targets
    # Reviews of a token, and of its user's permission.
    assert server.request("POST", REVIEWS, {"spec": {"token": "outside-ann"}})[1]["status"]["authenticated"]
    assert place.beside.targets == [target]
    access = {"user": "welcome", "resourceAttributes": {"verb": "get", "resource": "pods"}}
    assert server.request("POST", ACCESS, {"spec": access})[1]["status"]["allowed"]
    assert [path for path, _, _ in place.hook.calls] == ["/authn", "/authz"]
    assert place.beside.targets == [target] * len(place.beside.targets)
    assert not place.cluster.targets

    place.register_webhook("url", {"url": f"https://{target}/url"})
    until(lambda: place.create("url") and any(path == "/url" for path, _, _ in place.hook.calls))
    assert not place.cluster.targets

    spec = {"clusterIP": "10.0.0.77", "ports": [{"port": 443}]}
    assert (
        server.request("POST", "/api/v1/namespaces/default/services", {"metadata": {"name": "s"}, "spec": spec})[0]
        == 201
    )
    place.register_webhook("service", {"service": {"namespace": "default", "name": "s"}})
    until(lambda: place.create("service") and "10.0.0.77:443" in place.cluster.targets)

    group = {
        "group": "other.example.org",
        "version": "v1",
        "groupPriorityMinimum": 1,
        "versionPriority": 1,
        "insecureSkipTLSVerify": True,
    }
    api = {
        "metadata": {"name": "v1.other.example.org"},
        "spec": {**group, "service": {"namespace": "default", "name": "s", "port": 443}},
    }
    # A server without endpoints is not probed.
    subsets = [{"addresses": [{"ip": "10.1.1.1"}], "ports": [{"port": 443}]}]
    body = {"metadata": {"name": "s"}, "subsets": subsets}
    assert server.request("POST", "/api/v1/namespaces/default/endpoints", body)[0] == 201
    before = place.cluster.targets.count("10.0.0.77:443")
    assert server.request("POST", SERVICES, api)[0] == 201
    until(lambda: place.cluster.targets.count("10.0.0.77:443") > before)

    address = {"addresses": [{"type": "InternalIP", "address": "10.9.8.7"}]}
    assert server.request("POST", "/api/v1/nodes", {"metadata": {"name": "n"}, "status": address})[0] == 201
    pods = "/api/v1/namespaces/default/pods"
    pod = {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
        "status": {"podIP": "10.1.1.1"},
    }
    assert server.request("POST", pods, pod)[0] == 201
    assert server.request("PATCH", f"{pods}/p/status", {"status": pod["status"]}, content_type=MERGE)[0] == 200
    assert server.request("GET", "/api/v1/namespaces/default/services/s:/proxy/")[0] == 503
    for path, to in (
        ("nodes/https:n:10250", "10.9.8.7:10250"),
        ("namespaces/default/pods/https:p:8443", "10.1.1.1:8443"),
    ):
        response = server.request("GET", f"/api/v1/{path}/proxy/")
        assert response[0] == 503, response[1]["message"]
        assert to in place.cluster.targets
    assert f'{METRIC}_duration_seconds_count{{protocol="http_connect",transport="tcp"}}' in place.metrics
    assert f'{METRIC}_failure_count{{protocol="http_connect",stage="proxy",transport="uds"}}' in place.metrics


def test_invalid_files_fail_the_start(tmp_path: Path) -> None:
    """The error names the flag, the file and the field."""
    pki = Pki(tmp_path, "p")
    certificate, key = pki.pair("egress")
    _, other = pki.pair("other")
    file = tmp_path / "egress.json"
    for tls, why in (
        (
            {"clientCert": str(certificate), "clientKey": str(other)},
            f"clientCert: {certificate} and {other} are not a certificate and its key",
        ),
        (
            {"clientCert": str(certificate), "clientKey": str(key), "caBundle": str(key)},
            f"caBundle: {key}: no certificate in it",
        ),
        ({"clientCert": str(certificate), "clientKey": "/none"}, "clientKey: /none: No such file or directory"),
    ):
        connection = {"proxyProtocol": "HTTPConnect", "transport": {"tcp": {"url": "https://p", "tlsConfig": tls}}}
        file.write_text(json.dumps({
            "apiVersion": KUBERNETES("apiserver.{abbr}.io/v1beta1"), "kind": "EgressSelectorConfiguration",
            "egressSelections": [{"name": "cluster", "connection": connection}],
        }))  # fmt: skip
        server = DaemonProcess(tmp_path / "server", f"--egress-selector-config-file={file}", dialect=KUBERNETES)
        server.launch()
        until(lambda server=server: server.status is not None)  # type: ignore[misc]
        field = "egressSelections[0].connection.transport.tcp.tlsConfig"
        assert f"--egress-selector-config-file: {file}: {field}.{why}" in server.log
