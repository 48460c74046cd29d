"""A trace collector that accepts OTLP over gRPC and keeps the spans."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc  # type: ignore[import-untyped]  # without types
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as messages
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """One span."""

    name: str
    trace: str
    id: str
    parent: str
    attributes: dict[str, Any]
    resource: dict[str, Any]


class Collector(service.TraceServiceServicer):
    """Listens on a free local port while its block runs."""

    def __init__(self) -> None:
        self._server = grpc.server(ThreadPoolExecutor(2))
        service.add_TraceServiceServicer_to_server(self, self._server)  # type: ignore[no-untyped-call]  # generated
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._lock = threading.Lock()
        self._spans: list[Received] = []

    def __enter__(self) -> Collector:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop(None).wait()

    @property
    def spans(self) -> list[Received]:
        with self._lock:
            return list(self._spans)

    def named(self, name: str) -> list[Received]:
        return [span for span in self.spans if span.name == name]

    def Export(self, request: Any, context: Any) -> Any:
        with self._lock:
            for group in request.resource_spans:
                resource = _plain(group.resource.attributes)
                for scope in group.scope_spans:
                    self._spans += [
                        Received(
                            name=span.name, trace=span.trace_id.hex(), id=span.span_id.hex(), parent=span.parent_span_id.hex(),
                            attributes=_plain(span.attributes), resource=resource,
                        )
                        for span in scope.spans
                    ]  # fmt: skip
        return messages.ExportTraceServiceResponse()


def _plain(attributes: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in attributes}
