"""``apply set-last-applied``: objects of files in the annotation of client-side apply."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import dry_query, dry_run_option, field_manager_option, files_option
from orchd.ctl.objects.applied import annotation, as_annotation
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection
from orchd.ctl.objects.targets import Target, target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.kinds.jsonvalues import Object


@click.command("set-last-applied", cls=Command)
@files_option
@click.option("--create-annotation", is_flag=True, help="Also of objects that do not have the annotation yet.")
@dry_run_option
@field_manager_option
@form_option
@pass_session
def set_last_applied(
    session: Session, files: tuple[str, ...], recursive: bool, create_annotation: bool, dry_run: str, form: str
) -> None:
    """Keep objects of files in the annotation of client-side apply; nothing else of them is changed."""
    selection = Selection(files=files, recursive=recursive)

    async def work(api: Api) -> None:
        failures = Failures()
        for obj in selection.objects(session):
            with failures.collect():
                await one(api, obj)
        failures.raise_collected()

    async def one(api: Api, obj: Object) -> None:
        dialect, target = await api.dialect(), await target_of(api, obj)
        present = await api.get(target.resource, target.name, target.namespace)
        before = (present["metadata"].get("annotations") or {}).get(annotation(dialect))
        if before is None and not create_annotation:
            raise CommandError(f"{target.label} has no annotation of client-side apply: --create-annotation adds it")
        await _set(api, target, present, as_annotation(obj, dialect), before, dry_run=dry_run, form=form)

    async def _set(
        api: Api, target: Target, present: Object, text: str, before: str | None, *, dry_run: str, form: str
    ) -> None:
        if text == before:
            output.line(f"set-last-applied {target.name}: no changes required.")
            return
        patch = {"metadata": {"annotations": {annotation(await api.dialect()): text}}}
        done = present
        if dry_run != "client":
            done = await api.patch(
                target.resource, target.name, patch, namespace=target.namespace, query=dry_query(dry_run)
            )
        report(target, done, "configured", form=form, dry_run=dry_run)

    session.run(work)
