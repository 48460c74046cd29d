"""Requests for groups of other servers, forwarded over real TLS connections on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from random import Random
from typing import Any

import orjson
import pytest
import pytest_twisted
from OpenSSL import SSL
from twisted.internet import reactor, ssl
from twisted.internet.defer import Deferred, succeed
from twisted.web.resource import Resource
from twisted.web.server import NOT_DONE_YET, Site
from zope.interface import implementer

from orchd.kinds.users import User
from orchd.pki.certificates import chain_pem, self_signed
from orchd.pki.keys import private_pem
from orchd.server.aggregation.addresses import ServiceAddresses
from orchd.server.aggregation.api_services import AggregatedService
from orchd.server.aggregation.foreign_servers import Downloaded
from orchd.server.aggregation.proxy import DOCUMENT_LIMIT, AggregationProxy
from orchd.server.authn.interfaces import Credentials
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import ISink, Request, Response
from orchd.server.pipeline.query import Query
from orchd.testing.doubles.server import BytesBody
from orchd.txkit.tracing import current_span
from tests.txkit.test_tracing import RecordingSpan

CLOCK: Any = reactor
ALICE = User(name="alice", groups=("people", "others"), extra={"scopes": ("a", "b"), "Odd key/": ("c",)})


class EchoServer(Resource):
    """Responds with the request that it received."""

    isLeaf = True

    def __init__(self) -> None:
        Resource.__init__(self)
        #: Who the last request came from, as its header says.
        self.asker = ""

    def render(self, request: Any) -> Any:
        path = request.path.decode()
        self.asker = request.getHeader("x-remote-user") or ""
        if path.endswith("/slow"):
            return NOT_DONE_YET
        if path.endswith("/large"):
            return b"x" * (DOCUMENT_LIMIT + 1)
        if path.endswith("/broken"):
            request.setHeader("Content-Length", "100")
            request.write(b"begin" * 100)
            request.transport.abortConnection()
            return NOT_DONE_YET
        if path.endswith("/tagged"):
            request.setHeader("Etag", "t")
            request.setHeader("Content-Type", "application/json;a=b")
            request.setResponseCode(304 if request.getHeader("if-none-match") == "t" else 200)
            return (request.getHeader("accept") or "").encode()
        if "/to/" in path:
            request.setResponseCode(302)
            request.setHeader("Location", path.partition("/to/")[2].replace("%", "/"))
            return b""
        if path.endswith("/teapot"):
            request.setResponseCode(418)
            request.setHeader("Content-Type", "text/plain")
            request.setHeader("Cache-Control", "private")
            request.setHeader("Access-Control-Allow-Origin", "*")
            request.setHeader("Access-Control-Allow-Credentials", "true")
            request.setHeader("Set-Cookie", "a=b")
            return b"short and stout"
        peer = request.transport.getPeerCertificate()
        headers = {
            name.decode().lower(): [value.decode() for value in values]
            for name, values in request.requestHeaders.getAllRawHeaders()
        }
        request.setHeader("Content-Type", "application/json")
        return orjson.dumps({
            "method": request.method.decode(), "uri": request.uri.decode(), "headers": headers,
            "body": request.content.read().decode(),
            "certificate": "" if peer is None else peer.get_subject().CN,
        })  # fmt: skip


class Known:
    """An informer that knows one object."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def get(self, namespace: str, name: str) -> Any:
        return self.obj


@implementer(ISink)
class Collected:
    buffered = 0

    def __init__(self) -> None:
        self.data = b""
        self.ended: Deferred[bytes] = Deferred()

    def write(self, data: bytes) -> None:
        self.data += data

    def writable(self) -> Deferred[None]:
        """Always writable."""
        return succeed(None)

    def finish(self) -> None:
        self.ended.callback(self.data)

    abort = finish


