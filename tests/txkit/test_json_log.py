"""Log lines as JSON."""

from __future__ import annotations

import json
from io import StringIO

from twisted.application.service import Application
from twisted.logger import ILogObserver, Logger
from twisted.python.failure import Failure

from orchd.txkit.json_log import JsonLog, LoggedServices


def test_one_json_object_per_line() -> None:
    """Each line is one JSON object: time, origin, text, the traceback of a failure and the request id."""
    out = StringIO()
    log = Logger(namespace="here", observer=JsonLog(out))
    log.info("{who} is {what}", who="it", what='"quoted"', request="id")
    log.debug("details")
    log.warn("careful")
    log.failure("broken", failure=Failure(ValueError("no")))
    info, details, warning, broken = map(json.loads, out.getvalue().splitlines())
    assert (info["caller"], info["msg"], info["v"]) == ("here", 'it is "quoted"', 0)
    assert info["ts"] > 1e12 and info["request"] == "id"
    assert details["v"] == 4 and "request" not in details
    assert (warning["level"], "v" in warning) == ("warn", False)
    assert "ValueError: no" in broken["err"]


def test_twistd_uses_the_json_observer() -> None:
    """twistd logs JSON if it is configured, and its own format otherwise."""
    for json_wanted in (True, False):
        application = Application("a")
        LoggedServices(json=json_wanted).setServiceParent(application)
        assert isinstance(application.getComponent(ILogObserver, None), JsonLog) is json_wanted
