"""The current trace span, carried in a context variable like `log.current_request`, and its child spans.

Instrumented code asks for the current span; without one, and for unsampled requests, this costs one lookup. Only the
code that creates the first span of a request (`orchd.server.tracing`) depends on the tracing library.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Protocol

Value = str | int | float | bool


class Span(Protocol):
    """One operation of a trace. Spans that are not sampled are not `recording`; their context is passed on
    nevertheless. A span does not record any more after `end`."""

    @property
    def recording(self) -> bool: ...

    @property
    def ended(self) -> bool:
        """True after `end`. Background work that began inside of an operation may see its span long after."""

    def child(self, name: str, attributes: Mapping[str, Value], *, outgoing: bool = False) -> Span:
        """A span below this one, which begins now; `outgoing` for a request to another server. Only while
        `recording`."""

    def set(self, name: str, value: Value) -> None:
        """Set an attribute."""

    def fail(self, why: str) -> None:
        """Mark the operation as failed."""

    def end(self) -> None:
        """The operation has ended."""

    def headers(self) -> Mapping[str, str]:
        """Headers that pass the trace context on to another server (W3C Trace Context)."""


class RequestSpan(Span, Protocol):
    """The span of a request."""

    def past(self, name: str, began: float, ended: float) -> None:
        """Add a span that has ended. Times are epoch seconds."""


#: The span of the work that is going on; None outside of traces.
current_span: ContextVar[Span | None] = ContextVar("current_span", default=None)


class traced:
    """``with traced(name, attributes) as span:`` makes a span below the current one, and the current one inside.

    `span` is None where nothing is recorded. An exception marks the span as failed.
    """

    __slots__ = ("_attributes", "_name", "_outer", "_outgoing", "_span")

    def __init__(self, name: str, attributes: Mapping[str, Value] | None = None, *, outgoing: bool = False) -> None:
        self._name, self._attributes, self._outgoing = name, attributes or {}, outgoing
        self._outer: Span | None = None
        self._span: Span | None = None

    def __enter__(self) -> Span | None:
        outer = current_span.get()
        if outer is None or not outer.recording:
            return None
        self._outer = outer
        self._span = outer.child(self._name, self._attributes, outgoing=self._outgoing)
        current_span.set(self._span)
        return self._span

    def __exit__(
        self, sort: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        span = self._span
        if span is None:
            return
        current_span.set(self._outer)
        if error is not None:
            span.fail(str(error) or type(error).__name__)
        span.end()


def trace_headers() -> Mapping[str, str]:
    """Headers that pass the current trace context on; none outside of traces."""
    span = current_span.get()
    return {} if span is None or span.ended else span.headers()
