"""Console programs of the server, the controllers and the scheduler: the services of the twistd plugins, in the
foreground.

They accept only the flags of the service and do not search for twistd plugins, so that they work where twistd cannot
write its plugin cache and where only the programs of this distribution are on the path (pipx).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

from twisted.application.service import IServiceMaker
from twisted.python import usage
from twisted.scripts import twistd

from orchd.dialect import DIALECTS

#: The default dialect: the programs are named after it.
_DEFAULT = next(iter(DIALECTS))


# Twistd re-exports the options of its platform.
class OneService(twistd.ServerOptions):  # type: ignore[name-defined,misc]
    """twistd's own options with `maker` as the only command."""

    synopsis = "Usage:"

    def __init__(self, maker: IServiceMaker) -> None:
        super().__init__()
        self.loadedPlugins = {maker.tapname: maker}

    @property
    def subCommands(self) -> Iterator[tuple[str, None, Any, str]]:
        for name, maker in self.loadedPlugins.items():
            yield name, None, lambda maker=maker: maker.options(), maker.description


def run_server(arguments: Sequence[str] | None = None) -> NoReturn:
    """`orchd` and `python -m orchd`. `arguments` defaults to those of the process."""
    _run("orchd", arguments)


def run_controller_manager(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the controllers in a separate process."""
    _run(f"{_DEFAULT}_controller_manager", arguments)


def run_scheduler(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the scheduler in a separate process."""
    _run(f"{_DEFAULT}_scheduler", arguments)


def _run(name: str, arguments: Sequence[str] | None) -> NoReturn:
    """Run the service maker that the twistd plugin calls `name` until it ends. Raises SystemExit."""
    from twisted.plugins import orchd_plugin

    maker = getattr(orchd_plugin, name)
    config = OneService(maker)
    try:
        words = sys.argv[1:] if arguments is None else arguments
        try:
            config.parseOptions(["--nodaemon", "--pidfile=", maker.tapname, *words])
        finally:
            sys.stdout.flush()
    except usage.UsageError as error:
        raise SystemExit(f"{maker.tapname}: {error}") from None
    except BrokenPipeError:
        # The reader of --help, `head` or a pager, has ended. The flush at the end of the process must not fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise SystemExit(1) from None
    twistd.runApp(config)
    raise SystemExit(0)
