"""Logs, streams and proxied requests, with a double in place of nodes, pods and services."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from orchd.dialect import ORCH
from orchd.errors import ApiError
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.verbs.subresources import locations
from orchd.server.pipeline.verbs.subresources.proxy import rest_of
from orchd.server.pipeline.verbs.subresources.upstream import Reply, UnreachableError
from orchd.testing.server import InProcessServer, make_server, run

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
        """Nothing to release."""


class Everybody:
    """Answers for everybody, and remembers what was asked; `wrong` makes all unreachable."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, dict[str, str], bytes]] = []
        self.joined: list[str] = []
        self.code = 200
        self.wrong = ""

    async def fetch(self, method: str, url: str, headers: Any, body: bytes = b"") -> Reply:
        if self.wrong:
            raise UnreachableError(self.wrong)
        self.asked.append((method, url, dict(headers), body))
        named = [("Content-Type", "text/x"), ("X-Own", "1"), ("Transfer-Encoding", "chunked")]
        return Reply(code=self.code, headers=named, stream=Body(b"said"))

    async def hand_through(self, request: Request, url: str) -> Response:
        self.joined.append(url)
        return Response(code=101)


@pytest.fixture
def others() -> Everybody:
    return Everybody()


@pytest.fixture
def server(tmp_path: Path, others: Everybody) -> Iterator[InProcessServer]:
    made = make_server(tmp_path, upstream=others)

    def post(path: str, body: Any) -> None:
        assert run(made.request("POST", path, body=body)).code == 201

    post("/api/v1/namespaces", {"metadata": {"name": "a"}})
    post(f"{CORE}/serviceaccounts", {"metadata": {"name": "default"}})
    post("/api/v1/nodes", {"metadata": {"name": "n"}})
    endpoint = made.dialect("{short}letEndpoint")
    address = [{"type": "InternalIP", "address": "192.0.2.7"}]
    status = {"status": {"addresses": address, "daemonEndpoints": {endpoint: {"Port": 10999}}}}
    assert run(made.request("PATCH", "/api/v1/nodes/n/status", body=status, headers=MERGE)).code == 200
    containers = [{"name": "c", "image": "i", "ports": [{"containerPort": 8080}]}]
    post(f"{CORE}/pods", {"metadata": {"name": "p"}, "spec": {"containers": containers, "nodeName": "n"}})
    ips = {"status": {"podIP": "198.51.100.3", "podIPs": [{"ip": "198.51.100.3"}]}}
    assert run(made.request("PATCH", f"{CORE}/pods/p/status", body=ips, headers=MERGE)).code == 200
    yield made
    made.stop()


# -- logs


def test_log_comes_from_the_pods_node(call: Any, others: Everybody) -> None:
    """The agent is asked for the container's log with the parameters that it knows."""
    answer = call("GET", f"{CORE}/pods/p/log?tailLines=5&follow=true&pretty=true")
    assert (answer.code, answer.response.content_type) == (200, "text/plain")
    assert others.asked[0][:2] == ("GET", "https://192.0.2.7:10999/containerLogs/a/p/c?follow=true&tailLines=5")


@pytest.mark.parametrize(("code", "reason"), [(500, "InternalError"), (400, "BadRequest"), (404, "NotFound")])
def test_agents_complaints_are_handed_on(call: Any, others: Everybody, code: int, reason: str) -> None:
    """What the agent refuses is refused with the same code."""
    others.code = code
    answer = call("GET", f"{CORE}/pods/p/log")
    assert (answer.code, answer.json["reason"]) == (code, reason)


def test_unreachable_agent(call: Any, others: Everybody) -> None:
    """500 that names the URL and says why."""
    others.wrong = "connection refused"
    answer = call("GET", f"{CORE}/pods/p/log")
    assert answer.code == 500
    assert answer.json["message"].endswith('/containerLogs/a/p/c": connection refused')


# -- exec, attach, portforward


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("exec?command=ls&command=-l&stdout=1", "exec/a/p/c?output=1&command=ls&command=-l"),
        ("attach?stdin=true&tty=false", "attach/a/p/c?input=1"),
        ("portforward?ports=80,81", "portForward/a/p?port=80&port=81"),
    ],
)
def test_streams_go_to_the_agent(call: Any, others: Everybody, path: str, url: str) -> None:
    """The client's connection is joined with one to the agent, under the agent's names of the options."""
    headers = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    call("POST", f"{CORE}/pods/p/{path}", headers=headers, hijack=lambda: None)
    assert others.joined == [f"https://192.0.2.7:10999/{url}"]


