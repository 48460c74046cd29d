"""The remote client over connections in memory: what it sends, how it retries, and how failures become errors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

import pytest
from twisted.internet.error import ConnectionRefusedError
from twisted.python.failure import Failure
from twisted.web.http_headers import Headers
from wsproto.utilities import generate_accept_token

from orchd.client.errors import NoResponseError, UnreachableError
from orchd.client.interfaces import ResourceRef
from orchd.client.metrics import RequestMetrics
from orchd.client.remote import ClientOptions, RemoteClient
from orchd.client.requests import Call
from orchd.client.throttle import Throttle
from orchd.errors import ApiError
from orchd.kinds.release import NEWEST
from orchd.pki.certificates import CLIENT, Signed, chain_pem, issue_pair, new_authority, subject
from orchd.pki.clientconfig import ClientConfig, ClientConfigError, Impersonation
from orchd.pki.keys import new_key, private_pem
from orchd.txkit.coroutines import start
from tests.memory_http import MemoryHttp, Sent

PODS = ResourceRef("", "v1", "pods")
POD = {"metadata": {"name": "p"}}
SERVER = "http://127.0.0.1:8001/base"
TOO_MANY = b'{"kind":"Status","status":"Failure","code":429,"reason":"TooManyRequests","message":"slower"}'


class Peer(MemoryHttp):
    """The server of a client with `config` and `options`."""

    def __init__(self, options: Mapping[str, Any] | None = None, **config: Any) -> None:
        super().__init__()
        configuration = ClientConfig(**{"server": SERVER, **config})
        self.client = RemoteClient(
            configuration,
            self.reactor,
            ClientOptions(**{"agent": "tester/1", "timeout": 30.0, **(options or {})}),
            random=Random(1),
        )


REQUESTS: dict[str, tuple[str, tuple[Any, ...], dict[str, Any], str, str, Any]] = {
    "get": ("get", (PODS, "a", "p"), {}, "GET", "/api/v1/namespaces/a/pods/p", None),
    "get of a subresource at a version": (
        *("get", (PODS, "a", "p"), {"subresource": "status", "resource_version": "7"}),
        *("GET", "/api/v1/namespaces/a/pods/p/status?resourceVersion=7", None),
    ),
    "list of all namespaces": ("list", (PODS,), {}, "GET", "/api/v1/pods", None),
    "list of a page": (
        *("list", (PODS, "a"), {"limit": 5, "continue_": "x y", "query": {"pretty": "false"}}),
        *("GET", "/api/v1/namespaces/a/pods?pretty=false&limit=5&continue=x%20y", None),
    ),
    "list with selectors": (
        *("list", (PODS, "a"), {"label_selector": "a=b", "field_selector": "c=d", "resource_version": "0"}),
        *("GET", "/api/v1/namespaces/a/pods?labelSelector=a%3Db&fieldSelector=c%3Dd&resourceVersion=0", None),
    ),
    "create": ("create", (PODS, "a", POD), {}, "POST", "/api/v1/namespaces/a/pods", POD),
    "create of a subresource": (
        *("create", (PODS, "a", {}), {"name": "p", "subresource": "eviction", "dry_run": True}),
        *("POST", "/api/v1/namespaces/a/pods/p/eviction?dryRun=All", {}),
    ),
    "update": ("update", (PODS, "a", "p", POD), {}, "PUT", "/api/v1/namespaces/a/pods/p", POD),
    "dry update of the status": (
        *("update", (PODS, "a", "p", POD), {"subresource": "status", "dry_run": True}),
        *("PUT", "/api/v1/namespaces/a/pods/p/status?dryRun=All", POD),
    ),
    "forced apply": (
        *("patch", (PODS, "a", "p", POD)),
        {"content_type": "application/apply-patch+yaml", "field_manager": "me", "force": True, "dry_run": True},
        *("PATCH", "/api/v1/namespaces/a/pods/p?fieldManager=me&force=true&dryRun=All", POD),
    ),
    "patch of the status": (
        *("patch", (PODS, "a", "p", []), {"content_type": "application/json-patch+json", "subresource": "status"}),
        *("PATCH", "/api/v1/namespaces/a/pods/p/status", []),
    ),
    "delete": ("delete", (PODS, "a", "p"), {}, "DELETE", "/api/v1/namespaces/a/pods/p", None),
    "delete with options": (
        *("delete", (PODS, "a", "p"), {"options": {"gracePeriodSeconds": 0}}, "DELETE", "/api/v1/namespaces/a/pods/p"),
        {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0},
    ),
    "delete of a collection": (
        *("delete_collection", (PODS, "a"), {"options": {"propagationPolicy": "Orphan"}, "label_selector": "a=b"}),
        *("DELETE", "/api/v1/namespaces/a/pods?labelSelector=a%3Db"),
        {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"},
    ),
    "delete of a collection by fields": (
        *("delete_collection", (PODS,), {"field_selector": "c=d"}, "DELETE", "/api/v1/pods?fieldSelector=c%3Dd", None),
    ),
}


@pytest.mark.parametrize("name", REQUESTS)
def test_each_method_sends_its_request(name: str) -> None:
    """Method, path, query, body and headers of a call; its result is the object of the response."""
    verb, arguments, options, method, target, body = REQUESTS[name]
    peer = Peer()
    results = peer.begin(getattr(peer.client, verb)(*arguments, **options))
    sent = peer.request()
    assert (sent.method, sent.target) == (method, "/base" + target)
    assert (json.loads(sent.body) if sent.body else None) == body
    types = [options.get("content_type", "application/json")] if body is not None else []
    assert sent.header("Content-Type") == types
    assert sent.header("Accept") == ["application/json"] and sent.header("User-Agent") == ["tester/1"]
    assert sent.header("Host") == ["127.0.0.1:8001"]
    assert sent.header("Authorization") == []
    peer.respond(body=b'{"kind":"Pod"}')
    assert results == [{"kind": "Pod"}]


def test_connections_are_used_again() -> None:
    """The next request uses the connection of the one before; closing the client closes it."""
    peer = Peer()
    for _ in range(2):
        results = peer.begin(peer.client.document("/version"))
        assert peer.request().target == "/base/version"
        peer.respond()
        assert results == [{}]
    assert len(peer.transports) == 1
    closed = peer.begin(peer.client.close())
    assert peer.transports[0].disconnecting
    peer.lose()
    assert closed == [None]


def test_credentials_and_impersonation_are_headers_of_all_requests() -> None:
    """Calls and forwarded requests carry the credentials and the identity to impersonate; a forwarded request has its
    own other headers."""
    who = Impersonation(user="jane", uid="", groups=("a", "b"), extra=())
    peer = Peer(token="secret", impersonation=who)
    peer.begin(peer.client.document("/version"))
    call = peer.request()
    peer.respond()
    headers = Headers({"Accept": ["text/plain"], "X-Own": ["1"]})
    results = peer.begin(peer.client.forward("POST", "/any?x=%20", headers, b"data"))
    forwarded = peer.request()
    for sent in (call, forwarded):
        assert sent.header("Authorization") == ["Bearer secret"]
        assert (sent.header("Impersonate-User"), sent.header("Impersonate-Group")) == (["jane"], ["a", "b"])
    assert (forwarded.method, forwarded.target, forwarded.body) == ("POST", "/base/any?x=%20", b"data")
    assert (forwarded.header("X-Own"), forwarded.header("Accept")) == (["1"], ["text/plain"])
    assert headers.getRawHeaders("Authorization") is None
    peer.respond(code=404)
    assert results[0].code == 404


class Tokens:
    """A source of tokens that counts refusals."""

    def __init__(self) -> None:
        self.refusals = 0

    async def __call__(self) -> str:
        return f"token-{self.refusals}"

    def refused(self) -> None:
        self.refusals += 1


@pytest.mark.parametrize("forwarded", [False, True])
def test_401_makes_the_client_renew_its_token(forwarded: bool) -> None:
    """A response with 401 is reported to the source of the token, others are not."""
    tokens = Tokens()
    peer = Peer({"bearer": tokens})
    for code, count in ((200, 0), (403, 0), (401, 1)):
        client = peer.client
        peer.begin(client.forward("GET", "/x", Headers(), b"") if forwarded else client.document("/x"))
        assert peer.request().header("Authorization") == ["Bearer token-0"]
        peer.respond(code=code)
        assert tokens.refusals == count
    peer.begin(peer.client.document("/x"))
    assert peer.request().header("Authorization") == ["Bearer token-1"]


def test_requests_wait_for_the_throttle() -> None:
    """A request beyond the rate is sent when the throttle allows it."""
    peer = Peer()
    throttled = Peer({"throttle": Throttle(peer.reactor, qps=1, burst=1)})
    throttled.begin(throttled.client.document("/a"))
    assert throttled.request().target == "/base/a"
    throttled.begin(throttled.client.document("/b"))
    throttled.accept()
    assert len(throttled.transports) == 1
    peer.reactor.advance(1)
    assert throttled.request().target == "/base/b"
    [waits] = [each.family() for each in throttled.client.metrics.instruments if "rate_limiter" in each.family().name]
    sums = [sample.value for sample in waits.samples if sample.name.endswith("_sum")]
    assert sorted(sums) == [0, 1]


STATUSES = {
    "Status": (409, b'{"kind":"Status","code":409,"reason":"Conflict","message":"m"}', (409, "Conflict", "m")),
    "Status without a code": (409, b'{"kind":"Status","reason":"Conflict"}', (409, "Conflict", "")),
    "Status with a code of success": (500, b'{"kind":"Status","code":200,"reason":"R"}', (500, "R", "")),
    "Status with another code of failure": (500, b'{"kind":"Status","code":599,"reason":"R"}', (599, "R", "")),
    "Status with a code beyond all": (500, b'{"kind":"Status","code":600,"reason":"R"}', (500, "R", "")),
    "text": (502, b"bad gateway", (502, "", "the server responded with 502: bad gateway")),
    "another object": (400, b'{"kind":"Pod"}', (400, "", "the server responded with 400: {'kind': 'Pod'}")),
    "long text": (500, b"x" * 300, (500, "", "the server responded with 500: " + "x" * 200)),
}


@pytest.mark.parametrize("name", STATUSES)
def test_failed_responses_raise_errors(name: str) -> None:
    """A response of 400 or above raises its Status, or an error that quotes the beginning of its body."""
    code, body, expected = STATUSES[name]
    peer = Peer()
    results = peer.begin(peer.client.get(PODS, "a", "p"))
    peer.request()
    peer.respond(code, body)
    (error,) = results
    assert isinstance(error, ApiError)
    assert (error.code, error.reason, error.message) == expected and error.headers == {}


def test_details_of_a_status_are_those_of_the_error() -> None:
    peer = Peer()
    results = peer.begin(peer.client.get(PODS, "a", "p"))
    peer.request()
    peer.respond(404, b'{"kind":"Status","code":404,"details":{"name":"p"}}')
    assert results[0].details == {"name": "p"}


@pytest.mark.parametrize("code", [429, 503])
def test_refused_requests_are_sent_again_after_the_pause(code: int) -> None:
    """429 and 503 with Retry-After: the request is repeated after that many seconds and up to a tenth more, at most
    five times."""
    peer = Peer({"metrics": RequestMetrics(release=NEWEST)})
    results = peer.begin(peer.client.create(PODS, "a", POD))
    for attempt in range(6):
        assert not results
        assert json.loads(peer.request().body) == POD
        peer.respond(code, TOO_MANY, Retry_After="10")
        if attempt < 5:
            peer.reactor.advance(9.99)
            assert not any(transport.value() for transport in peer.transports)
            peer.reactor.advance(1.01)
    (error,) = results
    assert (error.code, error.headers) == (429, {"Retry-After": "10"})
    repeated = _by_labels(peer, "rest_client_request_retries_total")
    assert repeated == {(("code", str(code)), ("host", "127.0.0.1:8001"), ("verb", "POST")): 5}


def _by_labels(peer: Peer, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """The samples of a metric of the client."""
    samples = (sample for each in peer.client.metrics.instruments for sample in each.family().samples)
    return {tuple(sorted(sample.labels.items())): sample.value for sample in samples if sample.name == name}


def test_sizes_and_hosts_are_measured() -> None:
    """Clients of later releases count by host, not by URL, and measure bodies."""
    peer = Peer({"metrics": RequestMetrics(release=NEWEST)})
    peer.reactor.advance(100)
    peer.begin(peer.client.create(PODS, "a", POD))
    peer.request()
    peer.reactor.advance(2)
    peer.respond(201, json.dumps(POD).encode())
    where = (("host", "127.0.0.1:8001"), ("verb", "POST"))
    assert _by_labels(peer, "rest_client_request_duration_seconds_sum") == {where: 2}
    result = (("code", "201"), ("host", "127.0.0.1:8001"), ("method", "POST"))
    assert _by_labels(peer, "rest_client_requests_total") == {result: 1}
    for name in ("request_duration_seconds_count", "rate_limiter_duration_seconds_count", "request_size_bytes_count"):
        assert _by_labels(peer, f"rest_client_{name}") == {where: 1}
    (sent,) = _by_labels(peer, "rest_client_request_size_bytes_sum").values()
    (received,) = _by_labels(peer, "rest_client_response_size_bytes_sum").values()
    assert (sent > 0, received) == (True, len(json.dumps(POD)))


def test_first_certificate_of_plugins_to_expire() -> None:
    """The seconds until then are a metric, without certificates infinite."""
    peer = Peer({"metrics": RequestMetrics(lambda: 100.0)})
    assert _by_labels(peer, "rest_client_exec_plugin_ttl_seconds") == {(): math.inf}
    peer.client.metrics.plugin_expiries.update({1: 150.0, 2: 130.0})
    assert _by_labels(peer, "rest_client_exec_plugin_ttl_seconds") == {(): 30.0}


def test_pause_before_a_retry_is_limited() -> None:
    """A client waits for at most half a minute, and a tenth of it."""
    peer = Peer()
    results = peer.begin(peer.client.document("/x"))
    peer.request()
    peer.respond(503, Retry_After="3600")
    peer.reactor.advance(33)
    peer.request()
    peer.respond()
    assert results == [{}]


@pytest.mark.parametrize(
    ("code", "headers"),
    [(429, {}), (503, {"Retry_After": "Wed, 21 Oct 2015 07:28:00 GMT"}), (500, {"Retry_After": "1"})],
)
def test_other_failures_are_not_repeated(code: int, headers: dict[str, str]) -> None:
    """Without a Retry-After in seconds, or with another code, a failure is an error at once."""
    peer = Peer()
    results = peer.begin(peer.client.document("/x"))
    peer.request()
    peer.respond(code, b"{}", **headers)
    assert [error.code for error in results] == [code]


def test_failures_of_the_network_are_errors_with_a_code() -> None:
    """A refused connection, one that breaks before or in the middle of a response, and silence beyond the timeout."""
    peer = Peer()
    results = peer.begin(peer.client.document("/x"))
    factory: Any = peer.reactor.tcpClients[0][2]
    factory.clientConnectionFailed(None, Failure(ConnectionRefusedError()))
    # An endpoint goes on to the next address of a host, if there is one, a little later.
    peer.reactor.advance(1)
    assert isinstance(results[0], UnreachableError) and results[0].code == 503
    assert "cannot reach http://127.0.0.1:8001/base" in results[0].message
    for part in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"):
        peer = Peer()
        results = peer.begin(peer.client.create(PODS, "a", POD))
        peer.request()
        peer.send(part)
        peer.lose()
        assert isinstance(results[0], UnreachableError)
    for part in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"):
        peer = Peer()
        results = peer.begin(peer.client.document("/x"))
        peer.request()
        peer.send(part)
        peer.reactor.advance(29)
        assert not results
        peer.reactor.advance(1)
        assert isinstance(results[0], NoResponseError) and results[0].code == 504
        assert "within 30 s" in results[0].message


def test_response_that_is_not_json_is_an_error() -> None:
    peer = Peer()
    results = peer.begin(peer.client.document("/x"))
    peer.request()
    peer.respond(body=b"<html>")
    assert (results[0].code, results[0].reason) == (500, "InternalError")


def test_exchange_returns_the_response_with_its_warnings() -> None:
    """`exchange` returns code, media type, body and the texts of warnings; malformed warnings are left out."""
    peer = Peer()
    results = peer.begin(peer.client.exchange(Call(method="GET", path="/x", accept="text/plain")))
    assert peer.request().header("Accept") == ["text/plain"]
    peer.respond(201, b"text", Content_Type="text/plain", Warning='299 - "say \\"a\\" \\\\"\r\nWarning: 299 -')
    (response,) = results
    assert (response.code, response.content_type, response.body) == (201, "text/plain", b"text")
    assert response.warnings == ('say "a" \\',)


@pytest.mark.parametrize("name", ["Content-Type", "Warning", "Retry-After"])
def test_response_headers_need_not_be_utf8(name: str) -> None:
    """Bytes of headers that are not UTF-8 become replacement characters; the response counts with its code."""
    for code in 200, 404:
        peer = Peer()
        results = peer.begin(peer.client.exchange(Call(method="GET", path="/x", accept="text/plain")))
        peer.request()
        value = b'299 - "caf\xe9"' if name == "Warning" else b"caf\xe9"
        peer.send(b"HTTP/1.1 %d X\r\n%s: %s\r\nContent-Length: 2\r\n\r\n{}" % (code, name.encode(), value))
        assert [result.code for result in results] == [code]


def event(kind: str, obj: Any) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode() + b"\n"


OPEN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"


def watching(peer: Peer, **options: Any) -> tuple[Any, Sent]:
    """An open watch, and its request."""
    results = peer.begin(peer.client.watch(PODS, "a", **options))
    sent = peer.request()
    peer.send(OPEN)
    return results[0], sent


def test_watch_returns_events_of_any_pieces() -> None:
    """The query names what is watched, and a random duration of five to ten minutes; lines may arrive in parts, several
    at once, and empty."""
    peer = Peer()
    stream, sent = watching(peer, resource_version="5", label_selector="a=b", field_selector="c=d")
    path, _, query = sent.target.partition("?")
    parameters = dict(word.split("=") for word in query.split("&"))
    assert path == "/base/api/v1/namespaces/a/pods"
    assert 300 <= int(parameters.pop("timeoutSeconds")) < 600
    assert parameters == {
        "watch": "true",
        "resourceVersion": "5",
        "allowWatchBookmarks": "true",
        "labelSelector": "a%3Db",
        "fieldSelector": "c%3Dd",
    }
    results = peer.begin(stream.next())
    data = event("ADDED", {"n": 1}) + b"\n" + event("MODIFIED", {"n": 2}) + event("DELETED", {"n": 3})
    peer.send(data[:10])
    assert not results
    peer.send(data[10:-5])
    events = [*results, *peer.begin(stream.next())]
    last = peer.begin(stream.next())
    assert not last
    peer.send(data[-5:])
    assert [(each.type, each.object["n"]) for each in (*events, *last)] == [
        ("ADDED", 1),
        ("MODIFIED", 2),
        ("DELETED", 3),
    ]
    peer.lose()
    assert peer.begin(stream.next()) == [None]


def test_watch_without_bookmarks() -> None:
    assert "allowWatchBookmarks" not in watching(Peer(), bookmarks=False)[1].target


@pytest.mark.parametrize(
    ("line", "code", "reason"),
    [
        (event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired"}), 410, "Expired"),
        (event("ERROR", {"kind": "Status", "reason": "Internal"}), 500, "Internal"),
        (b"{}\n", 500, "InternalError"),
        (b"[]\n", 500, "InternalError"),
        (b"{\n", 500, "InternalError"),
    ],
)
def test_watch_ends_at_errors(line: bytes, code: int, reason: str) -> None:
    """An event of type ERROR, or one that is malformed, raises an error and closes the connection."""
    peer = Peer()
    stream, _ = watching(peer)
    peer.send(line)
    (error,) = peer.begin(stream.next())
    assert (error.code, error.reason) == (code, reason)
    assert peer.transports[0].disconnecting or peer.transports[0].disconnected
    assert peer.begin(stream.next()) == [None]


def test_watch_of_a_server_that_does_not_end_it_is_aborted() -> None:
    """Half a minute after its duration a watch fails."""
    peer = Peer()
    stream, sent = watching(peer)
    seconds = int(sent.target.partition("timeoutSeconds=")[2])
    results = peer.begin(stream.next())
    peer.reactor.advance(seconds + 29)
    assert not results
    peer.reactor.advance(1)
    assert isinstance(results[0], NoResponseError)


def test_event_beyond_the_size_limit_ends_the_watch() -> None:
    """An event of more than 16 MiB is an error, not memory."""
    peer = Peer()
    stream, _ = watching(peer)
    results = peer.begin(stream.next())
    for _ in range(16):
        peer.send(b"x" * 1024 * 1024)
    assert not results
    peer.send(b"x")
    (error,) = results
    assert (error.code, error.reason) == (500, "InternalError")


def test_byte_stream_returns_pieces_and_has_a_limit_of_time() -> None:
    """Pieces come as they arrive, and the end as None; after its seconds the stream fails."""
    for late in (False, True):
        peer = Peer()
        results = peer.begin(peer.client.stream(Call(method="GET", path="/log"), 90))
        assert peer.request().target == "/base/log"
        peer.send(OPEN + b"one")
        (stream,) = results
        assert peer.begin(stream.next()) == [b"one"]
        rest = peer.begin(stream.next())
        peer.reactor.advance(89)
        assert not rest
        if late:
            peer.reactor.advance(1)
            assert isinstance(rest[0], NoResponseError)
        else:
            peer.lose()
            assert rest == [None]


def test_stream_pauses_its_connection_and_reports_its_loss() -> None:
    """A connection whose data nobody reads is paused, and resumed when it is read; its loss is the end of the
    stream."""
    peer = Peer()
    results = peer.begin(peer.client.stream(Call(method="GET", path="/log"), 90))
    peer.request()
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n")
    (stream,) = results
    transport = peer.transports[0]
    for _ in range(3):
        peer.send(b"x" * 500_000)
    assert transport.producerState == "paused"
    for _ in range(2):
        assert len(peer.begin(stream.next())[0]) == 500_000
    assert transport.producerState == "producing"
    peer.lose()
    peer.begin(stream.next())
    (error,) = peer.begin(stream.next())
    assert isinstance(error, UnreachableError)
    assert error.message.startswith(f"cannot reach {SERVER}: Connection to the other side was lost")


def test_closed_stream_aborts_the_connection_and_drops_what_was_unread() -> None:
    peer = Peer()
    results = peer.begin(peer.client.stream(Call(method="GET", path="/log"), 90))
    peer.request()
    peer.send(OPEN + b"one")
    (stream,) = results
    stream.close()
    assert peer.begin(stream.next()) == [None]
    assert peer.transports[0].disconnecting or peer.transports[0].disconnected
    assert not peer.reactor.getDelayedCalls()


def test_cancelled_request_closes_its_connection() -> None:
    peer = Peer()
    waiting = start(peer.client.document("/x"))
    peer.request()
    waiting.addErrback(lambda failure: None)
    waiting.cancel()
    assert peer.transports[0].disconnecting or peer.transports[0].disconnected


def test_websocket_is_a_connection_of_its_own() -> None:
    """The handshake has the path below that of the server, the query, and the headers of every request."""
    tokens = Tokens()
    peer = Peer({"bearer": tokens}, impersonation=Impersonation(user="jane"))
    results = peer.begin(peer.client.websocket("/exec", [("command", "a b"), ("command", "c")], ["v5", "v4"]))
    sent = peer.request()
    assert (sent.method, sent.target) == ("GET", "/base/exec?command=a%20b&command=c")
    assert sent.header("Authorization") == ["Bearer token-0"] and sent.header("Impersonate-User") == ["jane"]
    assert sent.header("User-Agent") == ["tester/1"] and sent.header("Host") == ["127.0.0.1:8001"]
    accept = generate_accept_token(sent.header("Sec-WebSocket-Key")[0].encode()).decode()
    fields = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: {accept}\r\n"
    peer.send(f"HTTP/1.1 101 X\r\n{fields}Sec-WebSocket-Protocol: v4\r\n\r\n".encode())
    assert results[0].protocol == "v4" and tokens.refusals == 0
    for code, refusals in ((403, 0), (401, 1)):
        results = peer.begin(peer.client.websocket("/exec", (), ["v4"]))
        assert peer.request().target == "/base/exec"
        peer.respond(code)
        assert results[0].code == code and tokens.refusals == refusals


def test_websocket_without_credentials_has_no_authorization() -> None:
    peer = Peer()
    peer.begin(peer.client.websocket("/exec", (), ["v4"]))
    assert peer.request().header("Authorization") == []


def _write_pair(folder: Path, authority: Signed) -> tuple[bytes, bytes]:
    pair = issue_pair(authority, subject("jane"), usages=[CLIENT], now=datetime(2026, 1, 1, tzinfo=UTC))
    (folder / "cert").write_bytes(chain_pem(pair.certificate))
    (folder / "key").write_bytes(private_pem(pair.key))
    return chain_pem(pair.certificate), private_pem(pair.key)


@pytest.mark.parametrize("forwarded", [False, True])
def test_connections_with_a_replaced_certificate_are_closed(tmp_path: Path, forwarded: bool) -> None:
    """Files of a certificate are read again after a minute. A new one ends connections with the one before, and a pair
    that does not match leaves them."""
    authority = new_authority("ca", now=datetime(2026, 1, 1, tzinfo=UTC))
    certificate, key = _write_pair(tmp_path, authority)
    files: dict[str, Any] = {"certificate_file": str(tmp_path / "cert"), "key_file": str(tmp_path / "key")}
    peer = Peer(certificate=certificate, key=key, **files)

    def connections(seconds: float) -> tuple[int, bool]:
        """How many there were after one more request, `seconds` later, and whether the first is closed."""
        peer.reactor.advance(seconds)
        client = peer.client
        peer.begin(client.forward("GET", "/x", Headers(), b"") if forwarded else client.document("/x"))
        peer.request()
        peer.respond()
        return len(peer.transports), peer.transports[0].disconnecting

    assert connections(0) == (1, False)
    (tmp_path / "key").write_bytes(private_pem(new_key()))
    assert connections(61) == (1, False)
    _write_pair(tmp_path, authority)
    assert connections(59) == (1, False)
    assert connections(1) == (2, True)
    assert connections(120) == (2, True)


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"server": "ftp://h"}, "not an HTTP server: ftp://h"),
        ({"server": "https://"}, "not an HTTP server: https://"),
        ({"server": "http://h", "proxy": "http://p"}, "proxy-url needs a server with https: http://h"),
        (
            {"server": "https://h", "certificate": b"x", "key": b"y", "user": "u", "cluster": "c"},
            "certificates of user 'u' or cluster 'c'",
        ),
    ],
)
def test_configuration_that_cannot_be_used_is_refused(config: dict[str, Any], why: str) -> None:
    with pytest.raises(ClientConfigError, match=why):
        Peer(**config)
