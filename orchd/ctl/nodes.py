"""``cordon``, ``uncordon``, ``drain``, ``taint``: commands for the maintenance of nodes."""

from __future__ import annotations

import datetime
from collections.abc import Iterable

import click

from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import DURATION, Command, done_suffix, dry_query, dry_run_option, validate_option, write_options
from orchd.ctl.delete import wait_gone
from orchd.ctl.describe_kinds import pods_on
from orchd.ctl.discovery import Resource
from orchd.ctl.errors import CommandError
from orchd.ctl.forms import form_option
from orchd.ctl.reports import report
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
#: Seconds after which an eviction is retried that a disruption budget refused.
_EVICTION_RETRY = 5.0
_selector = click.option("-l", "--selector", default="", metavar="SELECTOR", help="All nodes that match this label selector.")
_names = click.argument("names", nargs=-1, metavar="NODE...")


async def _nodes(api: Api, names: tuple[str, ...], selector: str, *, every: bool = False) -> tuple[Resource, list[Object]]:
    resource = await api.discovery.find("nodes")
    if names and selector:
        raise CommandError("give nodes by name or by selector, not both")
    if names:
        return resource, [await api.get(resource, name.rpartition("/")[2]) for name in names]
    if not selector and not every:
        raise CommandError("name a node, or select nodes with -l")
    listed = await api.list(resource, query={"labelSelector": selector} if selector else {})
    found: list[Object] = list(listed.get("items") or ())
    if not found:
        click.echo("No resources found", err=True)
    return resource, found


async def _set_unschedulable(api: Api, resource: Resource, node: Object, unschedulable: bool, dry_run: str) -> None:
    word = "cordoned" if unschedulable else "uncordoned"
    name = node["metadata"]["name"]
    if bool(node["spec"].get("unschedulable")) == unschedulable:
        output.line(f"{resource.label(name)} already {word}{done_suffix(dry_run)}")
        return
    if dry_run != "client":
        body = {"spec": {"unschedulable": True if unschedulable else None}}
        await api.patch(resource, name, body, query=dry_query(dry_run))
    output.line(f"{resource.label(name)} {word}{done_suffix(dry_run)}")


def _cordon_command(name: str, unschedulable: bool, text: str) -> click.Command:
    @click.command(name, cls=Command, help=text)
    @_names
    @_selector
    @dry_run_option
    @pass_session
    def command(session: Session, names: tuple[str, ...], selector: str, dry_run: str) -> None:
        async def work(api: Api) -> None:
            resource, nodes = await _nodes(api, names, selector)
            for node in nodes:
                await _set_unschedulable(api, resource, node, unschedulable, dry_run)

        session.run(work)

    return command


cordon = _cordon_command("cordon", True, "Mark nodes as unschedulable: no new pods are bound to them.")
uncordon = _cordon_command("uncordon", False, "Mark nodes as schedulable again.")


# -- drain


@click.command(cls=Command)
@_names
@_selector
@click.option("--ignore-daemonsets", is_flag=True, help="Do not evict pods of daemon sets.")
@click.option("--delete-emptydir-data", is_flag=True, help="Evict pods even if they lose the data of emptyDir volumes.")
@click.option("--force", is_flag=True, help="Evict pods even if no controller replaces them.")
@click.option("--grace-period", type=int, default=-1, help="Grace period of the pods in seconds; default: that of each pod.")
@click.option("--disable-eviction", is_flag=True, help="Delete pods instead of evicting them, regardless of disruption budgets.")
@click.option("--pod-selector", default="", metavar="SELECTOR", help="Evict only pods that match this label selector.")
@click.option("--timeout", type=DURATION, default=0.0, help="Time limit of the whole drain; default: a day.")
@click.option("--skip-wait-for-delete-timeout", "skip_wait", type=int, default=0, metavar="SECONDS", help="Do not wait for pods that are being deleted for longer than this.")
@click.option("--chunk-size", type=int, hidden=True, expose_value=False, help="Lists are always read in pages.")
@dry_run_option
@pass_session
def drain(
    session: Session, names: tuple[str, ...], selector: str, ignore_daemonsets: bool, delete_emptydir_data: bool, force: bool,
    grace_period: int, disable_eviction: bool, pod_selector: str, timeout: float, skip_wait: int, dry_run: str,
) -> None:
    """Cordon nodes and evict their pods, as disruption budgets allow."""  # fmt: skip
    options = {"gracePeriodSeconds": grace_period} if grace_period >= 0 else {}

    async def work(api: Api) -> None:
        end = api.clock.seconds() + (timeout or 24 * 3600.0)
        mirror = (await api.dialect())("{long}.io/config.mirror")
        resource, nodes = await _nodes(api, names, selector)
        for node in nodes:
            await _set_unschedulable(api, resource, node, True, dry_run)
        pods = await api.discovery.find("pods")
        for node in nodes:
            name = node["metadata"]["name"]
            found = [pod for pod in await _chosen_pods(api, name, pod_selector) if not is_stuck(pod, api.clock.seconds(), skip_wait)]
            chosen = evictable(
                found, mirror, ignore_daemonsets=ignore_daemonsets, delete_emptydir_data=delete_emptydir_data, force=force
            )
            if dry_run == "none":
                await _evict_all(api, pods, chosen, options, end, evict=not disable_eviction)
            else:
                for pod in chosen:
                    output.line(f"evicting pod {_full_name(pod)}{done_suffix(dry_run)}")
            output.line(f"{resource.label(name)} drained{done_suffix(dry_run)}")

    session.run(work)