def test_streams_need_an_upgrade(call: Any) -> None:
    """A plain request cannot be joined with anything."""
    answer = call("POST", f"{CORE}/pods/p/exec?command=ls")
    assert (answer.code, answer.json["message"]) == (400, "Upgrade request required")


# -- proxies


def test_proxy_to_a_pod(call: Any, others: Everybody) -> None:
    """Path, query, method and body go on; what belongs to the connection or to this server stays."""
    headers = {"authorization": "Bearer secret", "x-mine": "2"}
    answer = call("POST", f"{CORE}/pods/p/proxy/x/%41?q=1", b"body", headers=headers)
    method, url, sent, body = others.asked[0]
    assert (method, url, body) == ("POST", "http://198.51.100.3:8080/x/%41?q=1", b"body")
    assert sent["x-mine"] == "2"
    assert "authorization" not in sent
    assert answer.response.content_type == "text/x"
    assert answer.headers["X-Own"] == "1"
    assert "Transfer-Encoding" not in answer.headers


@pytest.mark.parametrize(
    ("name", "url"), [("p:99", "http://198.51.100.3:99/"), ("https:p:98", "https://198.51.100.3:98/")]
)
def test_names_with_scheme_and_port(call: Any, others: Everybody, name: str, url: str) -> None:
    """The client may say how and where to connect."""
    call("GET", f"{CORE}/pods/{name}/proxy/")
    assert others.asked[0][1] == url


@pytest.mark.parametrize("method", ["OPTIONS", "HEAD"])
def test_methods_that_are_no_verbs_go_through(call: Any, others: Everybody, method: str) -> None:
    """Whoever is behind a proxy may take them; other endpoints do not."""
    call(method, f"{CORE}/pods/p/proxy/x")
    assert others.asked[-1][0] == method
    assert call("OPTIONS", f"{CORE}/pods/p/status").code == 405


def test_bare_proxy_path_redirects(call: Any) -> None:
    """So that relative links lead back through the proxy."""
    answer = call("GET", f"{CORE}/pods/p/proxy?a=b")
    assert (answer.code, answer.headers["Location"]) == (301, f"{CORE}/pods/p/proxy/?a=b")


def test_proxy_to_a_node(call: Any, others: Everybody) -> None:
    """Without a port it is the node's agent, over TLS."""
    call("GET", "/api/v1/nodes/n/proxy/healthz")
    call("GET", "/api/v1/nodes/n:80/proxy/")
    assert [url for _, url, _, _ in others.asked] == ["https://192.0.2.7:10999/healthz", "http://192.0.2.7:80/"]


def test_proxy_to_a_service(call: Any, others: Everybody) -> None:
    """An endpoint of the service that is the pod which it names."""
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


def test_unreachable_service(call: Any, others: Everybody) -> None:
    """503 that says why."""
    others.wrong = "connection refused"
    answer = call("GET", f"{CORE}/pods/p/proxy/")
    assert (answer.code, answer.json["message"]) == (503, "error trying to reach service: connection refused")


@pytest.mark.parametrize("address", ["", "127.0.0.1", "169.254.1.1", "::1", "0.0.0.0", "224.0.0.1", "name"])
def test_addresses_of_this_machine_are_not_for_others(address: str) -> None:
    """The server does not lend its own place in the network."""
    with pytest.raises(ApiError):
        locations.proxyable(address)


@pytest.mark.parametrize("name", ["", "a:b:c:d", "ftp:a:1", ":80"])
def test_nonsense_names(name: str) -> None:
    """400 for what is no name, name and port, or scheme, name and port."""
    with pytest.raises(ApiError):
        locations.split(name, "pod")


def test_first_preferred_address_counts() -> None:
    """In the order of preference, not in that of the node."""
    node = {"status": {"addresses": [{"type": "InternalIP", "address": "1.2.3.4"}, {"type": "Hostname", "address": "h"}]}}
    assert locations.node_location(ORCH, node).origin == "https://h:10250"
    assert locations.node_location(ORCH, node, ("InternalIP",)).origin == "https://1.2.3.4:10250"


def test_every_address_gets_its_turn() -> None:
    """Candidates begin anywhere and leave none out."""
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
    [("/api/v1/namespaces/proxy/pods/proxy/proxy/a/b", 7, "/a/b"), ("/api/v1/nodes/n/proxy/", 5, "/"), ("/api/v1/nodes/n/proxy", 5, "")],
)
def test_rest_of_a_path(path: str, depth: int, rest: str) -> None:
    """What follows is found by counting, whatever things are called."""
    assert rest_of(path, depth) == rest
