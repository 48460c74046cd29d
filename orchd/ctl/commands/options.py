"""``options``: the flags of every command."""

from __future__ import annotations

import click

from orchd.ctl.command import Command, global_options
from orchd.ctl.printing import output


@click.command(cls=Command)
@click.pass_context
def options(context: click.Context) -> None:
    """Print the flags that every command takes."""
    output.line("Every command takes these flags, in front of or behind its name:")
    output.line()
    formatter = context.make_formatter()
    records = [record for each in global_options(hidden=False) if (record := each.get_help_record(context)) is not None]
    formatter.write_dl(records)
    output.line(formatter.getvalue().rstrip("\n"))
