"""Logs, streams and proxied requests, with a double for nodes, pods and services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.server.authn.interfaces import Credentials
from orchd.server.http.request_body import NoBody
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.query import EMPTY
from orchd.server.pipeline.verbs.subresources import locations
from orchd.server.pipeline.verbs.subresources.addresses import AddressNotAllowedError, global_unicast
from orchd.server.pipeline.verbs.subresources.foreign import NoAdmission
from orchd.server.pipeline.verbs.subresources.locations import Location
from orchd.server.pipeline.verbs.subresources.proxy import Proxies, rest_of
from orchd.server.pipeline.verbs.subresources.upgrade import UpgradeError, offered_protocols, wants_upgrade
from orchd.server.pipeline.verbs.subresources.upstream import Reply, UnreachableError
from orchd.testing.doubles.server import InProcessServer, make_server, run

CORE = "/api/v1/namespaces/a"
MERGE = {"content-type": "application/merge-patch+json"}


class Body:
    """A stream with one piece."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def start(self, sink: Any) -> None:
        sink.write(self.data)
        sink.finish()

    def stop(self) -> None:
        """There is nothing to release."""


class Upstream:
    """Responds for all nodes, pods and services, and records requests; `wrong` makes all unreachable."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.joined: list[str] = []
        self.code = 200
        self.wrong = ""
        self.clients: list[Request] = []
        self.not_allowed = False
        self.redirect = ""

    async def fetch(
        self, method: str, location: Location, target: str, headers: Any, client: Any = None, *, body: Any = None
    ) -> Reply:
        if self.not_allowed:
            raise AddressNotAllowedError
        if self.wrong:
            raise UnreachableError(self.wrong)
        self.clients.append(client)
        sent = b"" if body is None else await body.piece()
        self.asked.append((method, f"{location.origin}{target}", dict(headers), sent))
        named = [("Content-Type", "text/x"), ("X-Own", "1"), ("Transfer-Encoding", "chunked")]
        if self.redirect:
            named.append(("Location", self.redirect))
        return Reply(code=self.code, headers=named, stream=Body(b"said"))

    async def hand_through(self, request: Request, location: Location, target: str, headers: Any = None) -> Response:
        if self.not_allowed:
            raise AddressNotAllowedError
        if self.wrong:
            raise UpgradeError(self.wrong)
        self.joined.append(f"{location.origin}{target}")
        return Response(code=101)


@pytest.fixture
def others() -> Upstream:
    return Upstream()


@pytest.fixture
def server(tmp_path: Path, others: Upstream) -> Iterator[InProcessServer]:
    server = make_server(tmp_path, upstream=others)

    def post(path: str, body: Any) -> None:
        assert run(server.request("POST", path, body=body)).code == 201

    post("/api/v1/namespaces", {"metadata": {"name": "a"}})
    post(f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}})
    post("/api/v1/nodes", {"metadata": {"name": "n"}})
    endpoint = server.dialect("{short}letEndpoint")
    address = [{"type": "InternalIP", "address": "192.0.2.7"}]
    status = {"status": {"addresses": address, "daemonEndpoints": {endpoint: {"Port": 10999}}}}
    assert run(server.request("PATCH", "/api/v1/nodes/n/status", body=status, headers=MERGE)).code == 200
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 8080}]}]
    post(f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": containers, "nodeName": "n"}})
    ips = {"status": {"podIP": "198.51.100.3", "podIPs": [{"ip": "198.51.100.3"}]}}
    assert run(server.request("PATCH", f"{CORE}/pods/p/status", body=ips, headers=MERGE)).code == 200
    yield server
    server.stop()


# -- logs


def test_log_is_read_from_the_pods_node(call: Any, others: Upstream) -> None:
    """The kubelet is requested for the container's log with the parameters that it supports."""
    response = call("GET", f"{CORE}/pods/p/log?tailLines=5&follow=true&pretty=true")
    assert (response.code, response.response.content_type) == (200, "text/plain")
    assert others.asked[0][:2] == ("GET", "https://192.0.2.7:10999/containerLogs/a/p/c?follow=true&tailLines=5")


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (400, "BadRequest"), (404, "NotFound")])
def test_agent_errors_are_passed_on(call: Any, others: Upstream, code: int, reason: str) -> None:
    """An error of the kubelet is returned with the same code."""
    others.code = code
    response = call("GET", f"{CORE}/pods/p/log")
    assert (response.code, response.json["reason"]) == (code, reason)


