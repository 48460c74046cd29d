"""``attach``: the main process of a container."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.streams.standard_streams import run_in_pod, stream_options


@click.command(cls=Command)
@click.argument("pod", metavar="POD | TYPE/NAME")
@stream_options
@pass_session
def attach(session: Session, pod: str, container: str, stdin: bool, tty: bool, quiet: bool, pod_wait: float) -> int:
    """Attach to a container's main process: print its output, and with -i send it input."""
    return run_in_pod(session, pod, container, (), stdin=stdin, tty=tty, quiet=quiet, seconds=pod_wait)
