"""``exec``: a command in a container."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.selection import local_target
from orchd.ctl.streams.standard_streams import run_in_pod, stream_options


@click.command("exec", cls=Command)
@click.argument("words", nargs=-1, metavar="POD | TYPE/NAME -- COMMAND [ARG...]")
@click.option("-f", "--filename", "file", default="", metavar="FILE", help="The pod or workload of a file.")
@stream_options
@pass_session
def exec_(
    session: Session,
    words: tuple[str, ...],
    file: str,
    container: str,
    stdin: bool,
    tty: bool,
    quiet: bool,
    pod_wait: float,
) -> int:
    """Run a command in a container; its exit status is this program's. Put -- before the command."""
    if file:
        [obj, *others] = read_objects(session, (file,))
        if others:
            raise CommandError(f"{file}: exec runs in one pod: name a file with one object")
        words = (local_target(obj).label, *words)
    if len(words) < 2:
        raise CommandError("which command? Write exec POD -- COMMAND [ARG...]")
    return run_in_pod(session, words[0], container, words[1:], stdin=stdin, tty=tty, quiet=quiet, seconds=pod_wait)
