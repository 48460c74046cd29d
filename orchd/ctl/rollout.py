"""``rollout``: the state and history of deployments, stateful sets and daemon sets."""

from __future__ import annotations

import datetime
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import click

from orchd.ctl import output
from orchd.ctl.api import JSON_PATCH, STRATEGIC, Api
from orchd.ctl.command import DURATION, F, Group, dry_query, field_manager_option, files_option, stacked, write_options
from orchd.ctl.errors import CommandError, Failures
from orchd.ctl.forms import form_option
from orchd.ctl.printers import printer
from orchd.ctl.reports import report
from orchd.ctl.selection import Selection
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target
from orchd.kinds.jsonvalues import Object

_LOOK = 0.5
_KINDS = ("Deployment", "StatefulSet", "DaemonSet")
_words = click.argument("words", nargs=-1, metavar="TYPE [NAME...] | TYPE/NAME...")
_selection: Callable[[F], F] = stacked(files_option, click.option("-l", "--selector", default="", metavar="SELECTOR", help="Label selector."))


@click.group(cls=Group)
def rollout() -> None:
    """Show and control rollouts of deployments, stateful sets and daemon sets."""


def _check(target: Target) -> Target:
    if target.resource.kind not in _KINDS:
        raise CommandError(f"{target.resource.qualified} has no rollouts: name a deployment, stateful set or daemon set")
    return target


async def _targets(api: Api, session: Session, words: tuple[str, ...], given: dict[str, Any]) -> list[Target]:
    """The objects of a command; a type alone is all of its objects. Raises CommandError for a kind without rollouts."""
    found = await Selection.take(given).targets(api, session, words, whole_types=True)
    return [_check(target) for target in found]


@rollout.command()
@_words
@click.option("-w", "--watch/--no-watch", default=True, show_default=True, help="Wait for the end.")
@click.option("--timeout", type=DURATION, default=0.0, help="Longest wait; default: none.")
@click.option("--revision", type=click.IntRange(min=0), default=0, help="Fail if another revision is rolled out meanwhile.")
@_selection
@pass_session
def status(session: Session, /, words: tuple[str, ...], watch: bool, timeout: float, revision: int, **given: Any) -> None:
    """Show the progress of rollouts and wait for their end."""

    async def work(api: Api) -> None:
        end = api.clock.seconds() + (timeout or 7 * 24 * 3600.0)
        for target in await _targets(api, session, words, given):
            await _follow(api, target, end, watch=watch, revision=revision)

    session.run(work)


async def _follow(api: Api, target: Target, end: float, *, watch: bool, revision: int) -> None:
    last = ""
    while True:
        obj = await api.get(target.resource, target.name, target.namespace)
        if revision and target.resource.kind == "Deployment":
            await _check_revision(api, target, obj, revision)
        text, done = progress({"kind": target.resource.kind, **obj})
        if text != last:
            output.line(text)
            last = text
        if done or not watch:
            return
        if api.clock.seconds() >= end:
            raise CommandError(f"timed out: the rollout of {target.label} is not complete: look at it with describe")
        await api.sleep(_LOOK)


async def _check_revision(api: Api, target: Target, obj: Object, revision: int) -> None:
    key = (await api.dialect())("deployment.{long}.io/revision")
    found = (obj["metadata"].get("annotations") or {}).get(key, "0")
    if found != str(revision):
        raise CommandError(f"the revision of {target.label} is {found}, not {revision}: see rollout history")


def progress(obj: Object) -> tuple[str, bool]:
    """The rollout's progress message, and whether it is complete. Raises CommandError for one that failed."""
    metadata, spec, state = obj["metadata"], obj["spec"], obj.get("status") or {}
    kind, name = str(obj["kind"]), metadata["name"]
    words = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemon set"}[kind]
    if metadata.get("generation", 0) > state.get("observedGeneration", 0):
        return f"Waiting for {words} spec update to be observed...", False
    if kind == "Deployment":
        return _deployment_progress(name, spec, state)
    if kind == "DaemonSet":
        return _daemon_set_progress(name, spec, state)
    return _stateful_set_progress(name, spec, state)


