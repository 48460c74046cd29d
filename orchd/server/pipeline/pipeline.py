"""The pipeline: its stages as a list in running order (docs/decisions.md 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random

from zope.interface import implementer

from orchd.kinds.naming import random_uuid
from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import IPipeline, Next, Request, Response, Stage
from orchd.txkit.log import current_request

#: Maximum characters of all warnings together, and of each one beyond that.
_WARNINGS, _CUT_WARNING = 4096, 256


@implementer(IPipeline)
class Pipeline:
    """Runs a request through `stages`, in order; the last one calls `answer` (the verbs)."""

    def __init__(
        self, stages: Sequence[Stage], answer: Callable[[Request], Awaitable[Response]], random: Random
    ) -> None:
        self.stages = tuple(stages)
        entrance: Next = answer
        for stage in reversed(self.stages):
            entrance = partial(_enter, stage, entrance)
        self._entrance = entrance
        self._random = random

    async def handle(self, request: Request) -> Response:
        if request.info is None:
            request.info = requestinfo.parse(request.method, request.path, request.query)
        request.audit_id = request.header("audit-id") or random_uuid(self._random)
        # Requests of local clients run inside of other work, whose log lines are not theirs.
        outer = current_request.get()
        current_request.set(request.audit_id)
        try:
            response = await self._entrance(request)
        finally:
            current_request.set(outer)
        if request.warnings:
            for text in _bounded(list(dict.fromkeys(request.warnings))):
                response.headers.append(("Warning", f'299 - "{_quoted(text)}"'))
        response.headers += request.answer_headers
        response.headers.append(("Audit-Id", request.audit_id))
        return response


def _enter(stage: Stage, then: Next, request: Request) -> Awaitable[Response]:
    return stage(request, then)


def _bounded(texts: list[str]) -> list[str]:
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


def _quoted(text: str) -> str:
    """Content of a quoted-string (RFC 7234, section 5.5): backslashes and quotes escaped, no control characters."""
    return "".join(c for c in text if c >= " ").replace("\\", "\\\\").replace('"', '\\"')
