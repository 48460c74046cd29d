"""``apply view-last-applied``: the configuration that was last applied to an object."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.applied import last_applied
from orchd.ctl.objects.selection import Selection, selection_options
from orchd.ctl.printing import output


@click.command("view-last-applied", cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@click.option(
    "-o",
    "--output",
    "form",
    type=click.Choice(["yaml", "json"]),
    default="yaml",
    show_default=True,
    help="yaml or json.",
)
@selection_options
@pass_session
def view_last_applied(session: Session, /, words: tuple[str, ...], form: str, **flags: Any) -> None:
    """Print the configuration that was last applied: the fields owned by this program's server-side apply, or the
    annotation of client-side apply."""
    selection = Selection.take(flags)

    async def work(api: Api) -> None:
        dialect = await api.dialect()
        texts = []
        for target in await selection.targets(api, session, words):
            obj = await api.get(target.resource, target.name, target.namespace)
            applied = last_applied(
                {"apiVersion": target.resource.api_version, "kind": target.resource.kind, **obj}, api.manager, dialect
            )
            if applied is None:
                raise CommandError(f"{target.label} was never applied: apply it, or create it with --save-config")
            texts.append(output.yaml_text(applied) if form == "yaml" else output.json_text(applied))
        output.document(("---\n" if form == "yaml" else "\n").join(texts), form)

    session.run(work)
