"""``scale``: sets the number of replicas."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import DURATION, dry_query, write_options
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection, selection_options
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds import fields

#: Seconds between two looks at an object that is waited for.
_LOOK = 0.5


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME... | TYPE/NAME...")
@click.option("--replicas", type=click.IntRange(min=0), required=True, help="Number of pods.")
@click.option("--current-replicas", type=int, default=-1, help="Only if the current number is this.")
@click.option("--resource-version", default="", help="Only if the object has this resourceVersion.")
@click.option(
    "--timeout",
    type=DURATION,
    default=0.0,
    help="Longest wait until as many pods are there; default: none is waited for.",
)
@selection_options
@write_options
@form_option
@pass_session
def scale(
    session: Session,
    /,
    words: tuple[str, ...],
    replicas: int,
    current_replicas: int,
    resource_version: str,
    timeout: float,
    dry_run: str,
    form: str,
    **flags: Any,
) -> None:
    """Set the number of replicas of deployments, replica sets, stateful sets and custom kinds with a scale."""
    selection = Selection.take(flags)

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
            current = fields.spec(now).get("replicas", 0)
            if current != current_replicas:
                raise CommandError(
                    f"{target.label} has {current} replicas, not {current_replicas}: nothing was changed"
                )
            body["metadata"] = {"resourceVersion": now["metadata"]["resourceVersion"]}
        if resource_version:
            body["metadata"] = {"resourceVersion": resource_version}
        if dry_run != "client":
            await api.patch(
                target.resource,
                target.name,
                body,
                namespace=target.namespace,
                subresource="scale",
                query=dry_query(dry_run),
            )
        reported = await api.get(target.resource, target.name, target.namespace) if form else {}
        report(target, reported, "scaled", form=form, dry_run=dry_run)

    session.run(work)


async def _wait_scaled(api: Api, target: Target, replicas: int, end: float) -> None:
    while True:
        obj = await api.get(target.resource, target.name, target.namespace, subresource="scale")
        if (fields.status(obj).get("replicas") or 0) == replicas:
            return
        if api.clock.seconds() >= end:
            raise CommandError(
                f"timed out: {target.label} does not have {replicas} replicas yet: look at it with describe"
            )
        await api.sleep(_LOOK)
