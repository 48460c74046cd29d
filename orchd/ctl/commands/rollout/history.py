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
from orchd.ctl.printing.forms import form_option
from orchd.ctl.printing.printers import printer
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@rollout_words
@click.option("--revision", type=click.IntRange(min=0), default=0, help="Print the pod template of this revision.")
@rollout_selection
@form_option
@pass_session
def history(session: Session, /, words: tuple[str, ...], revision: int, form: str, **given: Any) -> None:
    """Print the revisions of objects; with -o the object that stores each revision."""

    async def work(api: Api) -> None:
        for target in await rollout_targets(api, session, words, given):
            owner = await api.get(target.resource, target.name, target.namespace)
            found = await revisions(api, target, owner)
            if form:
                kept = [find_revision(found, revision)] if revision else list(found.values())
                printer(form)([each["object"] for each in kept], bool(revision) or len(kept) == 1)
            elif revision:
                template = find_revision(found, revision)["template"]
                output.line(f"{target.label} with revision #{revision}")
                output.document(output.yaml_text(template), "yaml")
            else:
                await _print_history(api, target, found)

    session.run(work)


async def _print_history(api: Api, target: Target, found: dict[int, Object]) -> None:
    cause = (await api.dialect())("{long}.io/change-cause")
    output.line(target.label)
    rows = [(str(number), (each["metadata"].get("annotations") or {}).get(cause) or "<none>") for number, each in found.items()]
    output.Columns(["revision", "change-cause"]).write(rows)
    output.line()
