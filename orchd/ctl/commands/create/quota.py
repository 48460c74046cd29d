"""``create quota``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_all, create_options, named, pairs
from orchd.kinds.jsonvalues import Object


@click.command("quota", cls=Command)
@click.argument("name")
@click.option("--hard", default="", metavar="RESOURCE=QUANTITY,...", help="Limits such as pods=10,requests.cpu=4.")
@click.option("--scopes", default="", metavar="SCOPE,...", help="Scopes of the quota, such as BestEffort.")
@create_options
@pass_session
def create_quota(session: Session, name: str, hard: str, scopes: str, dry_run: str, form: str) -> None:
    """Create a resource quota."""
    spec: Object = {"hard": pairs(tuple(filter(None, hard.split(","))), "--hard")}
    if scopes:
        spec["scopes"] = scopes.split(",")
    create_all(session, [named("v1", "ResourceQuota", name, spec=spec)], dry_run=dry_run, form=form)