async def _chosen_pods(api: Api, node: str, selector: str) -> list[Object]:
    found = await pods_on(api, node)
    if not selector:
        return found
    pods = await api.discovery.find("pods")
    listed = await api.list(pods, everywhere=True, query={"labelSelector": selector})
    wanted = {pod["metadata"]["uid"] for pod in listed.get("items") or ()}
    return [pod for pod in found if pod["metadata"]["uid"] in wanted]


def is_stuck(pod: Object, now: float, seconds: int) -> bool:
    """Is a pod being deleted for longer than `seconds`? 0 is never."""
    since = pod["metadata"].get("deletionTimestamp")
    return bool(seconds and since) and datetime.datetime.fromisoformat(since.replace("Z", "+00:00")).timestamp() + seconds < now


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
        controllers = [each["kind"] for each in metadata.get("ownerReferences") or () if each.get("controller")]
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


# -- taint


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="node NODE... KEY[=VALUE]:EFFECT... KEY[:EFFECT]-...")
@_selector
@click.option("--all", "every", is_flag=True, help="All nodes.")
@click.option("--overwrite", is_flag=True, help="Change the values of existing taints.")
@write_options
@validate_option
@form_option
@pass_session
def taint(session: Session, words: tuple[str, ...], selector: str, every: bool, overwrite: bool, dry_run: str, form: str) -> None:
    """Add taints to nodes or, with - at the end, remove them."""
    names, changes = split_taints(words)
    if not changes:
        raise CommandError("name a taint: KEY=VALUE:EFFECT adds it and KEY:EFFECT- removes it")

    async def work(api: Api) -> None:
        if every and (names or selector):
            raise CommandError("--all goes without names and -l: leave out one")
        resource, nodes = await _nodes(api, tuple(names), selector, every=every)
        for node in nodes:
            name = node["metadata"]["name"]
            taints = apply_taint_changes(name, node["spec"].get("taints") or [], changes, overwrite=overwrite)
            body = {"metadata": {"resourceVersion": node["metadata"]["resourceVersion"]}, "spec": {"taints": taints or None}}
            if dry_run != "client":
                await api.patch(resource, name, body, query=dry_query(dry_run))
            done = {**node, "apiVersion": "v1", "kind": "Node", "spec": {**node["spec"], "taints": taints}}
            known = {(each["key"], each["effect"]) for each in node["spec"].get("taints") or ()}
            word = "untainted" if all(remove for _, remove in changes) else "tainted"
            if any(not remove and (each["key"], each["effect"]) in known for each, remove in changes):
                word = "modified"
            report(Target(resource, name), done, word, form=form, dry_run=dry_run)

    session.run(work)


def split_taints(words: tuple[str, ...]) -> tuple[list[str], list[tuple[Object, bool]]]:
    """Names of nodes, and (taint, True if it is to be removed) of each change. Raises CommandError."""
    names: list[str] = []
    changes: list[tuple[Object, bool]] = []
    typed = bool(words) and words[0] in ("node", "nodes", "no")
    for word in words[1:] if typed else words:
        remove = word.endswith("-") and len(word) > 1 and bool(names or changes or typed or ":" in word)
        text = word[:-1] if remove else word
        if not remove and ":" not in text:
            if "=" in text:
                raise CommandError(f"{word!r}: the effect is missing: write {word}:{_EFFECTS[0]}")
            names.append(word.rpartition("/")[2])
            continue
        pair, _, effect = text.partition(":")
        key, _, value = pair.partition("=")
        if effect not in _EFFECTS and not (remove and not effect):
            raise CommandError(f"{word!r}: the effect must be one of {', '.join(_EFFECTS)}")
        changes.append(({"key": key, **({"value": value} if value else {}), "effect": effect}, remove))
    return names, changes


def apply_taint_changes(
    node: str, taints: list[Object], changes: list[tuple[Object, bool]], *, overwrite: bool
) -> list[Object]:
    """The taints after the changes. Raises CommandError if a taint to remove is missing, or exists with another value."""
    for change, remove in changes:
        same = [
            each for each in taints if each["key"] == change["key"] and change["effect"] in ("", each["effect"])
        ]
        if remove and not same:
            raise CommandError(f'taint "{change["key"]}" not found on node {node}')
        if not remove and same and not overwrite:
            raise CommandError(f"node {node} already has taint {change['key']}:{change['effect']}: --overwrite changes it")
        taints = [each for each in taints if each not in same]
        if not remove:
            taints = [*taints, change]
    return taints
