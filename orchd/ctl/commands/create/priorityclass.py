"""``create priorityclass``."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_made, create_options, named
from orchd.kinds.jsonvalues import Object


@click.command("priorityclass", cls=Command)
@click.argument("name")
@click.option(
    "--value", type=int, default=0, show_default=True, help="The priority; a higher number is scheduled first."
)
@click.option("--global-default", is_flag=True, help="Use it for pods without a priority class.")
@click.option(
    "--preemption-policy",
    type=click.Choice(["PreemptLowerPriority", "Never"]),
    default="PreemptLowerPriority",
    show_default=True,
    help="Preemption policy: whether pods of lower priority may be preempted.",
)
@click.option("--description", default="", help="Description of the class.")
@create_options
@pass_session
def create_priority_class(
    session: Session,
    name: str,
    value: int,
    global_default: bool,
    preemption_policy: str,
    description: str,
    dry_run: str,
    form: str,
) -> None:
    """Create a priority class."""
    more: dict[str, Any] = {"value": value, "globalDefault": global_default, "preemptionPolicy": preemption_policy}
    if description:
        more["description"] = description

    async def make(api: Api) -> list[Object]:
        dialect = await api.dialect()
        return [named(dialect("scheduling.{abbr}.io/v1"), "PriorityClass", name, **more)]

    create_made(session, make, dry_run=dry_run, form=form)
