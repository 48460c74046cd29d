"""``rollout restart``: replaces all pods."""

from __future__ import annotations

import datetime
from typing import Any

import click

from orchd.ctl.cluster.api import STRATEGIC, Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import field_manager_option
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.rollouts import change_each, rollout_selection, rollout_targets, rollout_words
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option


@click.command(cls=Command)
@rollout_words
@rollout_selection
@field_manager_option
@form_option
@pass_session
def restart(session: Session, /, words: tuple[str, ...], form: str, **flags: Any) -> None:
    """Replace all pods, following the update strategy."""

    async def work(api: Api) -> None:
        await change_each(api, await rollout_targets(api, session, words, flags), one)

    async def one(api: Api, target: Target) -> None:
        key = (await api.dialect())("{short}ctl.{long}.io/restartedAt")
        owner = await api.get(target.resource, target.name, target.namespace)
        if owner["spec"].get("paused"):
            raise CommandError(f"{target.label} is paused: resume it first (rollout resume)")
        now = datetime.datetime.fromtimestamp(int(api.clock.seconds()), datetime.UTC)
        stamp = now.isoformat().replace("+00:00", "Z")
        body = {"spec": {"template": {"metadata": {"annotations": {key: stamp}}}}}
        done = await api.patch(target.resource, target.name, body, namespace=target.namespace, content_type=STRATEGIC)
        report(target, done, "restarted", form=form, dry_run="none")

    session.run(work)
