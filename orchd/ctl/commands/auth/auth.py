"""``auth``: the current user and its permissions."""

from __future__ import annotations

import click

from orchd.ctl.command import Group


@click.group(cls=Group)
def auth() -> None:
    """Show the current user and its permissions."""
