"""``plugin``: the plugins that are installed."""

from __future__ import annotations

import os

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError
from orchd.ctl.plugins import PREFIX, installed_plugins
from orchd.ctl.printing import output
from orchd.ctl.table import COMMANDS
from orchd.dialect import COMMAND_LINE


@click.group(cls=Group)
def plugin() -> None:
    """Programs ``orchctl-NAME`` on the PATH, which run as ``orchctl NAME``."""


@plugin.command("list")
@click.option("--name-only", is_flag=True, help="Print names instead of paths.")
@pass_session
def list_(session: Session, name_only: bool) -> None:
    """Print the plugins on the PATH, and warn of those that cannot run."""
    plugins = installed_plugins(session.environment)
    if not plugins:
        raise CommandError(f"no plugins on the PATH: a plugin is a program {PREFIX}NAME")
    first: dict[str, str] = {}
    problems = 0
    for path in plugins:
        output.line(path.name if name_only else str(path))
        warnings = []
        if not os.access(path, os.X_OK):
            warnings.append(f"{path} is named as a plugin, but not executable")
        if path.name in first:
            warnings.append(f"{path} is hidden by {first[path.name]}")
        command = path.name.removeprefix(PREFIX).replace("-", " ").replace("_", "-")
        if command in COMMANDS:
            warnings.append(f"{path} is hidden by the command {COMMAND_LINE} {command}")
        first.setdefault(path.name, str(path))
        for each in warnings:
            output.note(f"Warning: {each}")
        problems += bool(warnings)
    if problems:
        raise CommandError(f"{problems} of {len(plugins)} plugins cannot run")
