"""``replace``: replaces existing objects with those in files."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.raw import send_raw
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import (
    DURATION,
    dry_query,
    files_option,
    save_config_option,
    validate_option,
    validation_query,
    write_options,
)
from orchd.ctl.objects.applied import with_last_applied
from orchd.ctl.objects.deletion import CASCADE, POLICIES, note_deleted, wait_gone
from orchd.ctl.objects.manifests import read_objects, read_raw_body
from orchd.ctl.objects.replacement import put
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.targets import Target, check_namespace, target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@files_option
@click.option("--force", is_flag=True, help="Delete each object, wait until it is gone, and create it.")
@click.option(
    "--cascade", type=CASCADE, default="background", show_default=True, help="With --force: what happens to dependents."
)
@click.option("--grace-period", type=int, default=-1, help="With --force: seconds for pods to end.")
@click.option(
    "--timeout", type=DURATION, default=300.0, help="With --force: longest wait for the end of an object; default 5m."
)
@click.option("--raw", default="", metavar="PATH", help="Send the file unchanged to this path of the server.")
@click.option("--wait", is_flag=True, expose_value=False, hidden=True, help="Always on with --force.")
@click.option(
    "--subresource",
    type=click.Choice(["", "status", "scale"]),
    default="",
    help="Replace a subresource: status or scale.",
)
@validate_option
@write_options
@save_config_option
@form_option
@pass_session
def replace(
    session: Session,
    files: tuple[str, ...],
    recursive: bool,
    force: bool,
    cascade: str,
    grace_period: int,
    timeout: float,
    raw: str,
    subresource: str,
    dry_run: str,
    form: str,
) -> None:
    """Replace objects with those in files: fields that a file omits are removed."""
    if raw:
        output.text(send_raw(session, "PUT", raw, read_raw_body(session, files)))
        return
    if force and (dry_run != "none" or subresource):
        raise CommandError("--force deletes objects: it does not go with --dry-run or --subresource")
    if grace_period >= 0 and not force:
        raise CommandError("--grace-period needs --force: nothing is deleted otherwise")
    objects = read_objects(session, files, recursive=recursive)
    options: Object = {"propagationPolicy": POLICIES[cascade]}
    if grace_period >= 0:
        options["gracePeriodSeconds"] = grace_period
    query = {"fieldManager": session.writing.manager, **dry_query(dry_run), **validation_query(session)}

    async def work(api: Api) -> None:
        failures = Failures()
        replacements = []
        for obj in objects:
            with failures.collect():
                target = await target_of(api, obj)
                check_namespace(session, target)
                if not target.name:
                    raise CommandError(f"{target.resource.kind}: replace needs metadata.name")
                replacements.append(
                    (target, with_last_applied(obj, await api.dialect()) if session.writing.save_config else obj)
                )
        if force:
            await _delete_all(api, [target for target, _ in replacements], options, timeout)
        for target, obj in replacements:
            with failures.collect():
                done = obj
                if force:
                    done = await api.create(target.resource, _new(obj), namespace=target.namespace, query=query)
                elif dry_run != "client":
                    done = await put(api, target, obj, subresource=subresource, query=query)
                report(target, done, "replaced", form=form, dry_run=dry_run)
        failures.raise_collected()

    session.run(work)


def _new(obj: Object) -> Object:
    """An object without what only one that is there has."""
    metadata = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("resourceVersion", "uid", "creationTimestamp")
    }
    return {**obj, "metadata": metadata}


async def _delete_all(api: Api, targets: list[Target], options: Object, timeout: float) -> None:
    """Delete what is there and wait until it is gone. Raises CommandError."""
    gone = []
    for target in targets:
        try:
            response = await api.delete(target.resource, target.name, target.namespace, options, {})
        except ApiError as error:
            if error.code == 404:
                continue
            raise
        note_deleted(api, target)
        uid = (response.get("details") or {}).get("uid") or fields.metadata(response).get("uid") or ""
        gone.append((target, str(uid)))
    end = api.clock.seconds() + timeout
    for target, uid in gone:
        await wait_gone(api, target, uid, end)
