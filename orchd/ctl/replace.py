"""``replace``: replaces existing objects with those in files."""

from __future__ import annotations

import click

from orchd.client import paths
from orchd.client.requests import Call
from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.apply import check_namespace, report
from orchd.ctl.command import (
    DURATION,
    Command,
    dry_query,
    dry_run_option,
    files_option,
    validate_option,
    validation_query,
)
from orchd.ctl.delete import POLICIES, wait_gone
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import read_objects
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.dialect import COMMAND_LINE
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@files_option
@click.option("--force", is_flag=True, help="Delete each object, wait until it is gone, and create it.")
@click.option("--cascade", type=click.Choice(list(POLICIES)), default="background", show_default=True, help="With --force: what happens to dependents.")
@click.option("--grace-period", type=int, default=-1, help="With --force: seconds for pods to end.")
@click.option("--timeout", type=DURATION, default=300.0, help="With --force: longest wait for the end of an object; default 5m.")
@click.option("--subresource", type=click.Choice(["", "status", "scale"]), default="", help="Replace a subresource: status or scale.")
@click.option("--field-manager", default=COMMAND_LINE, show_default=True, help="Name under which fields are owned.")
@validate_option
@dry_run_option
@form_option
@pass_session
def replace(
    session: Session, files: tuple[str, ...], recursive: bool, force: bool, cascade: str, grace_period: int, timeout: float,
    subresource: str, field_manager: str, validate: str, dry_run: str, form: str,
) -> None:
    """Replace objects with those in files: fields that a file omits are removed."""
    if force and (dry_run != "none" or subresource):
        raise CommandError("--force deletes objects: it does not go with --dry-run or --subresource")
    if grace_period >= 0 and not force:
        raise CommandError("--grace-period needs --force: nothing is deleted otherwise")
    objects = read_objects(session, files, recursive=recursive)
    options: Object = {"propagationPolicy": POLICIES[cascade]}
    if grace_period >= 0:
        options["gracePeriodSeconds"] = grace_period
    query = {"fieldManager": field_manager, **dry_query(dry_run), **validation_query(validate)}

    async def work(api: Api) -> None:
        targets = [await target_of(api, obj) for obj in objects]
        for target in targets:
            check_namespace(api, session, target)
            if not target.name:
                raise CommandError(f"{target.resource.kind}: replace needs metadata.name")
        if force:
            await _delete_all(api, targets, options, timeout)
        for target, obj in zip(targets, objects, strict=True):
            done = obj
            if force:
                done = await api.create(target.resource, _new(obj), namespace=target.namespace, query=query)
            elif dry_run != "client":
                done = await _put(api, target, obj, subresource, query)
            await report(api, target, done, "replaced", form=form, dry_run=dry_run)

    session.run(work)


def _new(obj: Object) -> Object:
    """An object without what only one that is there has."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in ("resourceVersion", "uid", "creationTimestamp")}
    return {**obj, "metadata": metadata}


async def _delete_all(api: Api, targets: list[Target], options: Object, timeout: float) -> None:
    """Delete what is there and wait until it is gone. Raises CommandError."""
    gone = []
    for target in targets:
        try:
            answer = await api.delete(target.resource, target.name, target.namespace, options, {})
        except ApiError as error:
            if error.code == 404:
                continue
            raise
        output.line(f'{target.resource.name_in_messages} "{target.name}" deleted')
        uid = (answer.get("details") or {}).get("uid") or (answer.get("metadata") or {}).get("uid") or ""
        gone.append((target, str(uid)))
    end = api.clock.seconds() + timeout
    for target, uid in gone:
        await wait_gone(api, target, uid, end)


async def _put(api: Api, target: Target, obj: Object, subresource: str, query: dict[str, str]) -> Object:
    path = paths.item(target.resource.ref, api.scope(target.resource, target.namespace), target.name, subresource)
    if not obj["metadata"].get("resourceVersion") and subresource == "":
        # Without a version the write is unconditional, where the kind allows that; where not, the present one is named.
        try:
            return await _send(api, path, obj, query)
        except ApiError as error:
            if error.code != 422 or "resourceVersion" not in error.message:
                raise
        now = await api.get(target.resource, target.name, target.namespace)
        obj = {**obj, "metadata": {**obj["metadata"], "resourceVersion": now["metadata"]["resourceVersion"]}}
    return await _send(api, path, obj, query)


async def _send(api: Api, path: str, obj: Object, query: dict[str, str]) -> Object:
    found: Object = await api.call(Call(method="PUT", path=path, query=query, body=obj))
    return found
