"""``rollout undo``: returns to an earlier revision."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import JSON_PATCH, Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import dry_query, write_options
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.rollouts import (
    change_each,
    find_revision,
    revisions,
    rollout_selection,
    rollout_targets,
    rollout_words,
)
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@rollout_words
@click.option(
    "--to-revision", type=click.IntRange(min=0), default=0, help="The revision to return to; default: the one before."
)
@rollout_selection
@write_options
@form_option
@pass_session
def undo(session: Session, /, words: tuple[str, ...], to_revision: int, dry_run: str, form: str, **flags: Any) -> None:
    """Return to an earlier revision."""

    async def work(api: Api) -> None:
        await change_each(api, await rollout_targets(api, session, words, flags), one)

    async def one(api: Api, target: Target) -> None:
        owner = await api.get(target.resource, target.name, target.namespace)
        if owner["spec"].get("paused"):
            raise CommandError(f"{target.label} is paused: resume it first (rollout resume)")
        kept = await revisions(api, target, owner)
        template = find_revision(kept, to_revision or _previous(kept, target))["template"]
        template = _without_label(template, "pod-template-hash")
        if not template:
            raise CommandError(f"the revision of {target.label} keeps no pod template: see rollout history")
        done: Object = {**owner, "spec": {**owner["spec"], "template": template}}
        if dry_run != "client":
            operations = [{"op": "replace", "path": "/spec/template", "value": template}]
            done = await api.patch(
                target.resource,
                target.name,
                operations,
                namespace=target.namespace,
                content_type=JSON_PATCH,
                query=dry_query(dry_run),
            )
        report(target, done, "rolled back", form=form, dry_run=dry_run)

    session.run(work)


def _previous(kept: dict[int, Object], target: Target) -> int:
    if len(kept) < 2:
        raise CommandError(f"{target.label} has no earlier revision: nothing to undo")
    return list(kept)[-2]


def _without_label(template: Object, label: str) -> Object:
    metadata = fields.metadata(template)
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != label}
    return {**template, "metadata": {**metadata, "labels": labels}} if template else template