def test_unreachable_agent_is_500(call: Any, others: Upstream) -> None:
    """The 500 has the URL and the reason."""
    others.wrong = "connection refused"
    response = call("GET", f"{CORE}/pods/p/log")
    assert response.code == 500
    assert response.json["message"].endswith('/containerLogs/a/p/c": connection refused')


# -- exec, attach, portforward


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("exec?command=ls&command=-l&stdout=1", "exec/a/p/c?output=1&command=ls&command=-l"),
        ("attach?stdin=true&tty=false", "attach/a/p/c?input=1"),
        ("portforward?ports=80,81", "portForward/a/p?port=80&port=81"),
    ],
)
def test_exec_is_connected_to_the_agent(call: Any, others: Upstream, path: str, url: str) -> None:
    """The client's connection is joined with one to the kubelet, with the kubelet's names of the options."""
    headers = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    call("POST", f"{CORE}/pods/p/{path}", headers=headers, hijack=lambda: None)
    assert others.joined == [f"https://192.0.2.7:10999/{url}"]


def test_exec_without_an_upgrade_is_refused(call: Any) -> None:
    """A request without an upgrade is rejected."""
    response = call("POST", f"{CORE}/pods/p/exec?command=ls")
    assert (response.code, response.json["message"]) == (400, "Upgrade request required")


# -- proxies


def test_pod_proxy_forwards_the_request(call: Any, others: Upstream) -> None:
    """Path, query, method and body are forwarded; connection headers and credentials for this server are not."""
    headers = {"authorization": "Bearer secret", "x-mine": "2"}
    response = call("POST", f"{CORE}/pods/p/proxy/x/%41?q=1", b"body", headers=headers)
    method, url, sent, body = others.asked[0]
    assert (method, url, body) == ("POST", "http://198.51.100.3:8080/x/%41?q=1", b"body")
    assert sent["x-mine"] == "2"
    assert "authorization" not in sent
    assert response.response.content_type == "text/x"
    assert response.headers["X-Own"] == "1"
    assert "Transfer-Encoding" not in response.headers


@pytest.mark.parametrize(
    ("name", "url"), [("p:99", "http://198.51.100.3:99/"), ("https:p:98", "https://198.51.100.3:98/")]
)
def test_proxy_names_with_scheme_and_port(call: Any, others: Upstream, name: str, url: str) -> None:
    """The name may include the scheme and the port."""
    call("GET", f"{CORE}/pods/{name}/proxy/")
    assert others.asked[0][1] == url


WRONG_PORTS = [
    "80@192.0.2.66", "80%40192.0.2.66", "0", "65536", "99999999", "9" * 5000, "80%20", "%2080", "0x50", "8_0", "+80", "-80", "\u0668\u0660",
    "80%23", "80%3F", "80%5C", "http", "%0A80",
]  # fmt: skip


@pytest.mark.parametrize("headers", [{}, {"connection": "Upgrade", "upgrade": "X/1"}])
@pytest.mark.parametrize("port", WRONG_PORTS)
def test_ports_that_are_no_numbers_are_400(call: Any, others: Upstream, port: str, headers: Any) -> None:
    """Nothing is connected to unless the port is a number from 1 to 65535."""
    for path in (
        f"{CORE}/pods/p:{port}/proxy/x",
        "/api/v1/nodes/n:" + f"{port}/proxy/x",
        f"{CORE}/pods/https:p:{port}/proxy/x",
    ):
        assert call("GET", path, headers=headers, hijack=lambda: None).code == 400
    assert not others.asked and not others.joined


