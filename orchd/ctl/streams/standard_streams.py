"""Processes in containers, connected to standard input and output of this program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import click
from twisted.internet.defer import CancelledError

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.flags import F, stacked
from orchd.ctl.objects.pods import containers_of, pod_named, pod_wait_option
from orchd.ctl.printing import output
from orchd.ctl.streams import terminal
from orchd.ctl.streams.remote_process import RemoteProcess
from orchd.txkit.coroutines import start

stream_options: Callable[[F], F] = stacked(
    click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default."),
    click.option("-i", "--stdin", "stdin", is_flag=True, help="Pass standard input to the process."),
    click.option("-t", "--tty", is_flag=True, help="Allocate a terminal."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the process prints."),
    pod_wait_option,
)


def run_in_pod(
    session: Session, word: str, container: str, command: tuple[str, ...], *, stdin: bool, tty: bool, quiet: bool, seconds: float
) -> int:
    if tty and not (stdin and terminal.is_terminal()):
        output.note("Unable to use a terminal: -t needs -i, and standard input and output that are one")
        tty = False

    async def work(api: Api) -> int:
        pods = await api.discovery.find("pods")
        pod = await pod_named(api, pods, word, seconds)
        name = containers_of(pod, container, False)[0]
        process = await RemoteProcess.open(api, pods, pod, name, command=command, stdin=stdin, tty=tty)
        return await attend(api, process, stdin=stdin, tty=tty)

    status = session.run(work)
    if status and not quiet:
        output.note(f"command terminated with exit code {status}")
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
        output.note("Warning: the node cannot be told that the input has ended: the command may wait for more")
