"""Objects with rollouts, and their revisions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.flags import F, field_manager_option, files_option, stacked
from orchd.ctl.objects.reports import report
from orchd.ctl.objects.selection import Selection
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing.forms import form_option
from orchd.kinds.fields import mapping, owners
from orchd.kinds.jsonvalues import Object

_KINDS = ("Deployment", "StatefulSet", "DaemonSet")
rollout_words = click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
rollout_selection: Callable[[F], F] = stacked(
    files_option, click.option("-l", "--selector", default="", metavar="SELECTOR", help="Label selector.")
)


def _check(target: Target) -> Target:
    if target.resource.kind not in _KINDS:
        raise CommandError(
            f"{target.resource.qualified} has no rollouts: name a deployment, stateful set or daemon set"
        )
    return target


async def rollout_targets(api: Api, session: Session, words: tuple[str, ...], flags: dict[str, Any]) -> list[Target]:
    """The objects of a command; a type alone is all of its objects. Raises CommandError for a kind without rollouts."""
    targets = await Selection.take(flags).targets(api, session, words, whole_types=True)
    return [_check(target) for target in targets]


async def revisions(api: Api, target: Target, owner: Object) -> dict[int, Object]:
    """The pod template of each revision that is kept, with its metadata."""
    dialect = await api.dialect()
    uid = owner["metadata"]["uid"]
    deployment = target.resource.kind == "Deployment"
    resource = await api.discovery.find("replicasets.apps" if deployment else "controllerrevisions.apps")
    out: dict[int, Object] = {}
    kind = {"apiVersion": resource.api_version, "kind": resource.kind}
    for item in (await api.list(resource)).get("items") or ():
        metadata = item["metadata"]
        if not any(each.get("uid") == uid for each in owners(item)):
            continue
        if deployment:
            number = mapping(metadata, "annotations").get(dialect("deployment.{long}.io/revision"), "0")
            out[int(number)] = {"metadata": metadata, "template": item["spec"]["template"], "object": {**kind, **item}}
        else:
            data = mapping(item, "data", "spec")
            out[int(item["revision"])] = {
                "metadata": metadata,
                "template": mapping(data, "template"),
                "object": {**kind, **item},
            }
    return dict(sorted(out.items()))


def find_revision(kept: dict[int, Object], revision: int) -> Object:
    if revision not in kept:
        raise CommandError(f"no revision {revision}: those that are kept are {', '.join(map(str, kept)) or 'none'}")
    return kept[revision]


async def change_each(api: Api, targets: Iterable[Target], change: Callable[[Api, Target], Awaitable[None]]) -> None:
    """Change every target; errors are raised after the last one."""
    failures = Failures()
    for target in targets:
        with failures.collect():
            await change(api, target)
    failures.raise_collected()


def pausing_command(name: str, paused: bool | None, word: str, text: str) -> click.Command:
    """The command that sets spec.paused of deployments to `paused`."""

    @click.command(name, help=text, cls=Command)
    @rollout_words
    @rollout_selection
    @field_manager_option
    @form_option
    @pass_session
    def command(session: Session, /, words: tuple[str, ...], form: str, **flags: Any) -> None:
        async def work(api: Api) -> None:
            await change_each(api, await rollout_targets(api, session, words, flags), one)

        async def one(api: Api, target: Target) -> None:
            if target.resource.kind != "Deployment":
                raise CommandError(f"{target.label}: only deployments can be paused")
            deployment = await api.get(target.resource, target.name, target.namespace)
            if bool(deployment["spec"].get("paused")) == bool(paused):
                raise CommandError(f"{target.label} is {'already' if paused else 'not'} paused: nothing was changed")
            body: dict[str, Any] = {"spec": {"paused": paused}}
            done = await api.patch(target.resource, target.name, body, namespace=target.namespace)
            report(target, done, word, form=form, dry_run="none")

        session.run(work)

    return command
