"""A log whose lines are JSON objects (--logging-format=json)."""

from __future__ import annotations

import sys
from typing import Any, TextIO

import orjson
from twisted.application.service import MultiService
from twisted.logger import ILogObserver, LogLevel, formatEvent
from twisted.python.components import Componentized
from zope.interface import implementer

from orchd.txkit.log import DEBUG


@implementer(ILogObserver)
class JsonLog:
    """Writes one JSON object per event.

    Its members are `ts` (milliseconds since the epoch), `caller`, `msg`, `request` (the audit id, for events of a
    request), `process` (for events of another process), `v` (0, or 4 for debug events) or `level` (for warnings and
    errors), and `err` (the traceback, for failures).
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def __call__(self, event: Any) -> None:
        level = event.get("log_level") or LogLevel.info
        line: dict[str, Any] = {
            "ts": round(event.get("log_time", 0.0) * 1000, 3),
            "caller": str(event.get("log_namespace", "-")),
            "msg": formatEvent(event),
        }
        if level <= LogLevel.info:
            line["v"] = 0 if level == LogLevel.info else DEBUG
        else:
            line["level"] = level.name
        for name in ("request", "process"):
            if event.get(name):
                line[name] = event[name]
        failure = event.get("log_failure")
        if failure is not None:
            line["err"] = failure.getTraceback()
        self._out.write(orjson.dumps(line).decode() + "\n")
        self._out.flush()


class LoggedServices(MultiService):
    """The services of a process. With `json`, they set the log observer of their application, which `twistd` uses, so
    that it logs JSON to standard output."""

    def __init__(self, *, json: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # the base class has no annotations
        self._json = json

    def setServiceParent(self, parent: Any) -> None:
        super().setServiceParent(parent)  # type: ignore[no-untyped-call]  # likewise
        if self._json and isinstance(parent, Componentized):
            parent.setComponent(ILogObserver, JsonLog(sys.stdout))
