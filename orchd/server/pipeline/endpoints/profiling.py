"""/debug/pprof: text profiles of CPU time and memory (--profiling).

The paths are the reference's; the formats are Python's. ``profile`` samples the stacks of all threads and returns them
folded, one line per stack with its count, for flame graph programs; ``goroutine`` shows the current stack of every
thread; ``heap`` counts objects of the garbage collector by type.
"""

from __future__ import annotations

import gc
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any

from orchd import errors
from orchd.kinds.release import SPECIFICATION, Release
from orchd.server.pipeline.interfaces import Request, Response
from orchd.server.pipeline.representation import NO_STORE

Endpoint = Callable[[Request], Awaitable[Response]]
#: Runs a function in another thread.
InThread = Callable[..., Awaitable[Any]]

_INDEX_PATH = "/debug/pprof/"
_SECONDS, _MOST_SECONDS = 30, 300
#: Samples per second; not a divisor of common timer periods, to avoid aliasing.
_RATE = 97
_TYPES = 100
_INDEX = b"""/debug/pprof/

profile    stacks of all threads for ?seconds=30, folded
goroutine  stacks of all threads now
heap       objects by type
"""


async def _to_index(request: Request) -> Response:
    """302 to the index."""
    body = f'<a href="{_INDEX_PATH}">Found</a>.\n\n'.encode()
    headers = [NO_STORE, ("Location", _INDEX_PATH)]
    return Response(code=302, content_type="text/html; charset=utf-8", headers=headers, body=body)


def profiling_endpoints(in_thread: InThread, release: Release = SPECIFICATION) -> dict[str, Endpoint]:
    """The endpoints by path. One profile runs at a time; concurrent requests get 429."""
    busy = threading.Lock()

    async def index(request: Request) -> Response:
        return _text(_INDEX)

    async def stacks(request: Request) -> Response:
        return _text("\n".join(_now()).encode())

    async def heap(request: Request) -> Response:
        return _text("\n".join(_types()).encode())

    async def profile(request: Request) -> Response:
        seconds = _seconds(request)
        if not busy.acquire(blocking=False):
            raise errors.too_many_requests("a profile is being taken")
        try:
            lines: list[str] = await in_thread(_profile, seconds)
        finally:
            busy.release()
        return _text("\n".join(lines).encode())

    return {
        "/debug/pprof": release.choose((("", index), ("1.24", _to_index))),
        "/debug/pprof/": index,
        "/debug/pprof/profile": profile,
        "/debug/pprof/goroutine": stacks,
        "/debug/pprof/heap": heap,
    }


def _text(body: bytes) -> Response:
    return Response(
        content_type="text/plain; charset=utf-8", headers=[NO_STORE, ("X-Content-Type-Options", "nosniff")], body=body
    )


def _seconds(request: Request) -> float:
    text = request.param("seconds") or str(_SECONDS)
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds <= _MOST_SECONDS:
        raise errors.bad_request(f"seconds must be a number above 0 and at most {_MOST_SECONDS}")
    return seconds


def _profile(seconds: float) -> list[str]:
    """Folded stacks of all other threads, outermost call first."""
    own, counts = threading.get_ident(), Counter[str]()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for thread, frame in sys._current_frames().items():
            if thread != own:
                counts[_fold(frame)] += 1
        time.sleep(1 / _RATE)
    return [f"{stack} {count}" for stack, count in counts.most_common()]


def _fold(frame: FrameType | None) -> str:
    names = []
    while frame is not None:
        code = frame.f_code
        names.append(f"{frame.f_globals.get('__name__', '?')}.{code.co_qualname}")
        frame = frame.f_back
    return ";".join(reversed(names))


def _now() -> list[str]:
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    lines = []
    for thread, frame in sys._current_frames().items():
        lines.append(f"thread {names.get(thread, thread)}")
        lines.extend(line.rstrip() for line in traceback.format_stack(frame))
        lines.append("")
    return lines


def _types() -> list[str]:
    counts = Counter(f"{type(each).__module__}.{type(each).__qualname__}" for each in gc.get_objects())
    return [f"{count:10} {name}" for name, count in counts.most_common(_TYPES)]
