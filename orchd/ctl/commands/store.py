"""``store``: the commands of ``orchd-store`` under this program's name, with a progress bar at a terminal."""

from __future__ import annotations

import sys

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

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
    """Back up, restore, check and migrate the data of a server. Takes the server's flags."""


def _add(name: str) -> None:
    @store.command(
        name, cls=click.Command, help=_TEXTS[name], add_help_option=False,
        context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    )  # fmt: skip
    @click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FLAG...] [FILE]")
    def command(words: tuple[str, ...]) -> None:
        # Imported here because it imports the whole server, which takes long.
        from orchd import storecommands

        if not sys.stderr.isatty():
            raise click.exceptions.Exit(min(storecommands.main([name, *words]), 1))
        with Progress(
            TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeElapsedColumn(),
            console=Console(stderr=True), transient=True,
        ) as progress:  # fmt: skip
            status = storecommands.main([name, *words], _Bar(progress, progress.add_task(name, total=None)))
        raise click.exceptions.Exit(min(status, 1))


class _Bar:
    """A bar; one that only moves where a command does not know how much there is to do."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def say(self, text: str) -> None:
        self._progress.console.print(text, highlight=False)

    def progress(self, done: int, total: int) -> None:
        self._progress.update(self._task, completed=done, total=total)


for _name in _TEXTS:
    _add(_name)
