"""The connection of a command to its server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from twisted.internet.defer import Deferred

from orchd.ctl.cluster import connection
from orchd.ctl.cluster.api import LONGEST_STREAM, Api
from orchd.ctl.cluster.configuration import GlobalFlags
from orchd.ctl.cluster.session import Session, refuse_warning, warn
from orchd.ctl.cluster.tracing import TracingClient
from orchd.ctl.errors import CommandError
from orchd.testing.doubles.results import result_of

CONFIG = """
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: x, context: {cluster: c, user: u, namespace: team}}, {name: y, context: {cluster: c}}]
users: [{name: u, user: {}}]
current-context: x
"""


class Reactor:
    """Keeps what is to be run before it stops."""

    def __init__(self) -> None:
        self.before_shutdown: Callable[[], object]

    def addSystemEventTrigger(self, phase: str, event: str, function: Callable[[], object]) -> None:
        assert (phase, event) == ("before", "shutdown")
        self.before_shutdown = function


class Client:
    """The client of a connection, with its options. `wrong` is what its making raises."""

    wrong = ""

    def __init__(self, config: Any, reactor: Any, options: Any, **more: Any) -> None:
        if self.wrong:
            raise ValueError(self.wrong)
        self.options = options
        self.closed = False
        clients.append(self)

    async def close(self) -> None:
        self.closed = True


clients: list[Client] = []


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Session:
    """A session whose reactor runs a command at once, and stops when it is over."""

    def react(main: Callable[[Any], Any]) -> None:
        reactor = Reactor()
        result_of(main(reactor))
        reactor.before_shutdown()
        raise SystemExit

    clients.clear()
    monkeypatch.setattr(connection, "react", react)
    monkeypatch.setattr(connection, "RemoteClient", Client)
    file = tmp_path / "config"
    file.write_text(CONFIG)
    flags = GlobalFlags(config=str(file), cache_dir="")
    return Session(connect=connection.connect, environment={}, edit=lambda text: None, flags=flags)


async def _itself(api: Api) -> Api:
    return api


def test_result_of_a_command(session: Session) -> None:
    """The result of the work, whose client is closed at the end."""

    async def work(api: Api) -> int:
        assert not clients[0].closed
        return 7

    assert session.run(work) == 7
    assert clients[0].closed


def test_failure_of_a_command(session: Session) -> None:
    """The error of the work is raised, after its client was closed."""

    async def work(api: Api) -> None:
        raise CommandError("no")

    with pytest.raises(CommandError, match=r"^no$"):
        session.run(work)
    assert clients[0].closed


def test_interrupted_commands(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command whose reactor stops before its end was interrupted."""

    def react(main: Callable[[Any], Any]) -> None:
        reactor = Reactor()
        Deferred.fromCoroutine(main(reactor))
        reactor.before_shutdown()
        raise SystemExit

    async def work(api: Api) -> None:
        await Deferred()

    monkeypatch.setattr(connection, "react", react)
    with pytest.raises(click.Abort):
        session.run(work)


def test_configurations_that_no_client_can_have(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reason is an error of the command."""
    monkeypatch.setattr(Client, "wrong", "not a certificate")
    with pytest.raises(CommandError, match=r"^client configuration: not a certificate$"):
        session.run(_itself)


@pytest.mark.parametrize(
    ("flag", "context", "namespace"), [("", "x", "team"), ("mine", "x", "mine"), ("", "y", "default")]
)
def test_namespace_of_a_command(session: Session, flag: str, context: str, namespace: str) -> None:
    """That of the flag, else that of the context, else the default one."""
    session.flags.namespace, session.flags.context = flag, context
    assert session.run(_itself).namespace == namespace


@pytest.mark.parametrize(("seconds", "response", "stream"), [(0.0, 30.0, LONGEST_STREAM), (5.0, 5.0, 5.0)])
def test_time_limits(session: Session, seconds: float, response: float, stream: float) -> None:
    """A response is waited for half a minute, a stream without end; --request-timeout limits both."""
    session.flags.request_timeout = seconds
    api = session.run(_itself)
    assert clients[0].options.timeout == response
    assert api.longest_stream == stream


@pytest.mark.parametrize(("strict", "handler"), [(False, warn), (True, refuse_warning)])
def test_warnings(session: Session, strict: bool, handler: Callable[[str], None]) -> None:
    """Warnings of the server are printed, or fail the command."""
    session.flags.warnings_as_errors = strict
    assert session.run(_itself).warn is handler


@pytest.mark.parametrize(("verbosity", "traced"), [(0, False), (5, False), (6, True), (9, True)])
def test_requests_are_printed_when_asked_for(session: Session, verbosity: int, traced: bool) -> None:
    """From -v=6 on."""
    session.flags.verbosity = verbosity
    assert isinstance(session.run(_itself).client, TracingClient) is traced


@pytest.mark.parametrize("folder", ["", "cache"])
def test_folder_of_remembered_resources(
    session: Session, tmp_path: Path, folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each server has a folder of its own below that of --cache-dir; an empty one remembers nothing."""
    folders: list[Path] = []
    monkeypatch.setattr(connection, "DiscoveryCache", lambda folder, now: folders.append(folder))
    session.flags.cache_dir = str(tmp_path / folder) if folder else ""
    session.run(_itself)
    assert [each.parent for each in folders] == ([tmp_path / "cache" / "discovery"] if folder else [])