class Place:
    """A server behind a service, and the connection to it."""

    def __init__(self) -> None:
        now = datetime.now(UTC)
        signed = self_signed("behind", names=["behind.ns.svc"], now=now)
        self.pem = chain_pem(signed.certificate)
        client = self_signed("front-proxy-client", names=[], now=now)
        self.own = chain_pem(client.certificate), private_pem(client.key)
        certificate = ssl.PrivateCertificate.loadPEM(self.pem + b"\n" + private_pem(signed.key))
        # The backend decides which certificates to trust; this one requests one and accepts any.
        context = certificate.options().getContext()
        context.set_verify(SSL.VERIFY_PEER, lambda *_: True)
        options = certificate.options()
        options._context = context
        self.behind = EchoServer()
        self.listening = CLOCK.listenSSL(0, Site(self.behind), options, interface="127.0.0.1")
        self.port = self.listening.getHost().port
        self.service = Known({"spec": {"clusterIP": "127.0.0.1", "ports": [{"name": "a", "port": self.port}]}})
        subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "a", "port": self.port}]}
        self.endpoints = Known({"subsets": [subset]})

    def forwarding(self, *, by_endpoints: bool = False) -> AggregationProxy:
        addresses = ServiceAddresses(
            self.service,  # type: ignore[arg-type]  # informers for one object
            self.endpoints,  # type: ignore[arg-type]
            Random(1),
            by_endpoints=by_endpoints,
        )
        return AggregationProxy(CLOCK, addresses, own=lambda: self.own, prober="prober")

    def server(self, **more: Any) -> AggregatedService:
        given: dict[str, Any] = {
            "name": "v1.g", "group": "g", "version": "v1", "namespace": "ns", "service": "behind", "port": self.port,
            "authority": self.pem, "unchecked": False, "group_priority": 1, "version_priority": 1, "available": True,
        }  # fmt: skip
        return AggregatedService(**{**given, **more})

    async def ask(
        self, method: str = "GET", path: str = "/apis/g/v1/things", body: bytes = b"", **more: Any
    ) -> tuple[Response, bytes]:
        headers = more.pop("headers", {})
        by_endpoints = more.pop("by_endpoints", False)
        named = {name.lower(): (value,) for name, value in headers.items()}
        request = Request(
            method=method, path=path, raw_path=path, query=Query({"a": ["b", "d e"]}), headers=named, body=BytesBody(body),
            credentials=Credentials(headers=named, remote="10.1.2.3"), received=0.0, user=ALICE,
            info=requestinfo.parse(method, path, {}),
        )  # fmt: skip
        request.trace.audit_id = "id-of-request"
        response = await self.forwarding(by_endpoints=by_endpoints).forward(self.server(**more), request)
        if response.stream is None:
            assert isinstance(response.body, bytes)
            return response, response.body
        sink = Collected()
        response.stream.start(sink)
        return response, await sink.ended


@pytest.fixture
def place() -> Iterator[Place]:
    place = Place()
    yield place
    stopped = place.listening.stopListening()
    if stopped is not None:
        pytest_twisted.blockon(stopped)


@pytest_twisted.ensureDeferred
async def test_trace_context_is_forwarded(place: Place) -> None:
    """Without a trace the client's context is forwarded; within one, the request's, and the call is a span."""
    theirs = {"Traceparent": "00-" + "1" * 32 + "-" + "2" * 16 + "-01", "Tracestate": "a=b"}
    _, body = await place.ask(headers=theirs)
    assert orjson.loads(body)["headers"]["traceparent"] == [theirs["Traceparent"]]
    story: list[str] = []
    current_span.set(RecordingSpan("ours", story))
    try:
        _, body = await place.ask(headers=theirs)
    finally:
        current_span.set(None)
    sent = orjson.loads(body)["headers"]
    assert sent["traceparent"] == ["HTTP GET"] and "tracestate" not in sent
    assert story == ["ours > HTTP GET", "HTTP GET.http.status_code = 200", "HTTP GET ended"]


@pytest_twisted.ensureDeferred
async def test_user_is_forwarded_in_headers(place: Place) -> None:
    """Name, groups, extra values and the audit ID are sent with this server's certificate; the client's own headers
    are removed."""
    response, data = await place.ask(
        "POST", body=b'{"a":1}',
        headers={
            "Content-Type": "application/json", "Authorization": "Bearer secret", "X-Remote-User": "evil", "Audit-Id": "theirs",
            "X-Remote-Extra-Foo": "bar", "Impersonate-User": "bob", "X-Other": "kept",
        },
    )  # fmt: skip
    seen = orjson.loads(data)
    assert response.code == 200 and ("Cache-Control", "no-cache, private") in response.headers
    assert (seen["method"], seen["uri"], seen["body"]) == ("POST", "/apis/g/v1/things?a=b&a=d+e", '{"a":1}')
    headers = {name: values for name, values in seen["headers"].items() if name.startswith("x-")}
    assert headers == {
        "x-remote-user": ["alice"], "x-remote-group": ["people", "others"], "x-remote-extra-scopes": ["a", "b"],
        "x-remote-extra-odd%20key%2f": ["c"], "x-forwarded-for": ["10.1.2.3"], "x-other": ["kept"],
    }  # fmt: skip
    assert seen["headers"]["audit-id"] == ["id-of-request"]
    assert "authorization" not in seen["headers"] and seen["certificate"] == "front-proxy-client"


