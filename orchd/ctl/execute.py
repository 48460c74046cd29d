"""``exec`` and ``attach``: processes in containers, connected to the user's terminal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import click
from twisted.internet.defer import CancelledError

from orchd.ctl import output, terminal
from orchd.ctl.api import Api
from orchd.ctl.command import Command, F, stacked
from orchd.ctl.errors import CommandError
from orchd.ctl.logs import containers_of, pod_named, pod_wait_option
from orchd.ctl.manifests import read_objects
from orchd.ctl.remote_process import RemoteProcess
from orchd.ctl.selection import local_target
from orchd.ctl.session import Session, pass_session
from orchd.txkit.coroutines import start

_stream_options: Callable[[F], F] = stacked(
    click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default."),
    click.option("-i", "--stdin", "stdin", is_flag=True, help="Pass standard input to the process."),
    click.option("-t", "--tty", is_flag=True, help="Allocate a terminal."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the process prints."),
    pod_wait_option,
)


@click.command("exec", cls=Command)
@click.argument("words", nargs=-1, metavar="POD | TYPE/NAME -- COMMAND [ARG...]")
@click.option("-f", "--filename", "file", default="", metavar="FILE", help="The pod or workload of a file.")
@_stream_options
@pass_session
def execute(
    session: Session, words: tuple[str, ...], file: str, container: str, stdin: bool, tty: bool, quiet: bool, pod_wait: float
) -> int:
    """Run a command in a container; its exit status is this program's. Put -- before the command."""
    if file:
        [obj, *others] = read_objects(session, (file,))
        if others:
            raise CommandError(f"{file}: exec runs in one pod: name a file with one object")
        words = (local_target(obj).label, *words)
    if len(words) < 2:
        raise CommandError("which command? Write exec POD -- COMMAND [ARG...]")
    return _run(session, words[0], container, words[1:], stdin=stdin, tty=tty, quiet=quiet, seconds=pod_wait)


@click.command(cls=Command)
@click.argument("pod", metavar="POD | TYPE/NAME")
@_stream_options
@pass_session
def attach(session: Session, pod: str, container: str, stdin: bool, tty: bool, quiet: bool, pod_wait: float) -> int:
    """Attach to a container's main process: print its output, and with -i send it input."""
    return _run(session, pod, container, (), stdin=stdin, tty=tty, quiet=quiet, seconds=pod_wait)


def _run(
    session: Session, word: str, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool, quiet: bool, seconds: float
) -> int:
    if tty and not (stdin and terminal.is_terminal()):
        click.echo("Unable to use a terminal: -t needs -i, and standard input and output that are one", err=True)
        tty = False

    async def work(api: Api) -> int:
        pods = await api.discovery.find("pods")
        pod = await pod_named(api, pods, word, seconds)
        name = containers_of(pod, container, False)[0]
        process = await RemoteProcess.open(api, pods, pod, name, command=command, stdin=stdin, tty=tty)
        return await attend(api, process, stdin=stdin, tty=tty)

    status = session.run(work)
    if status and not quiet:
        click.echo(f"command terminated with exit code {status}", err=True)
    return status


async def attend(api: Api, process: RemoteProcess, *, stdin: bool, tty: bool) -> int:
    """Join a process with standard input and output until it ends; its exit status."""
    with ExitStack() as stack:
        stack.callback(process.close)
        if tty:
            stack.enter_context(terminal.raw_mode())
            stack.enter_context(terminal.watched_size(api.clock, lambda *size: start(process.resize(*size))))
        if stdin:
            sending = start(_send_input(api, process))
            sending.addErrback(lambda failure: failure.trap(CancelledError))
            stack.callback(sending.cancel)
        return await process.run(output.raw, output.raw_error)


async def _send_input(api: Api, process: RemoteProcess) -> None:
    while data := await terminal.read_input(api.clock):
        await process.write(data)
    if not await process.end_input():
        click.echo("Warning: the node cannot be told that the input has ended: the command may wait for more", err=True)
