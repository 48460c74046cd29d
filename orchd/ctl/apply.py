"""``apply`` and ``diff``: server-side apply of objects in files, and what it would change."""

from __future__ import annotations

import difflib

import click

from orchd.ctl import output
from orchd.ctl.api import APPLY, Api
from orchd.ctl.command import (
    Command,
    done_suffix,
    dry_query,
    dry_run_option,
    files_option,
    validate_option,
    validation_query,
)
from orchd.ctl.errors import CommandError, Failures, explain_api_error
from orchd.ctl.forms import form_option
from orchd.ctl.get import labels
from orchd.ctl.manifests import read_objects
from orchd.ctl.printers import printer, without_managed_fields
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, target_of
from orchd.dialect import COMMAND_LINE
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object


async def report(api: Api, target: Target, obj: Object, done: str, *, form: str, dry_run: str) -> None:
    """Say what was done, or print the object in the form that was asked for."""
    if form:
        printer(form, label=await labels(api))([obj], True)
    else:
        name = target.name or str(obj["metadata"].get("name", ""))
        output.line(f"{target.resource.label(name)} {done}{done_suffix(dry_run)}")


def check_namespace(api: Api, session: Session, target: Target) -> None:
    """Raises CommandError if an object is in another namespace than -n names."""
    if target.namespace and session.flags.namespace and target.namespace != session.flags.namespace:
        raise CommandError(
            f"{target.label} is of namespace {target.namespace!r}, -n says {session.flags.namespace!r}: leave out one of them"
        )


def refuse_prune(context: click.Context, parameter: click.Parameter, value: bool) -> None:
    if value:
        raise CommandError("--prune is not built here: label the objects of a set, and delete -l SELECTOR those that it no longer has")


@click.command(cls=Command)
@files_option
@dry_run_option
@click.option("--force-conflicts", is_flag=True, help="Take over fields that other managers own.")
@click.option("--field-manager", default=COMMAND_LINE, show_default=True, help="Name under which fields are owned.")
@click.option("--prune", is_flag=True, expose_value=False, callback=refuse_prune, hidden=True, help="Refused: not built here.")
@validate_option
@click.option("--server-side", is_flag=True, default=True, hidden=True, help="Always on.")
@form_option
@pass_session
def apply(
    session: Session, files: tuple[str, ...], recursive: bool, dry_run: str, force_conflicts: bool, field_manager: str,
    server_side: bool, validate: str, form: str,
) -> None:
    """Create or update objects from files with server-side apply, which owns the fields in the files."""  # fmt: skip
    objects = read_objects(session, files, recursive=recursive)
    query = {"fieldManager": field_manager, **dry_query(dry_run), **({"force": "true"} if force_conflicts else {})}
    query |= validation_query(validate)

    async def work(api: Api) -> None:
        failures = Failures()
        for obj in objects:
            with failures.collect():
                await apply_one(api, obj)
        failures.raise_collected()

    async def apply_one(api: Api, obj: Object) -> None:
        target = await target_of(api, obj)
        check_namespace(api, session, target)
        if not target.name:
            raise CommandError(f"{target.resource.kind}: apply needs metadata.name; create takes generateName")
        if dry_run == "client":
            await report(api, target, obj, "applied", form=form, dry_run=dry_run)
            return
        before = await _current(api, target)
        done = await api.patch(
            target.resource, target.name, without_managed_fields(obj), namespace=target.namespace, content_type=APPLY,
            query=query,
        )  # fmt: skip
        word = "created" if before is None else "unchanged" if _lines(before) == _lines(done) else "configured"
        await report(api, target, done, word, form=form, dry_run=dry_run)

    session.run(work)


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
@pass_session
def diff(session: Session, files: tuple[str, ...], recursive: bool, force_conflicts: bool) -> None:
    """Print what apply would change. Exit status 0 without differences, 1 with some, 2 after an error."""
    try:
        different = _differs(session, files, recursive=recursive, force_conflicts=force_conflicts)
    except ApiError as error:
        raise CommandError(explain_api_error(error), status=2) from None
    except CommandError as error:
        raise CommandError(str(error), status=2) from None
    raise click.exceptions.Exit(1 if different else 0)


def _differs(session: Session, files: tuple[str, ...], *, recursive: bool, force_conflicts: bool) -> bool:
    """Print the differences. True if there are any."""
    objects = read_objects(session, files, recursive=recursive)
    query = {"dryRun": "All", **({"force": "true"} if force_conflicts else {})}

    async def work(api: Api) -> bool:
        different = False
        for obj in objects:
            target = await target_of(api, obj)
            before = await _current(api, target)
            after = await api.patch(
                target.resource, target.name, without_managed_fields(obj), namespace=target.namespace, content_type=APPLY,
                query=query,
            )  # fmt: skip
            lines = list(
                difflib.unified_diff(
                    _lines(before), _lines(after), f"live/{target.label}", f"applied/{target.label}", lineterm=""
                )
            )
            if lines:
                different = True
                output.document("\n".join(lines), "diff")
        return different

    return session.run(work)


#: Metadata that every write changes.
_VOLATILE = ("managedFields", "resourceVersion", "generation", "uid", "creationTimestamp")


def _lines(obj: Object | None) -> list[str]:
    if obj is None:
        return []
    metadata = {key: value for key, value in obj["metadata"].items() if key not in _VOLATILE}
    return output.yaml_text({**obj, "metadata": metadata}).splitlines()