def test_only_agents_get_the_certificate_for_agents() -> None:
    """Another port of a node is not reached through the transport that presents a certificate to kubelets."""
    node = {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}]}}
    agents, pods = Upstream(), Upstream()
    entry = SimpleNamespace(json=orjson.dumps(node))

    async def get(*_: Any) -> Any:
        return entry

    resource = SimpleNamespace(resource=lambda *_: object())
    context: Any = SimpleNamespace(
        dialect=ORCH, catalog=lambda: resource, registry=SimpleNamespace(get=get), write_context=lambda *_: None
    )
    foreign: Any = SimpleNamespace(admission=NoAdmission())
    proxy: Any = Proxies(foreign, pods, Random(0), agents=agents).nodes["get"]
    for name in ("n", "n:10250", "n:10251"):
        target: Any = SimpleNamespace(name=name, namespace="")
        request = Request(
            method="GET", path="/", raw_path=f"/api/v1/nodes/{name}/proxy/x", query=EMPTY, headers={}, body=NoBody(),
            credentials=Credentials(headers={}), received=0.0,
        )  # fmt: skip
        run(proxy(context, request, target))
    assert [url for _, url, _, _ in agents.asked] == ["https://1.2.3.4:10250/x"] * 2
    assert [url for _, url, _, _ in pods.asked] == ["http://1.2.3.4:10251/x"]


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD"])
def test_proxy_forwards_any_method(call: Any, others: Upstream, method: str) -> None:
    """The backend gets any method; other endpoints reject unknown ones."""
    call(method, f"{CORE}/pods/p/proxy/x")
    assert others.asked[-1][0] == method
    assert call("OPTIONS", f"{CORE}/pods/p/status").code == 405


def test_bare_proxy_path_redirects(call: Any) -> None:
    """The redirect adds a slash, so that relative links lead through the proxy."""
    response = call("GET", f"{CORE}/pods/p/proxy?a=b")
    assert (response.code, response.headers["Location"]) == (301, f"{CORE}/pods/p/proxy/?a=b")


@pytest.mark.parametrize(
    ("redirect", "expected"),
    [
        ("/login?a=b#c", f"{CORE}/pods/p/proxy/login?a=b#c"),
        ("http://198.51.100.3:8080/login/", f"{CORE}/pods/p/proxy/login/"),
        (f"{CORE}/pods/p/proxy/login", f"{CORE}/pods/p/proxy/login"),
        ("login", "login"),
        ("https://elsewhere/login", "https://elsewhere/login"),
        ("//elsewhere/login", "//elsewhere/login"),
        ("http://[", "http://["),
    ],
)
def test_redirects_of_proxied_servers_lead_through_the_proxy(
    call: Any, others: Upstream, redirect: str, expected: str
) -> None:
    """A redirect to a path of the proxied server is one below the proxy's path, which that server is told."""
    others.code, others.redirect = 302, redirect
    response = call("GET", f"{CORE}/pods/p/proxy/x/y", headers={"x-forwarded-uri": "/theirs"})
    assert (response.code, response.headers["Location"]) == (302, expected)
    sent = others.asked[-1][2]
    assert sent["X-Forwarded-Uri"] == f"{CORE}/pods/p/proxy/x/y" and "x-forwarded-uri" not in sent


def test_node_proxy_uses_the_agent_by_default(call: Any, others: Upstream) -> None:
    """Without a port the node's kubelet is requested, over TLS."""
    call("GET", "/api/v1/nodes/n/proxy/healthz")
    call("GET", "/api/v1/nodes/n:80/proxy/")
    assert [url for _, url, _, _ in others.asked] == ["https://192.0.2.7:10999/healthz", "http://192.0.2.7:80/"]


