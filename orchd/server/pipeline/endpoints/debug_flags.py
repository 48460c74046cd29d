"""/debug/flags: the verbosity of the log, changed while the process runs (--profiling)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from orchd.errors import ApiError
from orchd.kinds.objects.list_options import parse_unsigned
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE
from orchd.txkit.log import set_verbosity

Endpoint = Callable[[Request], Awaitable[Response]]
#: The verbosity by namespace of a logger.
VerbosityOf = Callable[[str], int]

PATH: Final = "/debug/flags"
#: Longest body, and the verbosities are below this one.
_BODY, _LIMIT = 4096, 1 << 32
_INDEX: Final = b"""<html>
<head>
<title>/debug/flags/</title>
</head>
<body>
/debug/flags/<br>
<br>
flags:<br>
<table>
<tr>v<br>
</table>
<br>
full flags configurable<br>
</body>
</html>
"""


class CurrentVerbosity:
    """The verbosity of a process: `initial`, until `change` replaces the one of namespaces without their own."""

    def __init__(self, initial: VerbosityOf, with_default: Callable[[int], VerbosityOf]) -> None:
        self._of = initial
        self._with_default = with_default

    def of(self, namespace: str) -> int:
        return self._of(namespace)

    def change(self, default: int) -> None:
        self._of = self._with_default(default)
        set_verbosity(self._of)


def debug_flag_endpoints(verbosity: CurrentVerbosity) -> dict[str, Endpoint]:
    """The endpoints by path. PUT of a number to /debug/flags/v sets the verbosity."""

    async def index(request: Request) -> Response:
        return Response(content_type="text/html; charset=utf-8", headers=[NO_STORE], body=_INDEX)

    async def set_flag(request: Request) -> Response:
        if request.method != "PUT":
            return _text(406, "unsupported http method")
        try:
            text = (await request.body.read(_BODY)).decode(errors="replace")
            verbosity.change(parse_unsigned(text, limit=_LIMIT))
        except ApiError as error:
            return _text(400, error.message)
        return _text(200, f"successfully set klog.logging.verbosity to {text}")

    return {PATH: index, f"{PATH}/v": set_flag}


def _text(code: int, text: str) -> Response:
    headers = [NO_STORE, ("X-Content-Type-Options", "nosniff")]
    return Response(code=code, content_type="text/plain", headers=headers, body=text.encode())