def _deployment_progress(name: str, spec: Object, state: Object) -> tuple[str, bool]:
    wanted = spec.get("replicas", 1)
    updated, replicas, available = (state.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas"))
    for each in state.get("conditions") or ():
        if each.get("type") == "Progressing" and each.get("reason") == "ProgressDeadlineExceeded":
            raise CommandError(f'deployment "{name}" exceeded its progress deadline: see its events with describe')
    head = f'Waiting for deployment "{name}" rollout to finish:'
    if updated < wanted:
        return f"{head} {updated} out of {wanted} new replicas have been updated...", False
    if replicas > updated:
        return f"{head} {replicas - updated} old replicas are pending termination...", False
    if available < updated:
        return f"{head} {available} of {updated} updated replicas are available...", False
    return f'deployment "{name}" successfully rolled out', True


def _daemon_set_progress(name: str, spec: Object, state: Object) -> tuple[str, bool]:
    _check_strategy(spec)
    wanted = state.get("desiredNumberScheduled", 0)
    updated, available = state.get("updatedNumberScheduled", 0), state.get("numberAvailable", 0)
    head = f'Waiting for daemon set "{name}" rollout to finish:'
    if updated < wanted:
        return f"{head} {updated} out of {wanted} new pods have been updated...", False
    if available < wanted:
        return f"{head} {available} of {wanted} updated pods are available...", False
    return f'daemon set "{name}" successfully rolled out', True


def _stateful_set_progress(name: str, spec: Object, state: Object) -> tuple[str, bool]:
    _check_strategy(spec)
    wanted, ready, updated = spec.get("replicas", 1), state.get("readyReplicas", 0), state.get("updatedReplicas", 0)
    if ready < wanted:
        return f"Waiting for {wanted - ready} pods to be ready...", False
    partition = ((spec.get("updateStrategy") or {}).get("rollingUpdate") or {}).get("partition") or 0
    if partition:
        if updated < wanted - partition:
            return f"Waiting for partitioned roll out to finish: {updated} out of {wanted - partition} new pods have been updated...", False
        return f"partitioned roll out complete: {updated} new pods have been updated...", True
    if state.get("updateRevision") != state.get("currentRevision"):
        return f"waiting for statefulset rolling update to complete {updated} pods at revision {state.get('updateRevision')}...", False
    return f"statefulset rolling update complete {wanted} pods at revision {state.get('currentRevision')}...", True


def _check_strategy(spec: Object) -> None:
    if (spec.get("updateStrategy") or {}).get("type", "RollingUpdate") != "RollingUpdate":
        raise CommandError("rollout status is only available for the update strategy RollingUpdate")


# -- history


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
        if not any(each.get("uid") == uid for each in metadata.get("ownerReferences") or ()):
            continue
        if deployment:
            number = (metadata.get("annotations") or {}).get(dialect("deployment.{long}.io/revision"), "0")
            out[int(number)] = {"metadata": metadata, "template": item["spec"]["template"], "object": {**kind, **item}}
        else:
            data = (item.get("data") or {}).get("spec") or {}
            out[int(item["revision"])] = {"metadata": metadata, "template": data.get("template") or {}, "object": {**kind, **item}}
    return dict(sorted(out.items()))


@rollout.command()
@_words
@click.option("--revision", type=click.IntRange(min=0), default=0, help="Print the pod template of this revision.")
@_selection
@form_option
@pass_session
def history(session: Session, /, words: tuple[str, ...], revision: int, form: str, **given: Any) -> None:
    """Print the revisions of objects; with -o the object that stores each revision."""

    async def work(api: Api) -> None:
        for target in await _targets(api, session, words, given):
            owner = await api.get(target.resource, target.name, target.namespace)
            found = await revisions(api, target, owner)
            if form:
                kept = [_find_revision(found, revision)] if revision else list(found.values())
                printer(form)([each["object"] for each in kept], bool(revision) or len(kept) == 1)
            elif revision:
                template = _find_revision(found, revision)["template"]
                output.line(f"{target.label} with revision #{revision}")
                output.document(output.yaml_text(template), "yaml")
            else:
                await _print_history(api, target, found)

    session.run(work)


async def _print_history(api: Api, target: Target, found: dict[int, Object]) -> None:
    cause = (await api.dialect())("{long}.io/change-cause")
    output.line(target.label)
    rows = [(str(number), (each["metadata"].get("annotations") or {}).get(cause) or "<none>") for number, each in found.items()]
    output.Columns(["revision", "change-cause"]).write(rows)
    output.line()


def _find_revision(found: dict[int, Object], revision: int) -> Object:
    if revision not in found:
        raise CommandError(f"no revision {revision}: those that are kept are {', '.join(map(str, found)) or 'none'}")
    return found[revision]


async def _for_each(api: Api, targets: Iterable[Target], change: Callable[[Api, Target], Awaitable[None]]) -> None:
    """Change every target; errors are raised after the last one."""
    failures = Failures()
    for target in targets:
        with failures.collect():
            await change(api, target)
    failures.raise_collected()


@rollout.command()
@_words
@click.option("--to-revision", type=click.IntRange(min=0), default=0, help="The revision to return to; default: the one before.")
@_selection
@write_options
@form_option
@pass_session
def undo(session: Session, /, words: tuple[str, ...], to_revision: int, dry_run: str, form: str, **given: Any) -> None:
    """Return to an earlier revision."""

    async def work(api: Api) -> None:
        await _for_each(api, await _targets(api, session, words, given), one)

    async def one(api: Api, target: Target) -> None:
        owner = await api.get(target.resource, target.name, target.namespace)
        if owner["spec"].get("paused"):
            raise CommandError(f"{target.label} is paused: resume it first (rollout resume)")
        found = await revisions(api, target, owner)
        template = _find_revision(found, to_revision or _previous(found, target))["template"]
        template = _without_label(template, "pod-template-hash")
        if not template:
            raise CommandError(f"the revision of {target.label} keeps no pod template: see rollout history")
        done: Object = {**owner, "spec": {**owner["spec"], "template": template}}
        if dry_run != "client":
            operations = [{"op": "replace", "path": "/spec/template", "value": template}]
            done = await api.patch(
                target.resource, target.name, operations, namespace=target.namespace, content_type=JSON_PATCH, query=dry_query(dry_run)
            )
        report(target, done, "rolled back", form=form, dry_run=dry_run)

    session.run(work)


def _previous(found: dict[int, Object], target: Target) -> int:
    if len(found) < 2:
        raise CommandError(f"{target.label} has no earlier revision: nothing to undo")
    return list(found)[-2]


def _without_label(template: Object, label: str) -> Object:
    metadata = template.get("metadata") or {}
    labels = {key: value for key, value in (metadata.get("labels") or {}).items() if key != label}
    return {**template, "metadata": {**metadata, "labels": labels}} if template else template


@rollout.command()
@_words
@_selection
@field_manager_option
@form_option
@pass_session
def restart(session: Session, /, words: tuple[str, ...], form: str, **given: Any) -> None:
    """Replace all pods, following the update strategy."""

    async def work(api: Api) -> None:
        await _for_each(api, await _targets(api, session, words, given), one)

    async def one(api: Api, target: Target) -> None:
        key = (await api.dialect())("{short}ctl.{long}.io/restartedAt")
        owner = await api.get(target.resource, target.name, target.namespace)
        if owner["spec"].get("paused"):
            raise CommandError(f"{target.label} is paused: resume it first (rollout resume)")
        now = datetime.datetime.fromtimestamp(int(api.clock.seconds()), datetime.UTC)
        stamp = now.isoformat().replace("+00:00", "Z")
        body = {"spec": {"template": {"metadata": {"annotations": {key: stamp}}}}}
        done = await api.patch(target.resource, target.name, body, namespace=target.namespace, content_type=STRATEGIC)
        report(target, done, "restarted", form=form, dry_run="none")

    session.run(work)


def _pausing(name: str, paused: bool | None, word: str, text: str) -> None:
    @rollout.command(name, help=text)
    @_words
    @_selection
    @field_manager_option
    @form_option
    @pass_session
    def command(session: Session, /, words: tuple[str, ...], form: str, **given: Any) -> None:
        async def work(api: Api) -> None:
            await _for_each(api, await _targets(api, session, words, given), one)

        async def one(api: Api, target: Target) -> None:
            if target.resource.kind != "Deployment":
                raise CommandError(f"{target.label}: only deployments can be paused")
            found = await api.get(target.resource, target.name, target.namespace)
            if bool(found["spec"].get("paused")) == bool(paused):
                raise CommandError(f"{target.label} is {'already' if paused else 'not'} paused: nothing was changed")
            body: dict[str, Any] = {"spec": {"paused": paused}}
            done = await api.patch(target.resource, target.name, body, namespace=target.namespace)
            report(target, done, word, form=form, dry_run="none")

        session.run(work)


_pausing("pause", True, "paused", "Record changes of deployments without rolling them out.")
_pausing("resume", None, "resumed", "Roll out the changes of paused deployments.")
