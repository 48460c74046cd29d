"""``create namespace``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_all, create_options, named


@click.command("namespace", short_help="Create a namespace.", cls=Command)
@click.argument("name")
@create_options
@pass_session
def create_namespace(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a namespace."""
    create_all(session, [named("v1", "Namespace", name)], dry_run=dry_run, form=form)
