"""``create serviceaccount``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_all, create_options, named


@click.command("serviceaccount", cls=Command)
@click.argument("name")
@create_options
@pass_session
def create_service_account(session: Session, name: str, dry_run: str, form: str) -> None:
    """Create a service account."""
    create_all(session, [named("v1", "ServiceAccount", name)], dry_run=dry_run, form=form)
