"""Calls of webhooks over real TLS connections on loopback."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
import pytest_twisted
from twisted.internet import reactor, ssl
from twisted.internet.defer import Deferred
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site

from orchd.dialect import ORCH
from orchd.errors import not_found
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.clientconfig import ClientConfig
from orchd.pki.keys import private_pem
from orchd.server.outbound import webhooks
from orchd.server.outbound.webhooks import Credentials, WebhookClient, WebhookError

CLOCK: Any = reactor


class Receiver(Resource):
    """Answers by path."""

    isLeaf = True

    def __init__(self) -> None:
        Resource.__init__(self)
        self.seen: list[tuple[str, Any, dict[str, str | None], Any]] = []

    def render_POST(self, request: Any) -> Any:
        document = orjson.loads(request.content.read())
        headers = {name: request.getHeader(name) for name in ("user-agent", "authorization", "host")}
        self.seen.append((request.uri.decode(), document, headers, request.transport.getPeer().port))
        path = request.path.decode()
        if path == "/slow":
            return NOT_DONE_YET
        if path in ("/lines", "/interim"):
            piece = b"a: b\r\n" if path == "/lines" else b"HTTP/1.1 100 Continue\r\n\r\n"
            request.transport.write((b"HTTP/1.1 200 OK\r\n" if path == "/lines" else b"") + piece * 100_000)
            return NOT_DONE_YET
        if path == "/close":
            request.transport.abortConnection()
            return NOT_DONE_YET
        if path.startswith("/code/"):
            request.setResponseCode(int(path[6:]))
            request.setHeader("Content-Type", "text/plain")
            return b"sorry"
        if path.startswith("/status/"):
            request.setResponseCode(int(path[8:]))
            request.setHeader("Content-Type", "application/json")
            return orjson.dumps({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": "not today"})
        if path == "/long":
            return orjson.dumps({"text": "x" * 2000})
        if path == "/text":
            return b"hello"
        request.setHeader("Content-Type", "application/json")
        return orjson.dumps({"echo": document})


class Services:
    """A client that knows one service."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def get(self, ref: Any, namespace: str, name: str, **more: Any) -> dict[str, Any]:
        if name != "hook":
            raise not_found("", ref.plural, name)
        return {"spec": {"type": "ClusterIP", "clusterIP": "127.0.0.1", "ports": [{"port": self.port}]}}


class Place:
    def __init__(self) -> None:
        signed = self_signed("hook", names=["127.0.0.1", "hook.ns.svc"], now=datetime.now(UTC))
        pem = chain_pem(signed.certificate)
        self.bundle = base64.b64encode(pem).decode()
        self.receiver = Receiver()
        own = ssl.PrivateCertificate.loadPEM(pem + b"\n" + private_pem(signed.key))
        self.listening = CLOCK.listenSSL(0, Site(self.receiver), own.options(), interface="127.0.0.1")
        self.port = self.listening.getHost().port
        self.client = WebhookClient(CLOCK, ORCH, Services(self.port))  # type: ignore[arg-type]  # a client for services

    async def post(self, path: str, *, seconds: float = 30, credentials: Credentials | None = None) -> dict[str, Any]:
        where = {"url": f"https://127.0.0.1:{self.port}{path}", "caBundle": self.bundle}
        return await self.client.post(where, {"a": 1}, seconds, credentials or Credentials())

    async def fails(self, path: str, **more: Any) -> str:
        with pytest.raises(WebhookError) as caught:
            await self.post(path, **more)
        return str(caught.value).replace(str(self.port), "PORT")


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    pytest_twisted.blockon(Deferred.fromCoroutine(_closed(place)))


async def _closed(place: Place) -> None:
    await place.client.close()
    stopped = place.listening.stopListening()
    if stopped is not None:
        await stopped


