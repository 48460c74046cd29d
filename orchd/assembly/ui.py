"""The web page of one server (--ui): its stages, its endpoints, and the audit events and samples of metrics that it
shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from orchd.assembly.runtime import Runtime
from orchd.kinds.catalog import builtin_catalog
from orchd.server.pipeline.audit.tail import PATH, AuditTail
from orchd.server.pipeline.endpoints.routes import Endpoint
from orchd.server.pipeline.interfaces import Stage
from orchd.server.pipeline.verbs.context import BODY_LIMIT
from orchd.server.ui.conversion import Compute, ConversionStage
from orchd.server.ui.files import page_files
from orchd.server.ui.metric_history import PATH as METRICS
from orchd.server.ui.metric_history import MetricHistory
from orchd.server.ui.stages import LocalPage, SessionStage, names_of, page_endpoints
from orchd.txkit.metrics.instruments import Instrument
from orchd.txkit.services import Member, as_member


class Page:
    """The web page, served according to --ui: to clients on this machine (auto), to all clients (true) or not at all
    (false)."""

    def __init__(self, runtime: Runtime, instruments: Callable[[], Iterable[Instrument]]) -> None:
        """`instruments` returns the metrics of the server."""
        settings = runtime.settings
        mode = settings.serving.ui
        self._dialect, self._release = settings.dialect, settings.release
        self._enabled, self._everywhere = mode != "false", mode == "true"
        self._files = page_files() if self._enabled else {}
        #: None without the page.
        self.tail = AuditTail() if self._enabled else None
        #: None without the page.
        self.history = MetricHistory(instruments, runtime.reactor, runtime.wall) if self._enabled else None

    def before_authentication(self) -> list[Stage]:
        return [LocalPage(self._files)] if self._enabled else []

    def before_authorization(self) -> list[Stage]:
        if not self._enabled:
            return []
        groups = {each.group for each in builtin_catalog(self._dialect, self._release).resources}
        return [SessionStage({**names_of(self._dialect), "groups": sorted(groups)}, local=not self._everywhere)]

    def after_limits(self, compute: Compute) -> list[Stage]:
        return [ConversionStage(compute, limit=BODY_LIMIT, local=not self._everywhere)] if self._enabled else []

    def endpoints(self) -> Mapping[str, Endpoint]:
        """Endpoints behind authorization."""
        endpoints: dict[str, Endpoint] = {}
        if self.tail is not None:
            endpoints[PATH] = self.tail.respond
        if self.history is not None:
            endpoints[METRICS] = self.history.respond
        return {**endpoints, **page_endpoints(self._files)} if self._everywhere else endpoints

    def members(self) -> list[Member]:
        """The samples of metrics."""
        history = self.history
        return [] if history is None else [as_member("samples of metrics", history.start, history.stop)]

    def end(self) -> None:
        """End the streams of the page: the server stops."""
        if self.tail is not None:
            self.tail.end()
