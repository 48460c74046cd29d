"""The manual page of the command line, from its commands: what ``--help`` says of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from orchd.ctl.program import cli
from orchd.dialect import COMMAND_LINE, DIALECTS

#: A term and its explanation.
Entry = tuple[str, str]


def summary() -> str:
    """One line about the program."""
    return "control a cluster from the command line"


def description() -> tuple[str, ...]:
    """Paragraphs about the program."""
    return (
        str(cli.help),
        "Every command takes the global options as well, in front of or behind its name. Objects are named "
        "as TYPE NAME or"
        " TYPE/NAME, where TYPE is the plural, the singular or a short name of a resource, such as pods, pod or po.",
    )


def environment() -> list[Entry]:
    """The variables that are read."""
    files = [dialect("{SHORT}CONFIG") for dialect in DIALECTS.values()]
    return [
        (", ".join(files), "Client configuration files, separated by colons. Without --config, these are read."),
        ("VISUAL, EDITOR", "The editor of edit."),
    ]


def global_options() -> list[Entry]:
    """The options of every command."""
    return list(_options(cli))


def commands() -> list[tuple[str, str, list[Entry]]]:
    """Usage, text and own options of each command, in alphabetical order; those of groups below them."""
    return list(_commands(cli, COMMAND_LINE))


def _commands(group: click.Group, path: str) -> Iterator[tuple[str, str, list[Entry]]]:
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        if command is None or command.hidden:
            continue
        context = click.Context(command, info_name=f"{path} {name}")
        usage = " ".join([f"{path} {name}", *command.collect_usage_pieces(context)])
        yield usage, _text(command), list(_options(command))
        if isinstance(command, click.Group):
            yield from _commands(command, f"{path} {name}")


def _text(command: click.Command) -> str:
    """The help text; the mark of lines that are not to be wrapped is left out."""
    return (command.help or "").replace("\b\n", "").strip()


def _options(command: click.Command) -> Iterator[Entry]:
    """Options that are not hidden, in the order of the help text."""
    context = click.Context(command)
    for parameter in _visible_options(command.params):
        record = parameter.get_help_record(context)
        if record is not None:
            yield record[0], " ".join(record[1].split())


def _visible_options(parameters: Sequence[click.Parameter]) -> Iterator[click.Option]:
    for parameter in parameters:
        if isinstance(parameter, click.Option) and not parameter.hidden:
            yield parameter
