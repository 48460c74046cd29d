"""``diff``: what ``apply`` would change."""

from __future__ import annotations

import difflib

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, explain_api_error, is_ownership_conflict
from orchd.ctl.flags import field_manager_option, files_option
from orchd.ctl.objects.applied import comparable_lines, current_object, send_apply
from orchd.ctl.objects.manifests import read_objects, select_by_labels
from orchd.ctl.objects.targets import target_of
from orchd.ctl.printing import output
from orchd.errors import ApiError


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
    """Print what apply would change, by force where other managers own fields. Exit status 0 without differences, 1
    with some, 2 after an error."""
    try:
        different = _differs(
            session, files, recursive=recursive, force_conflicts=force_conflicts, selector=selector, managed=managed
        )
    except ApiError as error:
        raise CommandError(explain_api_error(error), status=2) from None
    except CommandError as error:
        raise CommandError(*error.messages, status=2) from None
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
            before = await current_object(api, target)
            try:
                after = await send_apply(api, target, obj, query, before)
            except ApiError as error:
                if not is_ownership_conflict(error):
                    raise
                output.note(explain_api_error(error))
                after = await send_apply(api, target, obj, {**query, "force": "true"}, before)
            lines = list(
                difflib.unified_diff(
                    comparable_lines(before, managed),
                    comparable_lines(after, managed),
                    f"live/{target.label}",
                    f"applied/{target.label}",
                    lineterm="",
                )
            )
            if lines:
                different = True
                output.document("\n".join(lines), "diff")
        return different

    return session.run(work)
