"""The command line against an in-process server: no sockets, and a clock that advances only while a command waits."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from click.testing import CliRunner
from twisted.python.failure import Failure

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.cluster.discovery_cache import DiscoveryCache
from orchd.ctl.cluster.session import Session, Work, warn
from orchd.ctl.program import main
from orchd.dialect import COMMAND_LINE
from orchd.testing.doubles.server import InProcessServer
from orchd.txkit.coroutines import start

#: Seconds of the server's clock after which a waiting command is interrupted.
PATIENCE = 120


@dataclass
class CommandResult:
    """The output, errors and status of a command."""

    status: int
    out: str
    error: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Ctl:
    """Runs a command line; `send` is its standard input. `while_waiting` is called for each second that passes."""

    def __init__(self, server: InProcessServer, namespace: str = "default") -> None:
        self.server = server
        self.namespace = namespace
        self.user: tuple[str, ...] = ("admin",)
        self.edit: Callable[[str], str | None] = lambda text: None
        self.while_waiting: Callable[[int], Any] = lambda second: None
        self.patience = PATIENCE
        self.connections = 0
        #: Seconds of the server's clock that the last command took.
        self.waited = 0
        self.environment: dict[str, str] = {"HOME": "/dev/null"}
        self.replace_program: Callable[..., object] = lambda *program: None
        #: Keeps discovery documents for later commands.
        self.cache: DiscoveryCache | None = None
        #: Global flags of the last command.
        self.flags = GlobalFlags()

    def _connect(self, session: Session, work: Work) -> Any:
        self.connections += 1
        assert self.connections == 1, "a command runs the reactor, which cannot run twice"
        client = self.server.client(*self.user, agent="ctl")
        api = Api(
            client,
            self.server.clock,
            session.flags.namespace or self.namespace,
            warn,
            session.writing.manager,
            cache=self.cache,
        )
        outcome: list[Any] = []
        running = start(work(api)).addBoth(outcome.append)
        self.waited = 0
        for second in range(self.patience):
            if outcome:
                break
            self.waited = second + 1
            self.while_waiting(second)
            self.server.clock.advance(1)
        interrupted = not outcome
        if interrupted:
            running.cancel()
        if isinstance(outcome[0], Failure):
            if interrupted:
                return None
            outcome[0].raiseException()
        return outcome[0]

    def __call__(self, *arguments: str, send: str = "", status: int = 0) -> CommandResult:
        session = Session(
            self._connect, self.environment, lambda text: self.edit(text), replace_program=self.replace_program
        )
        self.connections, self.flags = 0, session.flags
        runner = CliRunner()
        codes: list[int] = []
        with runner.isolation(input=send) as (out, error, _):
            codes.append(main(arguments, session))
            sys.stdout.flush()
            sys.stderr.flush()
            texts = [each.getvalue().decode(errors="replace") for each in (out, error)]
        ran = CommandResult(codes[0], *texts)
        assert ran.status == status, f"{arguments} ended with {ran.status}: {ran.out}{ran.error}"
        if status and not ran.error.startswith("Usage:"):
            lines = ran.error.splitlines()
            # The status of diff is no error, but says that there are differences; that of exec is the process's. Notes
            # may precede the error.
            no_error = (arguments[0] == "diff" and status == 1) or (arguments[0] == "exec" and status > 1)
            assert no_error or lines[-1].startswith(f"{COMMAND_LINE}: "), ran.error
        return ran
