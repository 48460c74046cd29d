"""The connection of a command: runs the reactor with a client of the configured server."""

from __future__ import annotations

import time
from contextlib import suppress
from random import SystemRandom
from typing import Any, Final

import click
from twisted.internet.task import react

from orchd.client.interfaces import IRawClient
from orchd.client.remote import ClientOptions, RemoteClient
from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.api import LONGEST_STREAM, Api
from orchd.ctl.cluster.discovery_cache import DiscoveryCache, server_key
from orchd.ctl.cluster.session import Session, Work, refuse_warning, trace, warn
from orchd.ctl.errors import CommandError
from orchd.dialect import COMMAND_LINE
from orchd.pki.clientconfig import ClientConfig

#: Seconds for which a response is waited for without --request-timeout.
_TIMEOUT: Final = 30.0


def connect(session: Session, work: Work) -> Any:
    """The result of `work` with a client of its own; the reactor runs for it alone."""
    config = configuration.load(session.flags, session.environment)
    results: list[Any] = []
    failures: list[Exception] = []
    interrupted = False

    def stopping() -> None:
        nonlocal interrupted
        interrupted = not results and not failures

    async def run(reactor: Any) -> None:
        reactor.addSystemEventTrigger("before", "shutdown", stopping)
        try:
            client = RemoteClient(
                config,
                reactor,
                ClientOptions(agent=COMMAND_LINE, timeout=session.flags.request_timeout or _TIMEOUT),
                random=SystemRandom(),
                environment=session.environment,
            )
        except ValueError as error:
            failures.append(CommandError(f"client configuration: {error}"))
            return
        namespace = session.flags.namespace or config.namespace or "default"
        try:
            results.append(await work(_api(client, reactor, namespace, session, _cache(session, config))))
        except Exception as error:
            failures.append(error)
        finally:
            await client.close()

    with suppress(SystemExit):  # how `react` says that it is over, or was interrupted
        react(lambda reactor: run(reactor))
    if interrupted:
        raise click.Abort
    if failures:
        raise failures[0]
    return results[0]


def _cache(session: Session, config: ClientConfig) -> DiscoveryCache | None:
    folder = configuration.cache_folder(session.flags, session.environment)
    return DiscoveryCache(folder / "discovery" / server_key(config), time.time()) if folder is not None else None


def _api(client: IRawClient, reactor: Any, namespace: str, session: Session, cache: DiscoveryCache | None) -> Api:
    flags = session.flags
    if flags.verbosity:
        from orchd.ctl.cluster.tracing import QUIETEST, TracingClient

        if flags.verbosity >= QUIETEST:
            client = TracingClient(client, reactor, flags.verbosity, trace)
    return Api(
        client, reactor, namespace, refuse_warning if flags.warnings_as_errors else warn, session.writing.manager,
        longest_stream=flags.request_timeout or LONGEST_STREAM, cache=cache,
    )  # fmt: skip
