"""``patch`` and ``scale``."""

from __future__ import annotations

from typing import Any

import click
import yaml

from orchd.ctl.api import JSON_PATCH, MERGE, STRATEGIC, Api
from orchd.ctl.command import DURATION, Command, dry_query, files_option, write_options
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.local_patches import patched
from orchd.ctl.reports import report
from orchd.ctl.selection import Selection, local_option, selection_options
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, named_targets

#: Seconds between two looks at an object that is waited for.
_LOOK = 0.5
_TYPES = {"strategic": STRATEGIC, "merge": MERGE, "json": JSON_PATCH}


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("-p", "--patch", "text", default="", help="The patch as JSON or YAML.")
@click.option("--patch-file", default="", metavar="FILE", help="A file with the patch; - is standard input.")
@click.option("--type", "type_", type=click.Choice(list(_TYPES)), default="strategic", show_default=True, help="Kind of patch.")
@click.option("--subresource", default="", help="Patch a subresource such as status or scale.")
@files_option
@local_option
@write_options
@form_option
@pass_session
def patch(
    session: Session, /, words: tuple[str, ...], text: str, patch_file: str, type_: str, subresource: str, local: bool, dry_run: str,
    form: str, **given: Any,
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
    selection = Selection.take(given)
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


# -- scale


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME... | TYPE/NAME...")
@click.option("--replicas", type=click.IntRange(min=0), required=True, help="Number of pods.")
@click.option("--current-replicas", type=int, default=-1, help="Only if the current number is this.")
@click.option("--resource-version", default="", help="Only if the object has this resourceVersion.")
@click.option("--timeout", type=DURATION, default=0.0, help="Longest wait until as many pods are there; default: none is waited for.")
@selection_options
@write_options
@form_option
@pass_session
def scale(
    session: Session, /, words: tuple[str, ...], replicas: int, current_replicas: int, resource_version: str, timeout: float,
    dry_run: str, form: str, **given: Any,
) -> None:
    """Set the number of replicas of deployments, replica sets, stateful sets and custom kinds with a scale."""  # fmt: skip
    selection = Selection.take(given)

    async def work(api: Api) -> None:
        targets = await selection.targets(api, session, words, needed=True)
        failures = Failures()
        for target in targets:
            with failures.collect():
                await one(api, target)
        end = api.clock.seconds() + timeout
        for target in targets if timeout > 0 and dry_run == "none" and not failures else ():
            await _wait_scaled(api, target, replicas, end)
        failures.raise_collected()

    async def one(api: Api, target: Target) -> None:
        if "scale" not in target.resource.subresources:
            raise CommandError(f"{target.resource.qualified} cannot be scaled: choose a type with a scale subresource")
        body: dict[str, Any] = {"spec": {"replicas": replicas}}
        now = await api.get(target.resource, target.name, target.namespace, subresource="scale")
        if current_replicas >= 0:
            found = (now.get("spec") or {}).get("replicas", 0)
            if found != current_replicas:
                raise CommandError(f"{target.label} has {found} replicas, not {current_replicas}: nothing was changed")
            body["metadata"] = {"resourceVersion": now["metadata"]["resourceVersion"]}
        if resource_version:
            body["metadata"] = {"resourceVersion": resource_version}
        if dry_run != "client":
            await api.patch(
                target.resource, target.name, body, namespace=target.namespace, subresource="scale", query=dry_query(dry_run)
            )
        shown = await api.get(target.resource, target.name, target.namespace) if form else now
        report(target, shown, "scaled", form=form, dry_run=dry_run)

    session.run(work)


async def _wait_scaled(api: Api, target: Target, replicas: int, end: float) -> None:
    while True:
        found = await api.get(target.resource, target.name, target.namespace, subresource="scale")
        if ((found.get("status") or {}).get("replicas") or 0) == replicas:
            return
        if api.clock.seconds() >= end:
            raise CommandError(f"timed out: {target.label} does not have {replicas} replicas yet: look at it with describe")
        await api.sleep(_LOOK)
