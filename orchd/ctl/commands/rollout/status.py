"""``rollout status``: the progress of rollouts."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION
from orchd.ctl.objects.pods import pods_of, selector_of
from orchd.ctl.objects.rollouts import rollout_selection, rollout_targets, rollout_words
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

_LOOK = 0.5
#: Seconds without progress after which pods that cannot be scheduled are named.
_HINT_AFTER = 5.0


@click.command(cls=Command)
@rollout_words
@click.option("-w", "--watch/--no-watch", default=True, show_default=True, help="Wait for the end.")
@click.option("--timeout", type=DURATION, default=0.0, help="Longest wait; default: none.")
@click.option(
    "--revision", type=click.IntRange(min=0), default=0, help="Fail if another revision is rolled out meanwhile."
)
@rollout_selection
@pass_session
def status(
    session: Session, /, words: tuple[str, ...], watch: bool, timeout: float, revision: int, **flags: Any
) -> None:
    """Show the progress of rollouts and wait for their end."""

    async def work(api: Api) -> None:
        end = api.clock.seconds() + (timeout or 7 * 24 * 3600.0)
        for target in await rollout_targets(api, session, words, flags):
            await _follow(api, target, end, watch=watch, revision=revision)

    session.run(work)


async def _follow(api: Api, target: Target, end: float, *, watch: bool, revision: int) -> None:
    last, since, hinted = "", api.clock.seconds(), False
    while True:
        obj = await api.get(target.resource, target.name, target.namespace)
        if revision and target.resource.kind == "Deployment":
            await _check_revision(api, target, obj, revision)
        text, done = progress({"kind": target.resource.kind, **obj})
        now = api.clock.seconds()
        if text != last:
            output.line(text)
            last, since, hinted = text, now, False
        if done or not watch:
            return
        if not hinted and (now >= min(end, since + _HINT_AFTER)):
            hinted = True
            for hint in await _unschedulable(api, target, obj):
                output.note(hint)
        if now >= end:
            raise CommandError(f"timed out: the rollout of {target.label} is not complete: look at it with describe")
        await api.sleep(_LOOK)


async def _unschedulable(api: Api, target: Target, obj: Object) -> list[str]:
    """Reasons why pods of a workload are not scheduled, one per line; "" for a user who may not read pods."""
    try:
        pods = await pods_of(api, selector_of(obj), target.namespace)
    except ApiError as error:
        if error.code != 403:
            raise
        return []
    names: dict[str, list[str]] = {}
    for pod in pods:
        for each in fields.conditions(pod):
            if (
                each.get("type") == "PodScheduled"
                and each.get("status") == "False"
                and not pod["metadata"].get("deletionTimestamp")
            ):
                names.setdefault(str(each.get("message") or each.get("reason") or "no reason is given"), []).append(
                    pod["metadata"]["name"]
                )
    return [
        f"{len(of)} pods cannot be scheduled, among them {of[0]}: {why} (explain-scheduling {of[0]} says more)"
        for why, of in names.items()
    ]


async def _check_revision(api: Api, target: Target, obj: Object, revision: int) -> None:
    key = (await api.dialect())("deployment.{long}.io/revision")
    current = fields.annotations_of(obj).get(key, "0")
    if current != str(revision):
        raise CommandError(f"the revision of {target.label} is {current}, not {revision}: see rollout history")


def progress(obj: Object) -> tuple[str, bool]:
    """The rollout's progress message, and whether it is complete. Raises CommandError for one that failed."""
    metadata, spec, state = obj["metadata"], obj["spec"], fields.status(obj)
    kind, name = str(obj["kind"]), metadata["name"]
    words = {"Deployment": "deployment", "StatefulSet": "statefulset", "DaemonSet": "daemon set"}[kind]
    if metadata.get("generation", 0) > state.get("observedGeneration", 0):
        return f"Waiting for {words} spec update to be observed...", False
    if kind == "Deployment":
        return _deployment_progress(name, spec, state)
    if kind == "DaemonSet":
        return _daemon_set_progress(name, spec, state)
    return _stateful_set_progress(spec, state)


def _deployment_progress(name: str, spec: Object, state: Object) -> tuple[str, bool]:
    desired = spec.get("replicas", 1)
    updated, replicas, available = (state.get(key, 0) for key in ("updatedReplicas", "replicas", "availableReplicas"))
    for each in state.get("conditions") or ():
        if each.get("type") == "Progressing" and each.get("reason") == "ProgressDeadlineExceeded":
            raise CommandError(f'deployment "{name}" exceeded its progress deadline: see its events with describe')
    head = f'Waiting for deployment "{name}" rollout to finish:'
    if updated < desired:
        return f"{head} {updated} out of {desired} new replicas have been updated...", False
    if replicas > updated:
        return f"{head} {replicas - updated} old replicas are pending termination...", False
    if available < updated:
        return f"{head} {available} of {updated} updated replicas are available...", False
    return f'deployment "{name}" successfully rolled out', True


def _daemon_set_progress(name: str, spec: Object, state: Object) -> tuple[str, bool]:
    _check_strategy(spec)
    desired = state.get("desiredNumberScheduled", 0)
    updated, available = state.get("updatedNumberScheduled", 0), state.get("numberAvailable", 0)
    head = f'Waiting for daemon set "{name}" rollout to finish:'
    if updated < desired:
        return f"{head} {updated} out of {desired} new pods have been updated...", False
    if available < desired:
        return f"{head} {available} of {desired} updated pods are available...", False
    return f'daemon set "{name}" successfully rolled out', True


def _stateful_set_progress(spec: Object, state: Object) -> tuple[str, bool]:
    _check_strategy(spec)
    desired, ready, updated = spec.get("replicas", 1), state.get("readyReplicas", 0), state.get("updatedReplicas", 0)
    if ready < desired:
        return f"Waiting for {desired - ready} pods to be ready...", False
    partition = fields.mapping(spec, "updateStrategy", "rollingUpdate").get("partition") or 0
    if partition:
        if updated < desired - partition:
            return (
                f"Waiting for partitioned roll out to finish: {updated} out of {desired - partition} new pods "
                "have been updated...",
                False,
            )
        return f"partitioned roll out complete: {updated} new pods have been updated...", True
    if state.get("updateRevision") != state.get("currentRevision"):
        return (
            f"waiting for statefulset rolling update to complete {updated} pods at revision "
            f"{state.get('updateRevision')}...",
            False,
        )
    return f"statefulset rolling update complete {desired} pods at revision {state.get('currentRevision')}...", True


def _check_strategy(spec: Object) -> None:
    if (spec.get("updateStrategy") or {}).get("type", "RollingUpdate") != "RollingUpdate":
        raise CommandError("rollout status is only available for the update strategy RollingUpdate")
