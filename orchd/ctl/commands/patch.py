"""``patch``: changes fields of objects with a patch."""

from __future__ import annotations

from typing import Any

import click
import yaml

from orchd.ctl.cluster.api import JSON_PATCH, MERGE, STRATEGIC, Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import dry_query, files_option, write_options
from orchd.ctl.objects.local_patches import patched
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection, local_option
from orchd.ctl.objects.targets import Target, named_targets
from orchd.ctl.printing.forms import form_option

_TYPES = {"strategic": STRATEGIC, "merge": MERGE, "json": JSON_PATCH}


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("-p", "--patch", "text", default="", help="The patch as JSON or YAML.")
@click.option("--patch-file", default="", metavar="FILE", help="A file with the patch; - is standard input.")
@click.option(
    "--type", "type_", type=click.Choice(list(_TYPES)), default="strategic", show_default=True, help="Kind of patch."
)
@click.option("--subresource", default="", help="Patch a subresource such as status or scale.")
@files_option
@local_option
@write_options
@form_option
@pass_session
def patch(
    session: Session,
    /,
    words: tuple[str, ...],
    text: str,
    patch_file: str,
    type_: str,
    subresource: str,
    local: bool,
    dry_run: str,
    form: str,
    **flags: Any,
) -> None:
    """Change fields of objects with a patch. Custom kinds take --type=merge or json."""
    if bool(text) == bool(patch_file):
        raise CommandError("give the patch with -p or --patch-file, and not with both")
    try:
        body = yaml.safe_load(text or session.read(patch_file))
    except yaml.YAMLError:
        raise CommandError("the patch is neither JSON nor YAML: quote it as one argument") from None
    if not isinstance(body, list if type_ == "json" else dict):
        raise CommandError(f"a patch of --type={type_} is a {'list of operations' if type_ == 'json' else 'mapping'}")
    selection = Selection.take(flags)
    if local:
        for target, obj in selection.local(session, words):
            report(target, patched(obj, body, type_), "patched", form=form, dry_run="none")
        return

    async def work(api: Api) -> None:
        targets = await selection.targets(api, session, words) if selection.files else await named_targets(api, words)
        failures = Failures()
        for target in targets:
            with failures.collect():
                await one(api, target)
        failures.raise_collected()

    async def one(api: Api, target: Target) -> None:
        before = await api.get(target.resource, target.name, target.namespace, subresource=subresource)
        if dry_run == "client":
            done = patched(before, body, type_)
        else:
            done = await api.patch(
                target.resource, target.name, body, namespace=target.namespace, content_type=_TYPES[type_],
                subresource=subresource, query=dry_query(dry_run),
            )  # fmt: skip
        report(target, done, "patched" if done != before else "patched (no change)", form=form, dry_run=dry_run)

    session.run(work)
