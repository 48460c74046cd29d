"""``rollout history``: the revisions of objects."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.rollouts import find_revision, revisions, rollout_selection, rollout_targets, rollout_words
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.ctl.printing.describe.sheet import Sheet
from orchd.ctl.printing.describe.templates import pod_template
from orchd.ctl.printing.forms import form_option
from orchd.ctl.printing.printers import printer
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@rollout_words
@click.option("--revision", type=click.IntRange(min=0), default=0, help="Print the pod template of this revision.")
@rollout_selection
@form_option
@pass_session
def history(session: Session, /, words: tuple[str, ...], revision: int, form: str, **flags: Any) -> None:
    """Print the revisions of objects; with -o the object that stores each revision."""

    async def work(api: Api) -> None:
        for target in await rollout_targets(api, session, words, flags):
            owner = await api.get(target.resource, target.name, target.namespace)
            kept = await revisions(api, target, owner)
            if form:
                printed = [find_revision(kept, revision)] if revision else list(kept.values())
                printer(form)([each["object"] for each in printed], bool(revision) or len(printed) == 1)
            elif revision:
                template = find_revision(kept, revision)["template"]
                output.line(f"{target.label} with revision #{revision}")
                sheet = Sheet(frozenset(((await api.dialect()).last_applied,)))
                pod_template(sheet, template)
                output.lines(sheet.text())
            else:
                await _print_history(api, target, kept)

    session.run(work)


async def _print_history(api: Api, target: Target, kept: dict[int, Object]) -> None:
    cause = (await api.dialect())("{long}.io/change-cause")
    output.line(target.label)
    rows = [(str(number), fields.annotations_of(each).get(cause) or "<none>") for number, each in kept.items()]
    output.Columns(["revision", "change-cause"]).write(rows)
    output.line()
