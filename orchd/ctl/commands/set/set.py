"""``set``: changes single fields of workloads, services and role bindings."""

from __future__ import annotations

import click

from orchd.ctl.command import Group


@click.group("set", cls=Group)
def set_() -> None:
    """Set fields of objects: image, env, resources, selector, serviceaccount, subject."""
