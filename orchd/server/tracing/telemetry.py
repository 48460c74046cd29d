"""Spans of the OpenTelemetry library, and the way to the collector.

Spans are sent by a thread of the library. Its queue is bounded: when the collector is slow or away, the oldest spans
are dropped, and the reactor never waits.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, SpanKind, Status, StatusCode, get_current_span, set_span_in_context
from opentelemetry.trace import Span as OtelSpan
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from twisted.internet.defer import Deferred, TimeoutError

from orchd.txkit.log import Logger
from orchd.txkit.timeouts import within
from orchd.txkit.tracing import Span, Value

_SERVICE: Final = "apiserver"
#: Spans that wait for the collector, spans of one message to it, and seconds between messages.
_WAITING, _BATCH, _EVERY = 2048, 512, 5.0
#: Timeout of a message in seconds, and the time that the end of the process waits for the last ones.
_TIMEOUT, _PATIENCE = 10.0, 2.0
#: Maximum length of an attribute.
_LONGEST: Final = 4096
_NANOSECONDS: Final = 10**9
_PROPAGATOR: Final = TraceContextTextMapPropagator()
#: Loggers of the library that report each failed message, of which `Delivery` reports the first, and each long
#: attribute and invalid header of a request: clients must not fill the log.
_NOISY: Final = (
    "opentelemetry.exporter.otlp.proto.grpc.exporter", "opentelemetry.sdk._shared_internal",
    "opentelemetry.attributes", "opentelemetry.trace",
)  # fmt: skip


class Delivery(SpanExporter):
    """Sends with `inner` and counts spans by outcome. The first failure after a success is logged, and the next
    success."""

    _log = Logger()

    def __init__(self, inner: SpanExporter, endpoint: str) -> None:
        self._inner, self._endpoint = inner, endpoint
        self._failing = False
        self.sent = self.failed = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        result = self._inner.export(spans)
        failed = result is not SpanExportResult.SUCCESS
        if failed:
            self.failed += len(spans)
        else:
            self.sent += len(spans)
        if failed is not self._failing:
            self._failing = failed
            if failed:
                self._log.warn("failed to send traces to {endpoint}: they are dropped", endpoint=self._endpoint)
            else:
                self._log.info("traces are sent to {endpoint}", endpoint=self._endpoint)
        return result

    def shutdown(self) -> None:
        self._inner.shutdown()

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return self._inner.force_flush(timeout_millis)


class TelemetrySpan:
    """A span of the library; see `orchd.txkit.tracing.Span`."""

    __slots__ = ("_context", "_span", "_tracer", "ended")

    def __init__(self, tracer: Any, span: OtelSpan) -> None:
        self._tracer, self._span = tracer, span
        self.ended = False
        self._context = set_span_in_context(span, Context())

    @property
    def recording(self) -> bool:
        return not self.ended and self._span.is_recording()

    def child(self, name: str, attributes: Mapping[str, Value], *, outgoing: bool = False) -> TelemetrySpan:
        kind = SpanKind.CLIENT if outgoing else SpanKind.INTERNAL
        return TelemetrySpan(
            self._tracer, self._tracer.start_span(name, context=self._context, kind=kind, attributes=attributes)
        )

    def past(self, name: str, began: float, ended: float) -> None:
        """Add a span that has ended. Times are epoch seconds."""
        span = self._tracer.start_span(name, context=self._context, start_time=_nanoseconds(began))
        span.end(_nanoseconds(ended))

    def set(self, name: str, value: Value) -> None:
        self._span.set_attribute(name, value)

    def fail(self, why: str) -> None:
        self._span.set_status(Status(StatusCode.ERROR, why[:_LONGEST]))

    def end(self) -> None:
        self.ended = True
        self._span.end()

    def headers(self) -> Mapping[str, str]:
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier, self._context)
        return carrier


def _nanoseconds(seconds: float) -> int:
    return int(seconds * _NANOSECONDS)


def _in_daemon_thread(work: Callable[[], None]) -> None:
    threading.Thread(target=work, name="end of traces", daemon=True).start()


class Telemetry:
    """Makes the spans of requests. `ratio` of those without a sampled parent is sampled. `exporter` replaces the
    connection to `endpoint`, the gRPC target of a collector; `instance` names this server. Nothing is connected before
    `start`, since a daemon forks after its parts were made. `in_thread` runs what blocks, in a thread that does not
    keep the process."""

    def __init__(
        self,
        endpoint: str,
        ratio: float,
        *,
        reactor: Any,
        instance: str,
        exporter: Callable[[], SpanExporter] | None = None,
        in_thread: Callable[[Callable[[], None]], object] = _in_daemon_thread,
    ) -> None:
        self._endpoint, self._ratio, self._reactor, self._instance = endpoint, ratio, reactor, instance
        self._exporter = exporter or (lambda: OTLPSpanExporter(endpoint=endpoint, insecure=True, timeout=_TIMEOUT))
        self._in_thread = in_thread
        self._tracer: Any = None
        self._processor: BatchSpanProcessor | None = None
        self.delivery: Delivery | None = None

    async def start(self) -> None:
        """Connect to the collector in the background, and begin to record."""
        for name in _NOISY:
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self.delivery = Delivery(self._exporter(), self._endpoint)
        self._processor = BatchSpanProcessor(
            self.delivery, max_queue_size=_WAITING, max_export_batch_size=_BATCH, schedule_delay_millis=_EVERY * 1000
        )
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(self._ratio)),
            resource=Resource({"service.name": _SERVICE, "service.instance.id": self._instance}),
            span_limits=SpanLimits(max_span_attribute_length=_LONGEST),
            shutdown_on_exit=False,
        )
        provider.add_span_processor(self._processor)
        self._tracer = provider.get_tracer(_SERVICE)

    async def stop(self) -> None:
        """Send what waits, for at most two seconds. The thread that does it does not keep the process."""
        processor, self._processor, self._tracer = self._processor, None, None
        if processor is None:
            return
        done: Deferred[None] = Deferred()

        def finish() -> None:
            processor.shutdown()  # type: ignore[no-untyped-call]  # of the library
            self._reactor.callFromThread(lambda: None if done.called else done.callback(None))

        self._in_thread(finish)
        try:
            await within(done, _PATIENCE, self._reactor)
        except TimeoutError:
            Logger().warn("pending traces for {endpoint} are dropped", endpoint=self._endpoint)

    def flush(self) -> None:
        """Send what waits, in this thread. For tests."""
        if self._processor is not None:
            self._processor.force_flush()

    def begin(
        self,
        name: str,
        attributes: Callable[[], Mapping[str, Value]],
        *,
        began: float,
        headers: Mapping[str, str],
        trusted: bool,
        below: Span | None,
    ) -> TelemetrySpan | None:
        """The span of a request that was received at `began` (epoch seconds); None before `start` and after `stop`.
        `attributes` is called if the request is sampled.

        It is below the span `below` of this process, or that in the `headers` of a `trusted` client, whose sampling
        decision it follows. Those of other clients are linked: they must not decide how much this server records."""
        if self._tracer is None:
            return None
        context, links = Context(), []
        if isinstance(below, TelemetrySpan):
            context = below._context
        elif headers:
            remote = _PROPAGATOR.extract(headers, Context())
            if trusted:
                context = remote
            else:
                links = [Link(span.get_span_context()) for span in _spans(remote)]
        kind = SpanKind.INTERNAL if below is not None else SpanKind.SERVER
        span = self._tracer.start_span(name, context=context, kind=kind, links=links, start_time=_nanoseconds(began))
        if span.is_recording():
            span.set_attributes(attributes())
        return TelemetrySpan(self._tracer, span)


def _spans(context: Context) -> list[OtelSpan]:
    """The span in a context, if there is one."""
    span = get_current_span(context)
    return [span] if span.get_span_context().is_valid else []