def test_service_proxy_uses_an_endpoint(call: Any, others: Upstream) -> None:
    """The request goes to an endpoint of the service, and its pod."""
    ports = [{"name": "web", "port": 80}]
    assert call("POST", f"{CORE}/services", {"metadata": {"name": "s"}, "spec": {"ports": ports}}).code == 201
    assert call("GET", f"{CORE}/services/s:web/proxy/").code == 404
    ref = {"kind": "Pod", "namespace": "a", "name": "p"}
    good, bad = {"ip": "198.51.100.3", "targetRef": ref}, {"ip": "198.51.100.4", "targetRef": ref}
    subsets = [{"addresses": [bad, good], "ports": [{"name": "web", "port": 8080}]}]
    assert call("POST", f"{CORE}/endpoints", {"metadata": {"name": "s"}, "subsets": subsets}).code == 201
    for name in ("s:80", "s:web"):
        call("GET", f"{CORE}/services/{name}/proxy/x")
    assert {url for _, url, _, _ in others.asked} == {"http://198.51.100.3:8080/x"}
    assert call("GET", f"{CORE}/services/s:81/proxy/").code == 503


def test_unreachable_service_is_503(call: Any, others: Upstream) -> None:
    """The 503 has the reason."""
    others.wrong = "connection refused"
    response = call("GET", f"{CORE}/pods/p/proxy/")
    assert (response.code, response.json["message"]) == (503, "error trying to reach service: connection refused")


@pytest.mark.parametrize("address", ["", "127.0.0.1", "169.254.1.1", "::1", "0.0.0.0", "224.0.0.1", "name"])
def test_proxy_refuses_local_addresses(address: str) -> None:
    """Loopback and link-local addresses are refused, so that clients cannot use the server's network position."""
    with pytest.raises(ApiError):
        locations.require_proxyable(address)


@pytest.mark.parametrize("name", ["", "a:b:c:d", "ftp:a:1", ":80"])
def test_invalid_proxy_names_are_400(name: str) -> None:
    """Names other than name, name:port or scheme:name:port are 400."""
    with pytest.raises(ApiError):
        locations.split(name, "pod")


def test_first_preferred_address_is_used() -> None:
    """Addresses are chosen in the order of preference, not of the node's list."""
    node = {
        "status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}, {"type": "Hostname", "address": "h"}]}
    }
    assert locations.node_location(ORCH, node).origin == "https://h:10250"
    assert locations.node_location(ORCH, node, ("InternalIP",)).origin == "https://1.2.3.4:10250"


def test_service_proxy_rotates_endpoints() -> None:
    """Candidates start at a random endpoint and include all of them."""
    addresses = [{"ip": str(i)} for i in range(4)]
    endpoints = {"subsets": [{"addresses": addresses, "ports": [{"port": 1}]}]}
    starts = set()
    for seed in range(20):
        found = [a["ip"] for a, _ in locations.service_candidates(endpoints, "", Random(seed))]
        assert sorted(found) == ["0", "1", "2", "3"]
        starts.add(found[0])
    assert len(starts) > 1


@pytest.mark.parametrize(
    ("path", "depth", "rest"),
    [
        ("/api/v1/namespaces/proxy/pods/proxy/proxy/a/b", 7, "/a/b"),
        ("/api/v1/nodes/n/proxy/", 5, "/"),
        ("/api/v1/nodes/n/proxy", 5, ""),
    ],
)
def test_proxied_path_is_found_by_position(path: str, depth: int, rest: str) -> None:
    """The path after the proxy is found by position, whatever the names contain."""
    assert rest_of(path, depth) == rest


# -- upgrades and addresses


UPGRADE = {"connection": "Upgrade", "upgrade": "X/1"}


