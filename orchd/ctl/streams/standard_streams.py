"""Processes in containers, connected to standard input and output of this program."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

import click
from twisted.internet.defer import CancelledError

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import F, stacked
from orchd.ctl.objects.pods import containers_of, pod_named, pod_wait_option
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.ctl.streams import terminal
from orchd.ctl.streams.remote_process import RemoteProcess
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object
from orchd.txkit.coroutines import start

#: Seconds between two looks at a container that is waited for.
_LOOK = 0.5
stream_options: Callable[[F], F] = stacked(
    click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default."),
    click.option("-i", "--stdin", "stdin", is_flag=True, help="Pass standard input to the process."),
    click.option("-t", "--tty", is_flag=True, help="Allocate a terminal."),
    click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the process prints."),
    pod_wait_option,
)


def run_in_pod(
    session: Session,
    word: str,
    container: str,
    command: tuple[str, ...],
    *,
    stdin: bool,
    tty: bool,
    quiet: bool,
    seconds: float,
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


async def attach_when_running(
    api: Api, target: Target, container: str, seconds: float, *, stdin: bool, tty: bool
) -> int:
    """Attach to a container of a pod once it runs, for which `seconds` are waited; its exit status. Raises
    CommandError."""
    end = api.clock.seconds() + seconds
    while True:
        pod = await api.get(target.resource, target.name, target.namespace)
        status = fields.status(pod)
        state = container_state(pod, container)
        if "running" in state or (not state and status.get("phase") == "Running" and not _is_ephemeral(pod, container)):
            break
        if "terminated" in state or status.get("phase") in ("Succeeded", "Failed"):
            raise CommandError(f"{target.label} has ended before it could be attached to: see its logs")
        if api.clock.seconds() >= end:
            reason = (state.get("waiting") or {}).get("reason")
            raise CommandError(
                f"{target.label} does not run after {seconds:g} s{f' ({reason})' if reason else ''}: look at it "
                "with describe"
            )
        await api.sleep(_LOOK)
    process = await RemoteProcess.open(api, target.resource, pod, container, stdin=stdin, tty=tty)
    return await attend(api, process, stdin=stdin, tty=tty)


def container_state(pod: Object, container: str) -> Object:
    """The state that a node reports of a container; empty before it does."""
    status = fields.status(pod)
    for key in ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"):
        for each in status.get(key) or ():
            if each.get("name") == container:
                return each.get("state") or {}
    return {}


def _is_ephemeral(pod: Object, container: str) -> bool:
    return any(each["name"] == container for each in pod["spec"].get("ephemeralContainers") or ())


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
