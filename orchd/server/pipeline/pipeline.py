"""The pipeline: its stages as a list in running order (docs/decisions.md 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from random import Random
from time import perf_counter
from typing import Final

from zope.interface import implementer

from orchd.kinds.naming import random_uuid
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import IPipeline, Next, Request, Response, Stage
from orchd.txkit.log import current_request
from orchd.txkit.metrics.instruments import Distribution

#: Maximum characters of all warnings together, and of each one beyond that.
_WARNINGS, _CUT_WARNING = 4096, 256
#: Requests are measured whose number has none of these bits.
_UNMEASURED = 63
_SECONDS: Final = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 5.0)
#: Bucket upper bounds in seconds of the stages, by the release that begins them.
FILTER_SECONDS: Final[tuple[tuple[str, tuple[float, ...]], ...]] = (("", _SECONDS), ("1.24", (*_SECONDS, 10, 15, 30)))


@implementer(IPipeline)
class Pipeline:
    """Runs a request through `stages`, in order; the last one calls `response` (the verbs)."""

    def __init__(
        self,
        stages: Sequence[Stage],
        response: Callable[[Request], Awaitable[Response]],
        random: Random,
        timed: Mapping[Stage, str] | None = None,
        bounds: Sequence[float] = _SECONDS,
    ) -> None:
        """`timed` names the stages whose duration is measured, in one of 64 requests: measuring costs more than some of
        them. `bounds` are those of the durations (`FILTER_SECONDS`)."""
        self.stages = tuple(stages)
        entrance: Next = response
        measured: Next = response
        for stage in reversed(self.stages):
            entrance = _joined(stage, entrance)
            name = (timed or {}).get(stage)
            measured = _joined(stage if name is None else partial(self._enter_timed, stage, name), measured)
        self._entrance, self._measured = entrance, measured
        self._handled = 0
        self._filters = Distribution(
            "apiserver_request_filter_duration_seconds", "Duration of a request stage in seconds, measured in "
                "one of 64 requests.",
            bounds, ("filter",),
        )  # fmt: skip
        #: Metrics.
        self.instruments = (self._filters,)
        self._random = random

    async def handle(self, request: Request) -> Response:
        if request.info is None:
            try:
                request.info = requestinfo.parse(request.method, request.path, request.query)
            except Exception as error:  # raised by the failure stage; the stages around it count and log the request
                request.info, request.parse_error = requestinfo.plain(request.method, request.path), error
        request.trace.audit_id = request.header("audit-id") or random_uuid(self._random)
        # Requests of local clients run inside of other work, whose log lines are not theirs.
        outer = current_request.get()
        current_request.set(request.trace.audit_id)
        self._handled += 1
        try:
            response = await (self._entrance if self._handled & _UNMEASURED else self._measured)(request)
        finally:
            current_request.set(outer)
        if request.warnings:
            for text in _truncate(list(dict.fromkeys(request.warnings))):
                response.headers.append(("Warning", f'299 - "{_quote(text)}"'))
        response.headers += request.response_headers
        response.headers.append(("Audit-Id", request.trace.audit_id))
        return response

    def _enter_timed(self, stage: Stage, name: str, request: Request, then: Next) -> Awaitable[Response]:
        began = perf_counter()

        def ended(passed: Request) -> Awaitable[Response]:
            self._filters.observe(perf_counter() - began, name)
            return then(passed)

        return stage(request, ended)


def _joined(stage: Stage, then: Next) -> Next:
    """`stage` and, after it, the rest of the pipeline."""
    # The interpreter calls a method without leaving its loop, unlike an object or a partial.
    enter = stage.__call__

    def call(request: Request) -> Awaitable[Response]:
        return enter(request, then)

    return call


def _truncate(texts: list[str]) -> list[str]:
    """Warnings within the limits of response headers: long texts are truncated, further ones dropped."""
    if sum(map(len, texts)) <= _WARNINGS:
        return texts
    out: list[str] = []
    written = 0
    for text in texts:
        if written >= _WARNINGS:
            break
        out.append(text[:_CUT_WARNING])
        written += len(out[-1])
    return out


def _quote(text: str) -> str:
    """Content of a quoted-string (RFC 7234, section 5.5): backslashes and quotes escaped, no control characters."""
    return "".join(c for c in text if c >= " ").replace("\\", "\\\\").replace('"', '\\"')
