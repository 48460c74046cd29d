"""``store``: what ``orchd-store`` does, under this program's name and with a sign of progress at a terminal."""

from __future__ import annotations

import sys
from contextlib import nullcontext

import click
from rich.console import Console

from orchd.ctl.command import Group

_TEXTS = {
    "backup": "Copy the embedded store, in use or not, into a new file.",
    "restore": "Put such a copy in the embedded store's place; no server may be using it.",
    "check": "Read all of the embedded store, or of a copy, and say what it has.",
    "salvage": "Go on with what can be read of a damaged embedded store, and lose the rest.",
    "to-etcd": "Copy the embedded store into a prefix of etcd that has nothing yet.",
    "from-etcd": "Copy a prefix of etcd into an embedded store that is not there yet.",
}


@click.group(cls=Group)
def store() -> None:
    """Copy, check and move what a server keeps, from outside the server. Flags are the server's."""


def _add(name: str) -> None:
    @store.command(
        name, cls=click.Command, help=_TEXTS[name], add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )  # fmt: skip
    @click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FLAG...] [FILE]")
    def command(words: tuple[str, ...]) -> None:
        # All of the server comes with it, which other commands need not wait for.
        from orchd import storecommands

        terminal = sys.stderr.isatty()
        with Console(stderr=True).status(f"{name} ...") if terminal else nullcontext():
            status = storecommands.main([name, *words])
        raise click.exceptions.Exit(min(status, 1))


for _name in _TEXTS:
    _add(_name)
