"""Plugins `twistd {short}-controller-manager` and `twistd {short}-scheduler`: controllers and scheduler as separate
processes, in either dialect.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from twisted.application.service import IService, MultiService
from twisted.python.failure import Failure

from orchd.assembly.capabilities import capabilities
from orchd.assembly.controller_manager import ControllerManager
from orchd.config.component import ComponentOptions, ComponentSettings
from orchd.daemon import ProcessEnd, collect_seldom, exit_cleanly_on_sigterm
from orchd.dialect import Dialect
from orchd.pki.url_users import hide_passwords
from orchd.txkit.json_log import LoggedServices
from orchd.txkit.log import Logger, set_verbosity
from orchd.txkit.notify import Notifier

_log = Logger(namespace="orchd")

#: Makes the service of a component from its settings and reactor; `failed` is called when it cannot continue.
Make = Callable[[ComponentSettings, Any, Callable[[Failure], object] | None], Any]


def _controller_manager(settings: ComponentSettings, reactor: Any, failed: Callable[[Failure], object] | None) -> Any:
    return ControllerManager(settings, reactor, wall=time.time, environment=os.environ, failed=failed).service


def _scheduler(settings: ComponentSettings, reactor: Any, failed: Callable[[Failure], object] | None) -> Any:
    # Imported here: the controllers need no numpy.
    try:
        from orchd.assembly.scheduler_process import SchedulerProcess, write_configuration
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ValueError("numpy is not installed: install orchd[scheduler]") from None
    written = write_configuration(settings)
    if written:
        _log.info("the configuration was written to {path}", path=written)
        raise SystemExit(0)
    return SchedulerProcess(settings, reactor, wall=time.time, environment=os.environ, failed=failed).service


#: Service factories by component name.
COMPONENTS: dict[str, Make] = {"controller-manager": _controller_manager, "scheduler": _scheduler}


def options(name: str, dialect: Dialect) -> ComponentOptions:
    """The options of a component; `dialect` is that of the plugin name."""
    return ComponentOptions(name, dialect, capabilities=capabilities())


def make_service(name: str, options: ComponentOptions, reactor: Any = None) -> IService:
    """The service of a component; see `orchd.tap.makeService` for `reactor`."""
    settings = options.component_settings()
    for text in settings.warnings:
        _log.warn("{text}", text=text)
    if reactor is not None:
        component: IService = COMPONENTS[name](settings, reactor, None)
        return component
    from twisted.internet import reactor as installed

    notifier = Notifier.from_environment(installed, os.environ, os.getpid())
    collect_seldom()
    set_verbosity(settings.verbosity.of)
    try:
        service = COMPONENTS[name](settings, installed, ProcessEnd(installed))
    except (OSError, ValueError) as error:
        raise SystemExit(hide_passwords(f"{settings.dialect('{short}')}-{name}: {error}")) from error
    service.ready.addCallback(lambda _: notifier.ready("running"))
    installed.callWhenRunning(installed.callLater, 0, exit_cleanly_on_sigterm, installed)
    together: MultiService = LoggedServices(json=settings.flags["logging-format"] == "json")
    together.addService(notifier)
    together.addService(service)
    return together
