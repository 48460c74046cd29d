"""Spans of requests, with an in-memory exporter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from twisted.internet.task import Clock

from orchd import errors
from orchd.kinds.users import User
from orchd.server.authn.interfaces import Authenticated, Credentials
from orchd.server.authz.always import AlwaysAllow
from orchd.server.authz.interfaces import Action
from orchd.server.pipeline.interfaces import Next, Request, Response
from orchd.server.pipeline.pipeline import Pipeline
from orchd.server.pipeline.query import Query
from orchd.server.pipeline.stages.access import Authentication
from orchd.server.tracing.stages import RequestTrace, TracedAuthorizer, TracedChain, handler_trace
from orchd.server.tracing.telemetry import Telemetry
from orchd.store.memory import MemoryStore
from orchd.store.traced import TracedStore
from orchd.testing.doubles.results import result_of
from orchd.testing.doubles.server import BytesBody, StillReactor
from orchd.txkit.tracing import current_span, trace_headers, traced

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
TRACE, UNSAMPLED = PARENT.split("-")[1], PARENT[:-1] + "0"
MASTER, ANN = User(name="root", groups=("system:masters",)), User(name="ann")


class Chain:
    def __init__(self, user: User | None) -> None:
        self.user = user

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        if self.user is None:
            raise errors.unauthorized()
        return Authenticated(user=self.user)


async def answers_errors(request: Request, then: Next) -> Response:
    try:
        return await then(request)
    except errors.ApiError as error:
        return Response(code=error.code)


class Server:
    """A pipeline with tracing around `response`."""

    def __init__(self, ratio: float, answer: Callable[[Request], Any], user: User | None = ANN) -> None:
        self.exporter = InMemorySpanExporter()
        self.telemetry = Telemetry(
            "nowhere:1",
            ratio,
            reactor=StillReactor(),
            instance="me",
            exporter=lambda: self.exporter,
            in_thread=lambda work: work(),
        )
        self.now = 100.0
        self.answer = answer
        self.user = user
        stage = RequestTrace(self.telemetry, self.wall)
        self.authorizer = TracedAuthorizer(AlwaysAllow())
        self.pipeline = Pipeline(
            [
                stage,
                answers_errors,
                Authentication(TracedChain(self, self.wall)),
                stage.authenticated,
                self.authorized,
                handler_trace,
            ],
            lambda request: self.answer(request),
            Random(1),
        )
        result_of(self.telemetry.start())

    def wall(self) -> float:
        self.now += 1
        return self.now

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        return await Chain(self.user).authenticate(credentials)

    async def authorized(self, request: Request, then: Next) -> Response:
        assert request.user is not None
        await self.authorizer.authorize(Action(user=request.user, verb="get", path="/"))
        return await then(request)

    async def get(self, path: str = "/api/v1/namespaces/n/pods/p", query: str = "", **headers: str) -> Response:
        named: Mapping[str, tuple[str, ...]] = {name: (value,) for name, value in headers.items()}
        return await self.pipeline.handle(Request(
            method="GET", path=path, raw_path=path, query=Query.of({"q": (query,)} if query else {}), headers=named,
            body=BytesBody(b""), credentials=Credentials(headers=named, remote="192.0.2.1"), received=0.0,
        ))  # fmt: skip

    def spans(self) -> dict[str, ReadableSpan]:
        self.telemetry.flush()
        return {span.name: span for span in self.exporter.get_finished_spans()}


async def fine(request: Request) -> Response:
    return Response(code=200)


def parent(span: ReadableSpan) -> int:
    return int(span.parent.span_id) if span.parent is not None else 0


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return int(span.context.span_id)


def trace_id(span: ReadableSpan) -> str:
    assert span.context is not None
    return f"{span.context.trace_id:032x}"


def test_request_span_tree() -> None:
    """The request is the root span; authentication, authorization and the verb are its children, the store a child of
    the verb."""
    memory = MemoryStore(Clock())
    memory.start()
    store: Any = TracedStore(memory)

    async def answer(request: Request) -> Response:
        await store.create("/pods/n/p", b"{}")
        return Response(code=200)

    server = Server(1.0, answer)
    response = result_of(server.get(query="x", **{"user-agent": "me"}))
    spans = server.spans()
    root = spans["GET /api/v1/namespaces/{:namespace}/pods/{:name}"]
    assert set(spans) == {root.name, "Authentication", "Authorization", "Get", "store create"}
    assert dict(response.headers)["Audit-Id"] == (root.attributes or {})["audit-id"]
    assert {k: v for k, v in (root.attributes or {}).items() if k != "audit-id"} == {
        "http.method": "GET", "http.target": "/api/v1/namespaces/n/pods/p?q=x", "http.user_agent": "me",
        "net.peer.ip": "192.0.2.1", "http.status_code": 200,
    }  # fmt: skip
    assert root.kind is SpanKind.SERVER and parent(root) == 0
    assert (
        root.resource.attributes["service.name"] == "apiserver"
        and root.resource.attributes["service.instance.id"] == "me"
    )
    assert {parent(spans[name]) for name in ("Authentication", "Authorization", "Get")} == {span_id(root)}
    assert parent(spans["store create"]) == span_id(spans["Get"])
    assert (spans["Authorization"].attributes or {})["decision"] == "allow"
    assert (spans["store create"].attributes or {})["key"] == "/pods/n/p"
    # The span begins when the request arrives, before it is authenticated.
    began, known = root.start_time, spans["Authentication"].start_time
    assert began is not None and known is not None and began < known
    assert current_span.get() is None


@pytest.mark.parametrize(("user", "ratio", "header", "recorded", "followed"), [
    (MASTER, 0.0, PARENT, True, True),
    (MASTER, 1.0, UNSAMPLED, False, True),
    (MASTER, 0.0, "", False, False),
    (User(name="m", groups=("system:monitoring",)), 0.0, PARENT, True, True),
    (ANN, 0.0, PARENT, False, False),
    (ANN, 1.0, UNSAMPLED, True, False),
    (ANN, 1.0, "rubbish", True, False),
    (None, 0.0, PARENT, False, False),
])  # fmt: skip
def test_sampling_follows_trusted_clients(
    user: User | None, ratio: float, header: str, recorded: bool, followed: bool
) -> None:
    """The sampling decision of trusted clients is followed; traces of other clients are only linked."""
    passed: list[str] = []

    async def answer(request: Request) -> Response:
        passed.append(dict(trace_headers()).get("traceparent", ""))
        return Response(code=200)

    server = Server(ratio, answer, user)
    result_of(server.get(**({"traceparent": header} if header else {})))
    spans = server.spans()
    assert bool(spans) is recorded
    if recorded:
        root = next(span for span in spans.values() if span.kind is SpanKind.SERVER)
        assert (trace_id(root) == TRACE) is followed
        links = [f"{link.context.trace_id:032x}" for link in root.links]
        assert links == ([TRACE] if header in (PARENT, UNSAMPLED) and not followed else [])
    if user is not None:
        # The context is propagated even if nothing is recorded, so that others decide likewise.
        _, trace, _, flags = passed[0].split("-")
        assert (trace == TRACE) is followed and bool(int(flags, 16) & 1) is recorded


def test_failed_spans() -> None:
    """Rejected credentials have a span; server errors and exceptions are failed spans."""
    rejected = Server(1.0, fine, None)
    assert result_of(rejected.get()).code == 401
    (root,) = (span for name, span in rejected.spans().items() if name.startswith("GET"))
    assert (root.attributes or {})["http.status_code"] == 401 and root.status.status_code is StatusCode.UNSET

    async def broken(request: Request) -> Response:
        with traced("part"):
            raise errors.internal("no luck")

    failing = Server(1.0, broken)
    assert result_of(failing.get("/version")).code == 500
    spans = failing.spans()
    assert spans["GET"].status.status_code is StatusCode.ERROR
    assert spans["part"].status.description == "Internal error occurred: no luck"


def test_client_input_is_bounded_in_spans_and_log(caplog: pytest.LogCaptureFixture) -> None:
    """Long queries are truncated and invalid headers ignored, without a log line of the library per request."""
    server = Server(1.0, fine)
    headers = {"traceparent": "ff" + PARENT[2:] + "-" + "b" * 1000, "tracestate": "=" * 1000}
    assert result_of(server.get(query="x" * 5000, **headers)).code == 200
    (root,) = (span for name, span in server.spans().items() if name.startswith("GET"))
    assert len(str((root.attributes or {})["http.target"])) == 4096
    assert not caplog.records


def test_nested_requests_are_child_spans() -> None:
    """A request of the server to itself is a child of the span that caused it, or not recorded if that one is not."""

    async def nested(request: Request) -> Response:
        if request.path == "/api/v1/nodes":
            return Response(code=200)
        before = current_span.get()
        response = await server.get("/api/v1/nodes")
        assert before is not None and current_span.get() is before
        return response

    server = Server(1.0, nested)
    result_of(server.get("/api/v1/pods"))
    spans = server.spans()
    inner = spans["GET /api/v1/nodes"]
    assert inner.kind is SpanKind.INTERNAL and trace_id(inner) == trace_id(spans["GET /api/v1/pods"]) and parent(inner)
    server = Server(0.0, nested)
    result_of(server.get("/api/v1/pods"))
    assert server.spans() == {}


def test_background_work_after_the_request_records_nothing() -> None:
    """Background work that a request starts records nothing after the request has ended."""
    kept: list[Any] = []

    async def answer(request: Request) -> Response:
        kept.append(current_span.get())
        return Response(code=200)

    server = Server(1.0, answer)
    result_of(server.get())
    count = len(server.spans())
    current_span.set(kept[0])
    try:
        with traced("late") as span:
            assert span is None
    finally:
        current_span.set(None)
    assert len(server.spans()) == count


def test_later_requests_begin_their_own_trace() -> None:
    """A request that background work makes later is the root of its own trace, and the context is unchanged."""
    kept: list[Any] = []

    async def answer(request: Request) -> Response:
        kept.append(current_span.get())
        return Response(code=200)

    server = Server(1.0, answer)
    result_of(server.get("/api/v1/pods"))

    async def later() -> None:
        current_span.set(kept[0])
        await server.get("/api/v1/nodes")
        assert current_span.get() is kept[0]

    result_of(later())
    spans = server.spans()
    first, second = spans["GET /api/v1/pods"], spans["GET /api/v1/nodes"]
    assert parent(second) == 0 and trace_id(first) != trace_id(second) and second.kind is SpanKind.SERVER


def test_requests_without_a_collector_are_served() -> None:
    """Without a connection to a collector requests are served as usual."""
    server = Server(1.0, fine)
    result_of(server.telemetry.stop())
    assert result_of(server.get()).code == 200 and server.exporter.get_finished_spans() == ()
    result_of(server.telemetry.stop())
