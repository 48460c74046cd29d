"""The daemon: what `twistd orchd` runs."""

from __future__ import annotations

import os
import sys
from typing import Any

from twisted.application.service import IService
from twisted.internet.interfaces import IStreamServerEndpoint
from twisted.logger import Logger
from twisted.python.failure import Failure

from orchd.assembly.plugins import capabilities
from orchd.assembly.server import ApiServer
from orchd.config import settings as config
from orchd.config.options import TwistdOptions

_log = Logger(namespace="orchd")


class Options(TwistdOptions):
    """The options of ``twistd orchd``: all flags, and what they can choose from."""

    def __init__(self) -> None:
        super().__init__(capabilities=capabilities())


def makeService(
    options: Options, reactor: Any = None, endpoint: IStreamServerEndpoint | None = None
) -> IService:
    """The service of one server. Under twistd a failure ends the process with status 1; see docs/embedding.md."""
    if reactor is None:
        from twisted.internet import reactor as installed

        reactor = installed
    settings = config.from_options(options)
    for text in settings.warnings:
        _log.warn("{text}", text=text)

    def failed(failure: Failure) -> None:
        _log.critical("the server cannot go on: {why}", why=failure.getErrorMessage())
        _exit_with(1)
        if reactor.running:
            reactor.stop()
        else:
            reactor.callWhenRunning(reactor.stop)

    return ApiServer(settings, reactor, endpoint=endpoint, failed=failed, opened=_announce).service


def _announce(server: ApiServer) -> None:
    """Tell whoever started us: in the log, and the service manager if there is one (sd_notify)."""
    _log.info(
        "ready at {url}, data in {data}, client configuration {config}",
        url=server.url,
        data=server.settings.storage.data_dir,
        config=server.files.made.admin_config,
    )


def _exit_with(status: int) -> None:
    """Let the interpreter end with a status once twistd has shut everything down."""
    import atexit

    atexit.register(lambda: os._exit(status))
    sys.stderr.flush()
