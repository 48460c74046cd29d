"""``apply edit-last-applied``: refused, with what does the same."""

from __future__ import annotations

import click

from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError


@click.command("edit-last-applied", hidden=True, cls=Command)
@click.argument("words", nargs=-1)
def edit_last_applied(words: tuple[str, ...]) -> None:
    """Rejected: not supported."""
    raise CommandError(
        "apply edit-last-applied is not built here: apply view-last-applied -o yaml, edit, and apply or "
        "set-last-applied -f"
    )