@pytest.mark.parametrize(
    "path", [f"{CORE}/pods/p/exec?command=ls", f"{CORE}/pods/p:80/proxy/x", "/api/v1/nodes/n/proxy/x"]
)
def test_backend_without_upgrade_is_500(call: Any, others: Upstream, path: str) -> None:
    """The 500 has a message and no reason."""
    others.wrong = "invalid upgrade response: status code 200"
    response = call("GET", path, headers=UPGRADE, hijack=lambda: None)
    assert (response.code, response.json["message"]) == (500, others.wrong) and "reason" not in response.json


@pytest.mark.parametrize("headers", [{}, UPGRADE])
def test_forbidden_node_addresses_are_checked_on_connect(call: Any, others: Upstream, headers: Any) -> None:
    """A node's address is checked when it is connected to, since it may be a name."""
    others.not_allowed = True
    response = call("GET", "/api/v1/nodes/n/proxy/x", headers=headers, hijack=lambda: None)
    assert (response.code, response.json["message"]) == (400, "address not allowed")


def asking(**headers: str) -> Request:
    named = {name: (value,) for name, value in headers.items()}
    return Request(
        method="GET", path="/", raw_path="/", query=EMPTY, headers=named, body=NoBody(),
        credentials=Credentials(headers=named), received=0.0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("offered", "kept"),
    [
        ("websocket", ["websocket"]),
        ("SPDY/3.1, X/1", ["SPDY/3.1", "X/1"]),
        ("h2c", []),
        ("H2C, HTTP/2.0, TLS/1.2, h3", []),
        ("h2c, websocket", ["websocket"]),
        ("a b, c:d", []),
    ],
)
def test_http_protocols_cannot_be_upgraded_to(offered: str, kept: list[str]) -> None:
    """With such a protocol a client could send requests to a backend as the server."""
    request = asking(connection="keep-alive, Upgrade", upgrade=offered)
    assert (offered_protocols(request), wants_upgrade(request)) == (kept, bool(kept))


def test_upgrade_needs_the_connection_header() -> None:
    """An upgrade requires the Connection header; a backend may reject one with its own response."""
    assert not wants_upgrade(asking(upgrade="websocket"))
    assert wants_upgrade(asking(connection="upgrade"))


LOOPBACK = [
    "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "255.255.255.255", "169.254.169.254", "224.0.0.1", "239.1.1.1",
    "::", "::1", "fe80::1", "fe80::1%eth0", "ff02::1", "2600::1%eth0", "10.0.0.1%1",
    "::ffff:127.0.0.1", "::ffff:7f00:1", "0:0:0:0:0:ffff:7f00:0001", "::FFFF:169.254.169.254", "::127.0.0.1", "::a9fe:a9fe",
    "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::127.0.0.1", "64:ff9b:1:7f00:0:100::",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "2001:0:7f00:1::", "2001:0:102:304:0:0:80ff:fffe",
    "2600::5efe:127.0.0.1", "2600::200:5efe:127.0.0.1", "fe80::5efe:10.0.0.1",
    "127.1", "0x7f.0.0.1", "2130706433", "127.000.0.1", "localhost", "", " 10.0.0.1", "[::1]", "10.0.0.1:80",
]  # fmt: skip
GLOBAL = [
    "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "8.8.8.8", "198.51.100.3", "2600::1", "fd00::1", "::ffff:10.0.0.1",
    "64:ff9b::8.8.8.8", "2002:808:808::1",
]  # fmt: skip


@pytest.mark.parametrize("text", LOOPBACK)
def test_forbidden_addresses(text: str) -> None:
    """However it is spelled or embedded, an address must be a global unicast one."""
    assert not global_unicast(text)
    with pytest.raises(ApiError, match="address not allowed"):
        locations.require_proxyable(text)


@pytest.mark.parametrize("text", GLOBAL)
def test_allowed_addresses(text: str) -> None:
    """Private networks are allowed, as clusters use them."""
    assert global_unicast(text) and locations.require_proxyable(text) == text
