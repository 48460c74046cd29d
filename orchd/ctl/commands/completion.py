"""``completion``: scripts for shells."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from orchd.ctl.command import Command
from orchd.ctl.printing import output
from orchd.dialect import COMMAND_LINE


@click.command(cls=Command)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell, to be evaluated by it."""
    completion_class = get_completion_class(shell)
    assert completion_class is not None, "click knows these shells"
    variable = f"_{COMMAND_LINE.upper()}_COMPLETE"
    root = context.find_root().command
    instance = completion_class(root, {}, COMMAND_LINE, variable)
    output.line(instance.source_template % instance.source_vars())
