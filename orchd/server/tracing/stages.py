"""Stages and wrappers that record spans of requests and of their parts. They are not installed in a server without
tracing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any, Final, Protocol

from zope.interface import implementer

from orchd.kinds.users import MASTERS_GROUP, User
from orchd.server.authn.interfaces import Authenticated, Credentials
from orchd.server.authz.interfaces import Action, IAuthorizer, Rules, Verdict
from orchd.server.pipeline.interfaces import Next, Request, RequestInfo, Response
from orchd.server.pipeline.observed_stream import ObservedStream
from orchd.server.registry.interfaces import IAdmission, IReview
from orchd.txkit.tracing import RequestSpan, Span, Value, current_span, traced

#: Users whose trace contexts are followed: what others send must not decide how much is recorded.
_TRUSTED: Final = frozenset((MASTERS_GROUP, "system:monitoring"))
_HEADERS: Final = ("traceparent", "tracestate")
#: When authentication of the current request began and ended, in epoch seconds.
_authenticated: ContextVar[tuple[float, float] | None] = ContextVar("authenticated", default=None)
_HANDLERS: Final = {
    verb: verb.capitalize() for verb in ("get", "list", "watch", "create", "update", "patch", "delete")
} | {"deletecollection": "DeleteCollection"}


class RequestSpans(Protocol):
    """Makes the spans of requests (`telemetry.Telemetry`)."""

    def begin(
        self,
        name: str,
        attributes: Callable[[], Mapping[str, Value]],
        *,
        began: float,
        headers: Mapping[str, str],
        trusted: bool,
        below: Span | None,
    ) -> RequestSpan | None: ...


class RequestTrace:
    """The outermost stage. `authenticated` is the stage after authentication, where the span begins: only then it is
    known whether the client's trace context may be followed. The span has the time of the arrival. `wall` returns epoch
    seconds."""

    def __init__(self, spans: RequestSpans, wall: Callable[[], float]) -> None:
        self._spans, self._wall = spans, wall

    async def __call__(self, request: Request, then: Next) -> Response:
        previous = current_span.get()
        # The span of work that has ended is not that of this request: background work keeps it.
        outer = None if previous is None or previous.ended else previous
        if outer is not None and not outer.recording:
            # A request of this process, below a span that is not sampled.
            return await then(request)
        current_span.set(outer)
        began = self._wall()
        request.trace.began = began
        _authenticated.set(None)
        try:
            response = await then(request)
        except BaseException as error:
            self._begin(request, began, outer)
            self._end(request, str(error) or type(error).__name__)
            raise
        finally:
            current_span.set(previous)
        self._begin(request, began, outer)
        span = request.trace.span
        if span is not None:
            span.set("http.status_code", response.code)
            if response.stream is not None and span.recording:
                response.stream = ObservedStream(response.stream, lambda: self._end(request, ""))
            else:
                self._end(request, f"status {response.code}" if response.code >= 500 else "")
        return response

    async def authenticated(self, request: Request, then: Next) -> Response:
        """The stage after authentication."""
        if request.trace.began:
            self._begin(request, request.trace.began, current_span.get())
            if request.trace.span is not None:
                current_span.set(request.trace.span)
        return await then(request)

    def _begin(self, request: Request, began: float, outer: Span | None) -> None:
        """Begin the span of a request, unless it has begun."""
        if request.trace.span is not None:
            return
        user = request.user
        span = self._spans.begin(
            span_name(request.method, request.info),
            lambda: _attributes(request),
            began=began,
            headers={name: request.header(name) for name in _HEADERS if name in request.headers},
            trusted=user is not None and not _TRUSTED.isdisjoint(user.groups),
            below=outer,
        )
        moments = _authenticated.get()
        if span is not None and moments is not None and span.recording:
            span.past("Authentication", *moments)
        request.trace.span = span

    def _end(self, request: Request, why: str) -> None:
        span = request.trace.span
        if span is not None:
            if why:
                span.fail(why)
            span.end()


def span_name(method: str, info: RequestInfo | None) -> str:
    """The method and, for resources, the path without names."""
    if info is None or not info.is_resource:
        return method
    parts = [info.prefix, info.group, info.version]
    if info.namespace:
        parts += ["namespaces", "{:namespace}"]
    parts += [info.resource, "{:name}" if info.name else "", info.subresource]
    return f"{method} /" + "/".join(part for part in parts if part)


def _attributes(request: Request) -> dict[str, Value]:
    attributes: dict[str, Value] = {
        "http.method": request.method,
        "http.target": request.uri(),
        "http.user_agent": request.header("user-agent"),
        "net.peer.ip": request.credentials.remote,
        "audit-id": request.trace.audit_id,
    }
    return {name: value for name, value in attributes.items() if value}


class IChain(Protocol):
    """The authenticator chain."""

    async def authenticate(self, credentials: Credentials) -> Authenticated: ...


class TracedChain:
    """Notes when authentication began and ended, for a span that begins later."""

    def __init__(self, chain: IChain, wall: Callable[[], float]) -> None:
        self._chain, self._wall = chain, wall

    async def authenticate(self, credentials: Credentials) -> Authenticated:
        began = self._wall()
        try:
            return await self._chain.authenticate(credentials)
        finally:
            _authenticated.set((began, self._wall()))


@implementer(IAuthorizer)
class TracedAuthorizer:
    """Spans of authorization with the decision."""

    def __init__(self, inner: IAuthorizer) -> None:
        self._inner = inner
        self.name = inner.name

    async def authorize(self, action: Action) -> Verdict:
        with traced("Authorization") as span:
            verdict = await self._inner.authorize(action)
            if span is not None:
                span.set("decision", verdict.decision.value)
                if verdict.error:
                    span.fail(verdict.error)
            return verdict

    def rules(self, user: User, namespace: str) -> Rules:
        return self._inner.rules(user, namespace)


async def handler_trace(request: Request, then: Next) -> Response:
    """The innermost stage: the span of the verb of a resource request."""
    info = request.info
    if info is None or not info.is_resource:
        return await then(request)
    with traced(_HANDLERS.get(info.verb, info.verb), {"resource": info.resource, "subresource": info.subresource}):
        return await then(request)


@implementer(IAdmission)
class TracedAdmission:
    """Spans of mutating and validating admission."""

    def __init__(self, inner: IAdmission) -> None:
        self._inner = inner

    def review(self, *arguments: Any, **keywords: Any) -> IReview:
        return _TracedReview(self._inner.review(*arguments, **keywords))


@implementer(IReview)
class _TracedReview:
    def __init__(self, inner: IReview) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def mutate(self, obj: Any) -> Any:
        with traced("Mutating admission"):
            return await self._inner.mutate(obj)

    async def validate(self, *arguments: Any, **keywords: Any) -> None:
        with traced("Validating admission"):
            await self._inner.validate(*arguments, **keywords)
