"""Traces of one server, from --tracing-config-file. Without the flag no part of the server is wrapped."""

from __future__ import annotations

from collections.abc import Iterator
from socket import gethostname
from typing import TYPE_CHECKING, cast

from orchd.assembly.reload_metrics import server_identity
from orchd.assembly.runtime import Runtime
from orchd.config.documents.tracing import parse_tracing
from orchd.server.authz.interfaces import IAuthorizer
from orchd.server.pipeline.interfaces import Stage
from orchd.server.registry.interfaces import IAdmission
from orchd.server.tracing.stages import (
    IChain,
    RequestTrace,
    TracedAdmission,
    TracedAuthorizer,
    TracedChain,
    handler_trace,
)
from orchd.store.interfaces import IStore
from orchd.store.traced import TracedStore
from orchd.txkit.config_file_watcher import read_limited
from orchd.txkit.metrics.instruments import Instrument, ObservedGauge
from orchd.txkit.services import Member, as_member

if TYPE_CHECKING:
    from orchd.server.tracing.telemetry import Telemetry

_FLAG = "--tracing-config-file"


class Traces:
    """Wraps the parts of a server that have spans, if tracing is configured."""

    def __init__(self, runtime: Runtime) -> None:
        """Raises ValueError naming the flag, the file and the field, or the library that is missing."""
        self._runtime = runtime
        self.telemetry = _telemetry(runtime)
        self._stage = None if self.telemetry is None else RequestTrace(self.telemetry, runtime.wall)

    def outermost(self) -> list[Stage]:
        """The stage around all others."""
        return [] if self._stage is None else [self._stage]

    def after_authentication(self) -> list[Stage]:
        return [] if self._stage is None else [self._stage.authenticated]

    def innermost(self) -> list[Stage]:
        """The stage before the verbs."""
        return [] if self._stage is None else [handler_trace]

    def store(self, store: IStore) -> IStore:
        """The store for requests."""
        return store if self._stage is None else cast("IStore", TracedStore(store))

    def chain(self, chain: IChain) -> IChain:
        return chain if self._stage is None else TracedChain(chain, self._runtime.wall)

    def authorizer(self, authorizer: IAuthorizer) -> IAuthorizer:
        return authorizer if self._stage is None else TracedAuthorizer(authorizer)

    def admission(self, admission: IAdmission) -> IAdmission:
        return admission if self._stage is None else TracedAdmission(admission)

    def members(self) -> list[Member]:
        """The connection to the collector; stops after all that is traced."""
        telemetry = self.telemetry
        return [] if telemetry is None else [as_member("traces", telemetry.start, telemetry.stop)]

    @property
    def instruments(self) -> Iterator[Instrument]:
        """Delivered spans; none without traces."""
        telemetry = self.telemetry
        if telemetry is None:
            return

        def spans() -> dict[tuple[str, ...], float]:
            delivery = telemetry.delivery
            return {} if delivery is None else {("sent",): float(delivery.sent), ("failed",): float(delivery.failed)}

        yield ObservedGauge("orchd_trace_spans", "Spans for the collector, by result.", spans, ("outcome",))


def _telemetry(runtime: Runtime) -> Telemetry | None:
    path = runtime.settings.tracing_file
    if not path:
        return None
    try:
        chosen = parse_tracing(read_limited(path), runtime.dialect)
    except (OSError, ValueError) as error:
        raise ValueError(f"{_FLAG}: {path}: {error}") from error
    try:
        # An optional dependency.
        from orchd.server.tracing.telemetry import Telemetry
    except ImportError as error:
        raise ValueError(f"{_FLAG}: needs the OpenTelemetry library (install orchd[tracing]): {error}") from error
    return Telemetry(chosen.endpoint, chosen.ratio, reactor=runtime.reactor, instance=server_identity(gethostname()))
