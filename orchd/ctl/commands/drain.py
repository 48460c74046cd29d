"""``drain``: evicts the pods of nodes."""

from __future__ import annotations

from collections.abc import Iterable

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION, done_suffix, dry_run_option
from orchd.ctl.objects.deletion import wait_gone
from orchd.ctl.objects.nodes import find_nodes, node_names, node_selector_option, set_unschedulable
from orchd.ctl.objects.pods import pods_on
from orchd.ctl.objects.targets import Target
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.fields import owners
from orchd.kinds.jsonvalues import Object
from orchd.kinds.times import seconds_of

#: Seconds after which an eviction is retried that a disruption budget refused.
_EVICTION_RETRY = 5.0


@click.command(cls=Command)
@node_names
@node_selector_option
@click.option("--ignore-daemonsets", is_flag=True, help="Do not evict pods of daemon sets.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods even if they lose the data of emptyDir volumes.")
@click.option("--force", is_flag=True, help="Evict pods even if no controller replaces them.")
@click.option(
    "--grace-period", type=int, default=-1, help="Grace period of the pods in seconds; default: that of each pod."
)
@click.option(
    "--disable-eviction", is_flag=True, help="Delete pods instead of evicting them, regardless of disruption budgets."
)
@click.option("--pod-selector", default="", metavar="SELECTOR", help="Evict only pods that match this label selector.")
@click.option("--timeout", type=DURATION, default=0.0, help="Time limit of the whole drain; default: a day.")
@click.option(
    "--skip-wait-for-delete-timeout",
    "skip_wait",
    type=int,
    default=0,
    metavar="SECONDS",
    help="Do not wait for pods that are being deleted for longer than this.",
)
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@dry_run_option
@pass_session
def drain(
    session: Session,
    names: tuple[str, ...],
    selector: str,
    ignore_daemonsets: bool,
    delete_emptydir_data: bool,
    force: bool,
    grace_period: int,
    disable_eviction: bool,
    pod_selector: str,
    timeout: float,
    skip_wait: int,
    dry_run: str,
) -> None:
    """Cordon nodes and evict their pods, as disruption budgets allow."""
    options = {"gracePeriodSeconds": grace_period} if grace_period >= 0 else {}

    async def work(api: Api) -> None:
        end = api.clock.seconds() + (timeout or 24 * 3600.0)
        mirror = (await api.dialect())("{long}.io/config.mirror")
        resource, nodes = await find_nodes(api, names, selector)
        for node in nodes:
            await set_unschedulable(api, resource, node, True, dry_run)
        pods = await api.discovery.find("pods")
        for node in nodes:
            name = node["metadata"]["name"]
            pods_of_node = [
                pod
                for pod in await _chosen_pods(api, name, pod_selector)
                if not is_stuck(pod, api.clock.seconds(), skip_wait)
            ]
            chosen = evictable(
                pods_of_node,
                mirror,
                ignore_daemonsets=ignore_daemonsets,
                delete_emptydir_data=delete_emptydir_data,
                force=force,
            )
            if dry_run == "none":
                await _evict_all(api, pods, chosen, options, end, evict=not disable_eviction)
            else:
                for pod in chosen:
                    output.line(f"evicting pod {_full_name(pod)}{done_suffix(dry_run)}")
            output.line(f"{resource.label(name)} drained{done_suffix(dry_run)}")

    session.run(work)


async def _chosen_pods(api: Api, node: str, selector: str) -> list[Object]:
    pods_of_node = await pods_on(api, node)
    if not selector:
        return pods_of_node
    pods = await api.discovery.find("pods")
    listed = await api.list(pods, everywhere=True, query={"labelSelector": selector})
    uids = {pod["metadata"]["uid"] for pod in listed.get("items") or ()}
    return [pod for pod in pods_of_node if pod["metadata"]["uid"] in uids]


def is_stuck(pod: Object, now: float, seconds: int) -> bool:
    """Is a pod being deleted for longer than `seconds`? 0 is never."""
    since = seconds_of(pod["metadata"].get("deletionTimestamp"))
    return bool(seconds) and since is not None and since + seconds < now


def _full_name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"


def evictable(
    pods: Iterable[Object], mirror: str, *, ignore_daemonsets: bool, delete_emptydir_data: bool, force: bool
) -> list[Object]:
    """The pods that a drain evicts. Raises CommandError that names the pods for which a flag is missing."""
    chosen: list[Object] = []
    refused: dict[str, list[str]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        controllers = [each["kind"] for each in owners(pod) if each.get("controller")]
        if mirror in (metadata.get("annotations") or {}):
            continue
        if "DaemonSet" in controllers:
            if not ignore_daemonsets:
                refused.setdefault("--ignore-daemonsets (pods of daemon sets)", []).append(_full_name(pod))
            continue
        if any("emptyDir" in each for each in pod["spec"].get("volumes") or ()) and not delete_emptydir_data:
            refused.setdefault("--delete-emptydir-data (pods with emptyDir volumes)", []).append(_full_name(pod))
        elif not controllers and not force:
            refused.setdefault("--force (pods without a controller)", []).append(_full_name(pod))
        else:
            chosen.append(pod)
    if refused:
        parts = [f"{flag}: {', '.join(names)}" for flag, names in refused.items()]
        raise CommandError(f"cannot drain without {'; '.join(parts)}")
    return chosen


async def _evict_all(
    api: Api, pods: Resource, chosen: list[Object], options: Object, end: float, *, evict: bool
) -> None:
    """Evict pods one after the other, then wait until all are gone."""
    for pod in chosen:
        output.line(f"evicting pod {_full_name(pod)}")
        await _evict(api, pods, pod, options, end, evict=evict)
    for pod in chosen:
        metadata = pod["metadata"]
        await wait_gone(api, Target(pods, metadata["name"], metadata["namespace"]), metadata["uid"], end)


async def _evict(api: Api, pods: Resource, pod: Object, options: Object, end: float, *, evict: bool) -> None:
    metadata = pod["metadata"]
    name, namespace = metadata["name"], metadata["namespace"]
    body = {
        "apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace},
        **({"deleteOptions": options} if options else {}),
    }  # fmt: skip
    while True:
        try:
            if evict:
                await api.create(pods, body, namespace=namespace, path=f"/{name}/eviction")
            else:
                await api.delete(pods, name, namespace, options, {})
            return
        except ApiError as error:
            if error.code == 404:
                return
            if error.code != 429:
                raise
            if api.clock.seconds() >= end:
                raise CommandError(
                    f"timed out: pod {_full_name(pod)} cannot be evicted: {error.message}: see its disruption budget"
                ) from None
        await api.sleep(_EVICTION_RETRY)
