"""The daemon: what `twistd orchd` runs."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from twisted.application.service import IService, MultiService
from twisted.internet.endpoints import serverFromString
from twisted.internet.interfaces import IStreamServerEndpoint

from orchd.assembly.capabilities import capabilities
from orchd.assembly.server import ApiServer
from orchd.config.options import TwistdOptions, from_options
from orchd.config.settings import Settings
from orchd.daemon import ProcessEnd, YoungCollector, collect_seldom, exit_cleanly_on_sigterm, settle_memory
from orchd.pki.url_users import hide_passwords
from orchd.txkit.json_log import LoggedServices
from orchd.txkit.log import Logger, set_verbosity
from orchd.txkit.notify import Notifier

_log = Logger(namespace="orchd")

#: The first file descriptor passed by a service manager (sd_listen_fds(3)).
_FIRST_INHERITED = 3


class Options(TwistdOptions):
    """The options of ``twistd orchd``: all flags and their valid values."""

    def __init__(self) -> None:
        super().__init__(capabilities=capabilities())


def makeService(options: Options, reactor: Any = None, endpoint: IStreamServerEndpoint | None = None) -> IService:
    """One server as a service.

    twistd calls this with only the options, and then the server owns the process: a failure ends it with status 1, the
    service manager is notified, and a socket that it passed is used. A caller that passes a `reactor` owns the process:
    failures are in the service's `ready` (see docs/embedding.md), and OSError and ValueError are raised for missing or
    invalid files.
    """
    settings = from_options(options)
    for text in settings.warnings:
        _log.warn("{text}", text=text)
    if reactor is not None:
        if settings.serving.processes > 1:
            raise ValueError(
                "--processes: more than one needs a program of its own, and this server is embedded in one"
            )
        return ApiServer(settings, reactor, endpoint=endpoint).service
    from twisted.internet import reactor as installed

    notifier = Notifier.from_environment(installed, os.environ, os.getpid())
    collect_seldom()
    set_verbosity(settings.verbosity.of)

    def opened(server: ApiServer) -> None:
        _log.info("{text}", text=announcement(server))
        settle_memory()
        YoungCollector(installed, lambda: server.background.ended_terms).start()
        notifier.ready(f"serving at {server.url}")

    try:
        descriptor = inherited_socket(installed, settings.serving.port) if endpoint is None else None
        server = _server(settings, installed, endpoint, descriptor, opened)
    except (OSError, ValueError) as error:
        raise SystemExit(hide_passwords(f"orchd: {error}")) from error
    # Later than "running": the reactor installs its own handlers last.
    installed.callWhenRunning(installed.callLater, 0, exit_cleanly_on_sigterm, installed)
    together: MultiService = LoggedServices(json=settings.flags["logging-format"] == "json")
    together.addService(notifier)
    together.addService(server.service)
    return together


def _server(
    settings: Settings,
    reactor: Any,
    endpoint: IStreamServerEndpoint | None,
    descriptor: int | None,
    opened: Callable[[ApiServer], object],
) -> ApiServer:
    """The server of this process, which it ends with. `descriptor` is an inherited socket."""
    failed = ProcessEnd(reactor)
    if settings.serving.processes > 1:
        # Imported here: a server in one process needs none of it.
        from orchd.assembly.processes.owner import owner_server

        return owner_server(settings, reactor, descriptor, failed=failed, opened=opened)
    if descriptor is not None:
        with socket.socket(fileno=os.dup(descriptor)) as inherited:
            domain = inherited.family.name.removeprefix("AF_")
        endpoint = serverFromString(reactor, f"systemd:domain={domain}:index=0")
    return ApiServer(settings, reactor, endpoint=endpoint, failed=failed, opened=opened)


def inherited_socket(reactor: Any, port: int) -> int | None:
    """The descriptor of the socket that a service manager passed to this process, None without one.

    `port` is the advertised port. Raises ValueError for a socket with another port, and for two sockets.
    """
    try:
        serverFromString(reactor, "systemd:domain=INET:index=0")
    except IndexError:
        return None
    try:
        serverFromString(reactor, "systemd:domain=INET:index=1")
    except IndexError:
        pass
    else:
        raise ValueError("the service manager passed more than one socket: the server listens on one")
    with socket.socket(fileno=os.dup(_FIRST_INHERITED)) as probe:
        family, name = probe.family, probe.getsockname()
    if family not in (socket.AF_INET, socket.AF_INET6):
        raise ValueError("the service manager passed a socket that is not a TCP socket")
    if name[1] != port:
        raise ValueError(f"the service manager passed a socket of port {name[1]}, but --secure-port is {port}")
    return _FIRST_INHERITED


def announcement(server: ApiServer) -> str:
    """The message of a ready server: how clients reach it."""
    files = server.files.certificates
    folder, pki, client = (
        Path(p).absolute() for p in (server.settings.storage.data_dir, files.folder, files.admin_config)
    )
    dialect = server.settings.dialect
    # The client command of the dialect: the stock one speaks its own alone.
    command = dialect("{short}ctl")
    return "\n".join(
        (
            f"ready at {server.url}",
            f"data folder: {folder}",
            f"client configuration of the administrator: {client}",
            f"try: {command} --{dialect.config_file_kind}={client} get namespaces",
            *([] if server.settings.serving.ui == "false" else [f"web page: {server.url}/ui"]),
            f"try: curl --cacert {pki}/ca.crt --cert {pki}/admin.crt --key {pki}/admin.key "
            f"'{server.url}/readyz?verbose'",
        )
    )
