"""``describe``: readable descriptions of objects."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.flags import everywhere_option, files_option, selector_options
from orchd.ctl.objects.manifests import read_objects
from orchd.ctl.objects.targets import note_nothing_found, parse_targets, selected, target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.describe.description import describe_object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@files_option
@selector_options
@everywhere_option
@click.option(
    "--show-events/--no-show-events", default=True, show_default=True, help="Show the Events about each object."
)
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@pass_session
def describe(
    session: Session,
    words: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    selector: str,
    field_selector: str,
    everywhere: bool,
    show_events: bool,
) -> None:
    """Show details of objects, with related objects and events."""

    async def work(api: Api) -> None:
        if files:
            targets = [await target_of(api, obj) for obj in read_objects(session, files, recursive=recursive)]
        else:
            targets = await parse_targets(api, words)
        chosen = await selected(
            api, targets, selector=selector, field_selector=field_selector, every=True, everywhere=everywhere
        )
        if not chosen:
            note_nothing_found(api, targets, everywhere=everywhere)
        for at, (target, obj) in enumerate(chosen):
            if at:
                output.line("\n")
            for line in await describe_object(api, target, obj, with_events=show_events):
                output.line(line)

    session.run(work)
