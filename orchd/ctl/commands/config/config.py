"""``config``: the client configuration."""

from __future__ import annotations

import click

from orchd.ctl.command import Group


@click.group(cls=Group)
def config() -> None:
    """The client configuration."""
