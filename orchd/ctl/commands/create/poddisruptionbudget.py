"""``create poddisruptionbudget``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import create_all, create_options, named, pairs


def _number(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


@click.command("poddisruptionbudget", cls=Command)
@click.argument("name")
@click.option("--selector", required=True, metavar="KEY=VALUE,...", help="Label selector of the pods.")
@click.option(
    "--min-available", default="", metavar="NUMBER|PERCENT", help="Minimum number or percentage of available pods."
)
@click.option(
    "--max-unavailable", default="", metavar="NUMBER|PERCENT", help="Maximum number or percentage of unavailable pods."
)
@create_options
@pass_session
def create_budget(
    session: Session, name: str, selector: str, min_available: str, max_unavailable: str, dry_run: str, form: str
) -> None:
    """Create a pod disruption budget."""
    if bool(min_available) == bool(max_unavailable):
        raise CommandError("give --min-available or --max-unavailable, and not both")
    limit = {"minAvailable": _number(min_available)} if min_available else {"maxUnavailable": _number(max_unavailable)}
    labels = pairs(tuple(selector.split(",")), "--selector")
    spec = {"selector": {"matchLabels": labels}, **limit}
    create_all(session, [named("policy/v1", "PodDisruptionBudget", name, spec=spec)], dry_run=dry_run, form=form)