@pytest_twisted.ensureDeferred
async def test_damaged_ca_bundle_fails_requests(place: Place) -> None:
    """Requests to a server whose APIService has an invalid caBundle fail; the probe does not verify certificates."""
    damaged = b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
    response, data = await place.ask(authority=damaged)
    assert response.code == 500 and data.startswith(b"unable to load root certificates: ")
    response, data = await place.ask(authority=b"none")
    assert data == b"unable to load root certificates: unable to parse bytes as PEM block\n"
    assert await place.forwarding().probe(place.server(authority=damaged)) == ""


@pytest.mark.parametrize("by_endpoints", [False, True])
@pytest_twisted.ensureDeferred
async def test_responses_are_forwarded_unchanged(place: Place, by_endpoints: bool) -> None:
    """Status, headers and body are forwarded, by the service's address or by an endpoint. Headers that let pages of
    other origins read this server's responses are not."""
    response, data = await place.ask(path="/apis/g/v1/teapot", by_endpoints=by_endpoints)
    assert (response.code, response.content_type, data) == (418, "text/plain", b"short and stout")
    headers = {name.lower(): value for name, value in response.headers}
    assert headers.pop("server").startswith("TwistedWeb")
    assert headers == {"cache-control": "private", "set-cookie": "a=b"}


@pytest_twisted.ensureDeferred
async def test_unavailable_server_is_503(place: Place) -> None:
    """The condition, the certificate, the address, or a refused connection make it a 503."""
    other = chain_pem(self_signed("other", names=["behind.ns.svc"], now=datetime.now(UTC)).certificate)
    for more, said in (
        ({"available": False}, b"service unavailable\n"),
        ({"authority": other}, b"error trying to reach service: certificate verify failed\n"),
        ({"service": "elsewhere"}, b"error trying to reach service: "),
        ({"port": 1}, b"service unavailable\n"),
    ):
        response, data = await place.ask(**more)
        assert response.code == 503 and data.startswith(said)
    place.service.obj = {"spec": {"clusterIP": "None", "ports": [{"port": place.port}]}}
    assert (await place.ask())[1] == b"service unavailable\n"
    place.service.obj = None
    assert (await place.ask())[1] == b"service unavailable\n"


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("https:%%[%x", "https://[/x"),
        ("%apis%g%x", "https://127.0.0.1:PORT/apis/g/x"), ("https:%%behind.ns.svc:PORT%x", "https://127.0.0.1:PORT/x"),
        ("https:%%other%x", "https://other/x"), ("x", "x"),
    ],
)  # fmt: skip
@pytest_twisted.ensureDeferred
async def test_redirects_to_the_server_itself_are_rewritten(place: Place, location: str, expected: str) -> None:
    """Redirects to the backend itself are rewritten to this server; others are unchanged."""
    response, _ = await place.ask(path="/to/" + location.replace("PORT", str(place.port)))
    assert dict(response.headers)["Location"] == expected.replace("PORT", str(place.port))


@pytest_twisted.ensureDeferred
async def test_insecure_skip_tls_verify(place: Place) -> None:
    """With insecureSkipTLSVerify any certificate is accepted."""
    response, _ = await place.ask(authority=b"", unchecked=True)
    assert response.code == 200


@pytest_twisted.ensureDeferred
async def test_availability_probe(place: Place) -> None:
    """A server is available if it answers discovery of its group and version."""
    forwarding = place.forwarding()
    assert await forwarding.probe(place.server()) == ""
    assert place.behind.asker == "prober"
    where = f"https://127.0.0.1:{place.port}/apis/g/teapot"
    why = f"failing or missing response from {where}: bad status from {where}: 418"
    assert await forwarding.probe(place.server(version="teapot")) == why
    place.endpoints.obj = None
    missing = place.forwarding(by_endpoints=True)
    assert await missing.probe(place.server()) == 'no endpoints available for service "behind"'


@pytest_twisted.ensureDeferred
async def test_discovery_documents_are_downloaded(place: Place) -> None:
    """Documents are downloaded with their Etags, as this server's user; the server's certificate is verified."""
    forwarding = place.forwarding()
    downloaded = await forwarding.download(place.server(), "/apis/tagged", accept="text/x", tag="")
    assert downloaded == Downloaded(code=200, content_type="application/json;a=b", tag="t", body=b"text/x")
    assert place.behind.asker == "prober"
    assert (await forwarding.download(place.server(), "/apis/tagged", accept="text/x", tag="t")).code == 304
    other = chain_pem(self_signed("other", names=["behind.ns.svc"], now=datetime.now(UTC)).certificate)
    for more, path, why in (
        ({"authority": other}, "/", "certificate verify failed"), ({"authority": b"none"}, "/", "unable to load root"),
        ({}, "/large", "more than"), ({}, "/broken", "lost"), ({"port": 1}, "/", "no service port"),
    ):  # fmt: skip
        with pytest.raises(OSError, match=why):
            await forwarding.download(place.server(**more), path, accept="", tag="")
