"""``create cronjob``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.creation import create_all, create_options, named


@click.command("cronjob", cls=Command)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", required=True, help="Image of the container.")
@click.option("--schedule", required=True, help="Schedule: minute, hour, day, month, day of the week.")
@click.option(
    "--restart",
    type=click.Choice(["OnFailure", "Never"]),
    default="OnFailure",
    show_default=True,
    help="Restart policy of the container.",
)
@create_options
@pass_session
def create_cron_job(
    session: Session,
    name: str,
    words: tuple[str, ...],
    image: str,
    schedule: str,
    restart: str,
    dry_run: str,
    form: str,
) -> None:
    """Create a cron job with one container."""
    container = {"name": name, "image": image, **({"command": list(words)} if words else {})}
    template = {"spec": {"template": {"spec": {"containers": [container], "restartPolicy": restart}}}}
    spec = {"schedule": schedule, "jobTemplate": {"metadata": {"name": name}, **template}}
    create_all(session, [named("batch/v1", "CronJob", name, spec=spec)], dry_run=dry_run, form=form)
