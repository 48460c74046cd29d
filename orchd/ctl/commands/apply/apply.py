"""``apply``: server-side apply of objects in files."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.command import Group
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import (
    DURATION,
    dry_query,
    dry_run_option,
    field_manager_option,
    files_option,
    validate_option,
    validation_query,
)
from orchd.ctl.objects.applied import comparable_lines, current_object, send_apply, uid_of
from orchd.ctl.objects.deletion import CASCADE, POLICIES, wait_gone
from orchd.ctl.objects.manifests import read_objects, select_by_labels
from orchd.ctl.objects.prune import allowed_resources, prune
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import Target, check_namespace, target_of
from orchd.ctl.printing.forms import form_option
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


@click.group(cls=Group, invoke_without_command=True)
@files_option
@click.option(
    "-l",
    "--selector",
    default="",
    metavar="SELECTOR",
    help="Only objects in the files with these labels; --prune deletes only such objects.",
)
@dry_run_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@field_manager_option
@click.option(
    "--prune",
    "pruning",
    is_flag=True,
    help="Delete objects that this manager applied before and that the files no longer contain.",
)
@click.option(
    "--prune-allowlist",
    "--prune-whitelist",
    "allowlist",
    multiple=True,
    metavar="GROUP/VERSION/KIND",
    help="With --prune: only these kinds; may be repeated.",
)
@click.option("--all", "every", is_flag=True, help="With --prune: consider all objects, without a selector.")
@click.option("--force", is_flag=True, help="Delete and create an object whose changed fields are immutable.")
@click.option(
    "--cascade",
    type=CASCADE,
    default="background",
    show_default=True,
    help="Deletion of dependents of deleted objects.",
)
@click.option("--grace-period", type=int, default=-1, help="Grace period of deleted pods in seconds.")
@click.option(
    "--wait/--no-wait", default=False, show_default=True, help="With --prune: wait until deleted objects are gone."
)
@click.option("--timeout", type=DURATION, default=300.0, help="Maximum wait for the deletion; default 5m.")
@validate_option
@click.option("--server-side", is_flag=True, default=True, hidden=True, expose_value=False, help="Always on.")
@click.option(
    "--overwrite", is_flag=True, hidden=True, expose_value=False, help="No effect: an option of client-side apply."
)
@click.option(
    "--openapi-patch", is_flag=True, hidden=True, expose_value=False, help="No effect: an option of client-side apply."
)
@form_option
@click.pass_context
def apply(
    context: click.Context,
    /,
    files: tuple[str, ...],
    recursive: bool,
    selector: str,
    dry_run: str,
    force_conflicts: bool,
    pruning: bool,
    allowlist: tuple[str, ...],
    every: bool,
    form: str,
    **deleting: Any,
) -> None:
    """Create or update objects from files with server-side apply, which owns the fields in the files."""
    if context.invoked_subcommand is not None:
        if files:
            raise CommandError(f"give -f behind apply {context.invoked_subcommand}")
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    if pruning and bool(selector) == every:
        raise CommandError("--prune needs -l SELECTOR, or --all instead: it says which objects may be deleted")
    if (every or allowlist) and not pruning:
        raise CommandError("--all and --prune-allowlist go with --prune: without it nothing is deleted")
    objects = select_by_labels(read_objects(session, files, recursive=recursive), selector)
    query = {**dry_query(dry_run), **({"force": "true"} if force_conflicts else {}), **validation_query(session)}
    options: Object = {"propagationPolicy": POLICIES[deleting["cascade"]]}
    if deleting["grace_period"] >= 0:
        options["gracePeriodSeconds"] = deleting["grace_period"]

    async def work(api: Api) -> None:
        failures, applied = Failures(), []
        resources = await allowed_resources(api, allowlist) if pruning else []
        for obj in objects:
            with failures.collect():
                applied.append(await apply_one(api, obj))
        # What could not be applied is not known by its uid: nothing is deleted then.
        failures.raise_collected()
        if pruning:
            wait = deleting["timeout"] if deleting["wait"] else 0.0
            await prune(
                api, applied, resources=resources, selector=selector, options=options, dry_run=dry_run, wait=wait
            )

    async def apply_one(api: Api, obj: Object) -> tuple[Target, str]:
        """Apply an object; its target and uid."""
        target = await target_of(api, obj)
        check_namespace(session, target)
        if not target.name:
            raise CommandError(f"{target.resource.kind}: apply needs metadata.name; create takes generateName")
        before = await current_object(api, target)
        if dry_run == "client":
            report(target, obj, "created" if before is None else "configured", form=form, dry_run=dry_run)
            return target, uid_of(before)
        try:
            done = await send_apply(api, target, obj, query, before)
        except ApiError as error:
            if not (deleting["force"] and before is not None and error.reason == "Invalid" and dry_run == "none"):
                raise
            guarded = {**options, "preconditions": {"uid": uid_of(before)}}
            await api.delete(target.resource, target.name, target.namespace, guarded, {})
            await wait_gone(api, target, uid_of(before), api.clock.seconds() + deleting["timeout"])
            before, done = None, await send_apply(api, target, obj, query, None)
        word = (
            "created"
            if before is None
            else "unchanged"
            if comparable_lines(before) == comparable_lines(done)
            else "configured"
        )
        report(target, done, word, form=form, dry_run=dry_run)
        return target, uid_of(done)

    session.run(work)
