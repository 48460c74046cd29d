"""``apply`` and ``diff``: server-side apply of objects in files, and what it would change."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import APPLY, Api
from orchd.ctl.command import (
    DURATION,
    Command,
    Group,
    dry_query,
    dry_run_option,
    field_manager_option,
    files_option,
    validate_option,
    validation_query,
)
from orchd.ctl.delete import CASCADE, POLICIES, wait_gone
from orchd.ctl.errors import CommandError, Failures, explain_api_error
from orchd.ctl.forms import form_option
from orchd.ctl.manifests import read_objects, select_by_labels
from orchd.ctl.printers import without_managed_fields
from orchd.ctl.prune import allowed_resources, prune
from orchd.ctl.reports import report
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


def check_namespace(api: Api, session: Session, target: Target) -> None:
    """Raises CommandError if an object is in another namespace than -n names."""
    if target.namespace and session.flags.namespace and target.namespace != session.flags.namespace:
        raise CommandError(
            f"{target.label} is of namespace {target.namespace!r}, -n says {session.flags.namespace!r}: leave out one of them"
        )


@click.group(cls=Group, invoke_without_command=True)
@files_option
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only objects in the files with these labels; --prune deletes only such objects.")
@dry_run_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@field_manager_option
@click.option("--prune", "pruning", is_flag=True, help="Delete objects that this manager applied before and that the files no longer contain.")
@click.option("--prune-allowlist", "--prune-whitelist", "allowlist", multiple=True, metavar="GROUP/VERSION/KIND", help="With --prune: only these kinds; may be repeated.")
@click.option("--all", "every", is_flag=True, help="With --prune: consider all objects, without a selector.")
@click.option("--force", is_flag=True, help="Delete and create an object whose changed fields are immutable.")
@click.option("--cascade", type=CASCADE, default="background", show_default=True, help="Deletion of dependents of deleted objects.")
@click.option("--grace-period", type=int, default=-1, help="Grace period of deleted pods in seconds.")
@click.option("--wait/--no-wait", default=False, show_default=True, help="With --prune: wait until deleted objects are gone.")
@click.option("--timeout", type=DURATION, default=300.0, help="Maximum wait for the deletion; default 5m.")
@validate_option
@click.option("--server-side", is_flag=True, default=True, hidden=True, expose_value=False, help="Always on.")
@click.option("--overwrite", is_flag=True, hidden=True, expose_value=False, help="No effect: an option of client-side apply.")
@click.option("--openapi-patch", is_flag=True, hidden=True, expose_value=False, help="No effect: an option of client-side apply.")
@form_option
@click.pass_context
def apply(
    context: click.Context, /, files: tuple[str, ...], recursive: bool, selector: str, dry_run: str, force_conflicts: bool, pruning: bool,
    allowlist: tuple[str, ...], every: bool, form: str, **deleting: Any,
) -> None:
    """Create or update objects from files with server-side apply, which owns the fields in the files."""  # fmt: skip
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
            await prune(api, applied, resources=resources, selector=selector, options=options, dry_run=dry_run, wait=wait)

    async def apply_one(api: Api, obj: Object) -> tuple[Target, str]:
        """Apply an object; its target and uid."""
        target = await target_of(api, obj)
        check_namespace(api, session, target)
        if not target.name:
            raise CommandError(f"{target.resource.kind}: apply needs metadata.name; create takes generateName")
        before = await _current(api, target)
        if dry_run == "client":
            report(target, obj, "created" if before is None else "configured", form=form, dry_run=dry_run)
            return target, _uid(before)
        try:
            done = await send_apply(api, target, obj, query)
        except ApiError as error:
            if not (deleting["force"] and before is not None and error.reason == "Invalid" and dry_run == "none"):
                raise
            await api.delete(target.resource, target.name, target.namespace, options, {})
            await wait_gone(api, target, _uid(before), api.clock.seconds() + deleting["timeout"])
            before, done = None, await send_apply(api, target, obj, query)
        word = "created" if before is None else "unchanged" if _lines(before) == _lines(done) else "configured"
        report(target, done, word, form=form, dry_run=dry_run)
        return target, _uid(done)

    session.run(work)


def _uid(obj: Object | None) -> str:
    return str(obj["metadata"].get("uid", "")) if obj else ""


async def send_apply(api: Api, target: Target, obj: Object, query: Mapping[str, str]) -> Object:
    """Apply an object. Fields that this manager owns by other commands (set, scale, edit) are taken over; those of other managers
    are a conflict, unless the query says force."""

    async def send(asked: Mapping[str, str]) -> Object:
        return await api.patch(
            target.resource, target.name, without_managed_fields(obj), namespace=target.namespace, content_type=APPLY, query=asked
        )

    try:
        return await send(query)
    except ApiError as error:
        if not _is_own_conflict(error, api.manager):
            raise
        return await send({**query, "force": "true"})


def _is_own_conflict(error: ApiError, manager: str) -> bool:
    """True if every conflict is with fields that the manager itself owns by other commands."""
    causes = (error.details or {}).get("causes") or ()
    return error.reason == "Conflict" and bool(causes) and all(
        each.get("reason") == "FieldManagerConflict" and str(each.get("message", "")).startswith(f'conflict with "{manager}"')
        for each in causes
    )  # fmt: skip


async def _current(api: Api, target: Target) -> Object | None:
    try:
        return await api.get(target.resource, target.name, target.namespace)
    except ApiError as error:
        if error.code == 404:
            return None
        raise


@click.command(cls=Command)
@files_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@click.option("--server-side", is_flag=True, expose_value=False, hidden=True, help="Always on.")
@click.option("-l", "--selector", default="", metavar="SELECTOR", help="Only objects of the files with these labels.")
@click.option("--show-managed-fields", "managed", is_flag=True, help="Compare metadata.managedFields as well.")
@field_manager_option
@pass_session
def diff(
    session: Session, files: tuple[str, ...], recursive: bool, force_conflicts: bool, selector: str, managed: bool
) -> None:
    """Print what apply would change. Exit status 0 without differences, 1 with some, 2 after an error."""
    try:
        different = _differs(session, files, recursive=recursive, force_conflicts=force_conflicts, selector=selector, managed=managed)
    except ApiError as error:
        raise CommandError(explain_api_error(error), status=2) from None
    except CommandError as error:
        raise CommandError(str(error), status=2) from None
    raise click.exceptions.Exit(1 if different else 0)


def _differs(
    session: Session, files: tuple[str, ...], *, recursive: bool, force_conflicts: bool, selector: str, managed: bool
) -> bool:
    """Print the differences. True if there are any."""
    objects = select_by_labels(read_objects(session, files, recursive=recursive), selector)
    query = {"dryRun": "All", **({"force": "true"} if force_conflicts else {})}

    async def work(api: Api) -> bool:
        different = False
        for obj in objects:
            target = await target_of(api, obj)
            before = await _current(api, target)
            after = await send_apply(api, target, obj, query)
            lines = list(
                difflib.unified_diff(
                    _lines(before, managed), _lines(after, managed), f"live/{target.label}", f"applied/{target.label}", lineterm=""
                )
            )
            if lines:
                different = True
                output.document("\n".join(lines), "diff")
        return different

    return session.run(work)


#: Metadata that every write changes.
_VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


def _lines(obj: Object | None, managed: bool = False) -> list[str]:
    if obj is None:
        return []
    hidden = _VOLATILE[1:] if managed else _VOLATILE
    metadata = {key: value for key, value in obj["metadata"].items() if key not in hidden}
    return output.yaml_text({**obj, "metadata": metadata}).splitlines()
