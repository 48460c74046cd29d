"""``create job``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import create_all, create_made, create_options, named
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object


@click.command("job", short_help="Create a job.", cls=Command)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", default="", help="Image of the container.")
@click.option(
    "--from", "source", default="", metavar="cronjob/NAME", help="Create the job from this cron job's template."
)
@create_options
@pass_session
def create_job(
    session: Session, name: str, words: tuple[str, ...], image: str, source: str, dry_run: str, form: str
) -> None:
    """Create a job with one container, or from a cron job's template."""
    if bool(image) == bool(source):
        raise CommandError("give either --image or --from=cronjob/NAME")
    if source:
        kind, _, cron_job = source.partition("/")
        if kind not in ("cronjob", "cronjobs", "cj", "cronjob.batch", "cronjobs.batch") or not cron_job:
            raise CommandError(f"--from={source}: write --from=cronjob/NAME")
        create_made(session, lambda api: _run_of(api, cron_job, name), dry_run=dry_run, form=form)
        return
    container = {"name": name, "image": image, **({"command": list(words)} if words else {})}
    spec = {"template": {"spec": {"containers": [container], "restartPolicy": "Never"}}}
    create_all(session, [named("batch/v1", "Job", name, spec=spec)], dry_run=dry_run, form=form)


async def _run_of(api: Api, cron_job: str, name: str) -> list[Object]:
    """A job from the template of a cron job."""
    owner_object = await api.get(await api.discovery.find("cronjobs.batch"), cron_job)
    template = owner_object["spec"]["jobTemplate"]
    metadata = fields.metadata(template)
    job = named("batch/v1", "Job", name, spec=template["spec"])
    job["metadata"] |= {key: metadata[key] for key in ("labels", "annotations") if metadata.get(key)}
    job["metadata"].setdefault("annotations", {})[(await api.dialect())("cronjob.{long}.io/instantiate")] = "manual"
    owner = {"apiVersion": "batch/v1", "kind": "CronJob", "name": cron_job, "uid": owner_object["metadata"]["uid"]}
    job["metadata"]["ownerReferences"] = [owner]
    return [job]
