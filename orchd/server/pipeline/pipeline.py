"""The pipeline: its stages as a list in running order (DESIGN 6)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import Random

from zope.interface import implementer

from orchd.server.pipeline import requestinfo
from orchd.server.pipeline.interfaces import IPipeline, Next, Request, Response, Stage

#: Longest Audit-ID that a client may choose.
_AUDIT_ID = 64


@implementer(IPipeline)
class Pipeline:
    """Runs a request through `stages`, in order; the last one hands on to `answer` (the verbs)."""

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
        request.audit_id = request.header("audit-id")[:_AUDIT_ID] or self._new_id()
        response = await self._entrance(request)
        if request.warnings:
            for text in dict.fromkeys(request.warnings):
                response.headers.append(("Warning", f'299 - "{_quoted(text)}"'))
        response.headers.append(("Audit-Id", request.audit_id))
        return response


    def _new_id(self) -> str:
        text = f"{self._random.getrandbits(128):032x}"
        return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:]}"


def _enter(stage: Stage, then: Next, request: Request) -> Awaitable[Response]:
    return stage(request, then)


def _quoted(text: str) -> str:
    """A quoted-string's inside (RFC 7234, section 5.5): backslashes and quotes escaped, no control characters."""
    return "".join(c for c in text if c >= " ").replace("\\", "\\\\").replace('"', '\\"')