@pytest_twisted.ensureDeferred
async def test_response_limit_grows_with_the_request(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """A response of more bytes than the limit and four times the request is an error."""
    monkeypatch.setattr(webhooks, "_MOST_RESPONSE", 2100)
    assert await place.post("/long") == {"text": "x" * 2000}
    monkeypatch.setattr(webhooks, "_MOST_RESPONSE", 2000 - 4 * len('{"a":1}'))
    assert "exceeds 2000 bytes" in await place.fails("/long")


@pytest_twisted.ensureDeferred
async def test_webhook_document_round_trip(place: Place) -> None:
    """The URL has the time limit; two calls share a connection."""
    assert await place.post("/hook") == {"echo": {"a": 1}}
    await place.post("/hook")
    (uri, document, headers, first), (_, _, _, second) = place.receiver.seen
    assert (uri, document) == ("/hook?timeout=30s", {"a": 1})
    assert headers["user-agent"] == ORCH("{short}-apiserver-admission")
    assert first == second


@pytest_twisted.ensureDeferred
async def test_service_is_reached_at_its_cluster_address(place: Place) -> None:
    """A service is called at its cluster IP, with its DNS name in the certificate."""
    service = {"namespace": "ns", "name": "hook", "port": place.port, "path": "/x"}
    await place.client.post({"service": service, "caBundle": place.bundle}, {}, 30)
    ((uri, _, headers, _),) = place.receiver.seen
    assert (uri, headers["host"]) == ("/x?timeout=30s", f"hook.ns.svc:{place.port}")
    with pytest.raises(WebhookError, match=r'svc:443/x\?timeout=30s": service "nope" not found'):
        await place.client.post({"service": {**service, "name": "nope", "port": 443}}, {}, 30)
    with pytest.raises(WebhookError, match='no service port 1 found for service "hook"'):
        await place.client.post({"service": {**service, "port": 1}}, {}, 30)


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/code/500", 'an error on the server ("sorry") has prevented the request from succeeding'),
        ("/code/404", "the server could not find the requested resource"),
        ("/code/403", "sorry"),
        ("/status/500", "not today"),
        ("/status/418", "not today"),
        ("/status/200", "not today"),
        ("/code/204", "0-length response with status code: 204 and content type: application/json"),
        ("/close", 'Post "https://127.0.0.1:PORT/close?timeout=30s": EOF'),
    ],
)
@pytest_twisted.ensureDeferred
async def test_invalid_responses_are_errors(place: Place, path: str, text: str) -> None:
    """Failures have the reference's messages."""
    assert await place.fails(path) == text


@pytest_twisted.ensureDeferred
async def test_response_may_be_yaml(place: Place) -> None:
    """A response that is not JSON is parsed as YAML; a plain string is no object."""
    assert (await place.fails("/text")).startswith(
        "couldn't get version/kind; json parse error: json: cannot unmarshal string"
    )


@pytest_twisted.ensureDeferred
async def test_webhook_timeout(place: Place) -> None:
    """A webhook that does not respond is abandoned at its timeout."""
    assert await place.fails("/slow", seconds=0.1) == (
        'Post "https://127.0.0.1:PORT/slow?timeout=0.1s": context deadline exceeded'
    )


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("/lines", "net/http: server response headers exceeded 262144 bytes; aborted"),
        ("/interim", "more than 100 interim responses"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_response_head_is_bounded(place: Place, path: str, error: str) -> None:
    """A response head above the limit ends the call, whatever its timeout."""
    assert (await place.fails(path, seconds=3600)).endswith(error)


@pytest_twisted.ensureDeferred
async def test_refused_connection_names_the_address(place: Place) -> None:
    """The error of a refused connection names the address."""
    await place.listening.stopListening()
    assert await place.fails("/") == (
        'Post "https://127.0.0.1:PORT/?timeout=30s": dial tcp 127.0.0.1:PORT: connect: connection refused'
    )


@pytest_twisted.ensureDeferred
async def test_unknown_authority_ends_the_call(place: Place) -> None:
    """A certificate of a CA outside the bundle is an error."""
    other = self_signed("other", names=["127.0.0.1"], now=datetime.now(UTC))
    place.bundle = base64.b64encode(chain_pem(other.certificate)).decode()
    assert (await place.fails("/")).endswith(
        "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    )


@pytest_twisted.ensureDeferred
async def test_credentials_by_host_and_port(place: Place) -> None:
    """Credentials are looked up by host and port, then by domain, then the default."""
    users = Credentials({"*": ClientConfig(server="", token="t"), "*.hooks.svc": ClientConfig(server="", token="d")})
    await place.post("/hook", credentials=users)
    assert place.receiver.seen[0][2]["authorization"] == "Bearer t"
    configs = [users.of(target) for target in ("a.hooks.svc:443", "a.hooks.svc:444")]
    assert [user.token if user else "" for user in configs] == ["d", "t"]


@pytest.mark.parametrize(
    "url",
    ["https://h:99999999/", "https://[::1", "", "nonsense", "https://", "ftp://h/", "https://\u00e9/", "https://h:x/"],
)
@pytest_twisted.ensureDeferred
async def test_invalid_url_is_an_error(place: Place, url: str) -> None:
    """An invalid URL is an error with a message."""
    with pytest.raises(WebhookError, match=r'^Get "'):
        await place.client.call("GET", url, 5)
