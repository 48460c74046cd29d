"""``delete``: deletes objects by name, selector or file."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.raw import send_raw
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import (
    DURATION,
    done_suffix,
    dry_query,
    dry_run_option,
    everywhere_option,
    files_option,
    selector_options,
)
from orchd.ctl.objects.deletion import _LONGEST, CASCADE, POLICIES, note_deleted, wait_gone
from orchd.ctl.objects.manifests import read_objects, read_raw_body
from orchd.ctl.objects.targets import Target, parse_targets, selected, target_of
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.fields import mapping, metadata
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
@files_option
@selector_options
@everywhere_option
@click.option(
    "--raw", default="", metavar="PATH", help="Send a DELETE request to this path, with the file of -f as its body."
)
@click.option("--all", "every", is_flag=True, help="All objects of the type (in the namespace).")
@click.option(
    "--cascade",
    type=CASCADE,
    default="background",
    show_default=True,
    is_flag=False,
    flag_value="background",
    help="What happens to dependents: background, foreground or orphan.",
)
@click.option("--grace-period", type=int, default=-1, help="Seconds for pods to end; 0 with --force deletes at once.")
@click.option("--force", is_flag=True, help="Delete pods without waiting for their nodes; implies --grace-period=0.")
@click.option("--now", is_flag=True, help="Same as --grace-period=1.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until the objects are gone.")
@click.option("--timeout", type=DURATION, default=_LONGEST, help="Maximum wait; default: a week.")
@click.option("--ignore-not-found", is_flag=True, help="A missing object is not an error.")
@click.option("-i", "--interactive", is_flag=True, help="Ask for confirmation.")
@click.option("-o", "--output", "form", type=click.Choice(["", "name"]), default="", help="name: print names only.")
@dry_run_option
@pass_session
def delete(
    session: Session,
    words: tuple[str, ...],
    files: tuple[str, ...],
    recursive: bool,
    selector: str,
    field_selector: str,
    everywhere: bool,
    raw: str,
    every: bool,
    cascade: str,
    grace_period: int,
    force: bool,
    now: bool,
    wait: bool,
    timeout: float,
    ignore_not_found: bool,
    interactive: bool,
    form: str,
    dry_run: str,
) -> None:
    """Delete objects and wait until they are gone."""
    if raw:
        if words or selector or every:
            raise CommandError("--raw takes a path alone: leave out types, names, -l and --all")
        output.text(send_raw(session, "DELETE", raw, read_raw_body(session, files, optional=True)))
        return
    if every and (selector or field_selector):
        raise CommandError("--all and a selector cannot be used together: leave out one of them")
    if now and grace_period >= 0:
        raise CommandError("--now and --grace-period cannot be used together: leave out one")
    if files and words:
        raise CommandError("give objects by -f or by name, not both")
    if grace_period == 0 and not force:
        raise CommandError("--grace-period=0 needs --force: pods may go on running on their nodes")
    grace = 1 if now else 0 if force and grace_period < 0 else grace_period
    options: Object = {"propagationPolicy": POLICIES[cascade], **({"gracePeriodSeconds": grace} if grace >= 0 else {})}

    async def work(api: Api) -> None:
        listed: set[Target] = set()
        if files:
            chosen = [await target_of(api, obj) for obj in read_objects(session, files, recursive=recursive)]
        else:
            targets = await parse_targets(api, words)
            if everywhere and any(target.name for target in targets):
                raise CommandError("an object cannot be deleted by name across all namespaces: leave out -A")
            rest = [target for target in targets if not target.name]
            selected_objects = await selected(
                api, rest, selector=selector, field_selector=field_selector, every=every, everywhere=everywhere
            )
            # An object that a selector chose may have been deleted by others meanwhile.
            listed = {target for target, _ in selected_objects}
            chosen = [*(target for target in targets if target.name), *(target for target, _ in selected_objects)]
        if not chosen:
            output.line("No resources found")
        if interactive and not _confirmed(chosen):
            output.line("deletion is cancelled")
            return
        left, failures = [], Failures()
        for each in chosen:
            with failures.collect():
                done = await _delete(api, each, options, dry_run, ignore_not_found or each in listed, form)
                left += [done] if done else []
        if wait and dry_run == "none":
            end = api.clock.seconds() + timeout
            for target, uid in left:
                await wait_gone(api, target, uid, end)
        failures.raise_collected()

    session.run(work)


def _confirmed(chosen: list[Target]) -> bool:
    output.line("You are about to delete the following resource(s):")
    output.lines(target.label for target in chosen)
    return click.confirm("Do you want to continue?", default=False)


async def _delete(
    api: Api, target: Target, options: Object, dry_run: str, ignore_not_found: bool, form: str
) -> tuple[Target, str] | None:
    """The object and its uid if it was deleted."""
    try:
        if dry_run == "client":
            response: Object = await api.get(target.resource, target.name, target.namespace)
        else:
            response = await api.delete(target.resource, target.name, target.namespace, options, dry_query(dry_run))
    except ApiError as error:
        if ignore_not_found and error.code == 404:
            return None
        raise
    word = "force deleted" if options.get("gracePeriodSeconds") == 0 else "deleted"
    if form == "name":
        output.line(target.label)
    else:
        note_deleted(api, target, word, done_suffix(dry_run))
    uid = mapping(response, "details").get("uid") or metadata(response).get("uid") or ""
    return target, str(uid)
