"""``debug``: an ephemeral container in a pod, a changed copy of a pod, or a pod on a node."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any

import click

from orchd.ctl.cluster.api import STRATEGIC, Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION
from orchd.ctl.objects.targets import Target, parse_targets
from orchd.ctl.printing import output
from orchd.ctl.streams.standard_streams import attach_when_running
from orchd.dialect import COMMAND_LINE, Dialect
from orchd.kinds import fields
from orchd.kinds.jsonvalues import Object

#: Characters of generated names: neither vowels nor what is taken for one another.
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugContainer:
    """Settings of the debugging container from the flags. Empty texts mean the value of the pod, or the default."""

    image: str
    container: str
    words: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    image_pull_policy: str
    arguments_only: bool
    stdin: bool
    tty: bool

    def apply(self, container: Object) -> Object:
        """`container` with the values of the flags."""
        out: Object = {**container}
        if self.words:
            out |= {"args": list(self.words)} if self.arguments_only else {"command": list(self.words)}
            if not self.arguments_only:
                out.pop("args", None)
        if self.image:
            out["image"] = self.image
        if self.image_pull_policy:
            out["imagePullPolicy"] = self.image_pull_policy
        if self.variables:
            out["env"] = [{"name": name, "value": value} for name, value in self.variables]
        return {**out, "stdin": self.stdin, "tty": self.tty}


def _pair(text: str, flag: str) -> tuple[str, str]:
    key, mark, value = text.partition("=")
    if not key or not mark:
        raise CommandError(f"{flag}={text}: write {flag}=NAME=VALUE")
    return key, value


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="POD | TYPE/NAME [-- COMMAND [ARG...]]")
@click.option("--image", default="", help="Image of the container.")
@click.option("-c", "--container", default="", help="Name of the container; default: a new one, debugger-XXXXX.")
@click.option(
    "--target",
    "target_container",
    default="",
    metavar="CONTAINER",
    help="Share the processes of this container of the pod.",
)
@click.option("--copy-to", default="", metavar="NAME", help="Debug a copy of the pod with this name.")
@click.option("--replace", is_flag=True, help="With --copy-to: delete the original pod.")
@click.option("--same-node", is_flag=True, help="With --copy-to: schedule the copy to the node of the pod.")
@click.option(
    "--set-image",
    "images",
    multiple=True,
    metavar="CONTAINER=IMAGE,...",
    help="With --copy-to: images of containers; * is every container.",
)
@click.option(
    "--share-processes/--no-share-processes",
    default=None,
    help="With --copy-to: whether the containers of the copy share processes.",
)
@click.option(
    "--env", "variables", multiple=True, metavar="KEY=VALUE", help="A variable of the container; may be repeated."
)
@click.option("--arguments-only", is_flag=True, help="What follows -- are arguments of the image's command.")
@click.option(
    "--image-pull-policy",
    type=click.Choice(["", "Always", "IfNotPresent", "Never"]),
    default="",
    help="Image pull policy.",
)
@click.option("-i", "--stdin", "stdin", is_flag=True, help="Keep standard input open, and attach.")
@click.option("-t", "--tty", is_flag=True, help="Allocate a terminal.")
@click.option("--attach", is_flag=True, default=None, help="Attach to the container; default with -i.")
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the container prints.")
@click.option(
    "--pod-running-timeout",
    "wait",
    type=DURATION,
    default=60.0,
    help="Maximum wait for the container before attaching; default 1m.",
)
@pass_session
def debug(
    session: Session,
    /,
    words: tuple[str, ...],
    target_container: str,
    copy_to: str,
    replace: bool,
    same_node: bool,
    images: tuple[str, ...],
    share_processes: bool | None,
    attach: bool | None,
    quiet: bool,
    wait: float,
    **flags: Any,
) -> int:
    """Debug a pod with an ephemeral container or in a copy of it (--copy-to), or a node (node/NAME) in a pod that has
    its file system at /host and its processes and network."""
    if not words:
        raise CommandError("which pod or node? Write debug POD --image=IMAGE, or debug node/NAME --image=IMAGE")
    flags["variables"] = tuple(_pair(each, "--env") for each in flags["variables"])
    changes = DebugContainer(words=words[1:], **flags)
    if changes.tty and not changes.stdin:
        raise CommandError("-t needs -i: the terminal's input goes to the container")
    if not copy_to and (replace or same_node or images or share_processes is not None):
        raise CommandError(
            "--replace, --same-node, --set-image and --share-processes go with --copy-to: give the name of the copy"
        )
    if copy_to and target_container:
        raise CommandError("--target is of an ephemeral container: leave out --copy-to, or use --share-processes")
    new_images = dict(_pair(part, "--set-image") for each in images for part in each.split(",") if part)
    follow = changes.stdin if attach is None else attach
    say = (lambda text: None) if quiet else output.note

    async def work(api: Api) -> int:
        [target, *others] = await parse_targets(api, [words[0] if "/" in words[0] else f"pods/{words[0]}"])
        if others or (target.resource.group, target.resource.kind) not in (("", "Pod"), ("", "Node")):
            raise CommandError(f"{words[0]}: debug a pod or a node")
        obj = await api.get(target.resource, target.name, target.namespace)
        if target.resource.kind == "Node":
            pod, container = node_pod(target.name, changes, await api.dialect(), session.random)
            say(f"Creating debugging pod {pod['metadata']['name']} with container {container} on node {target.name}.")
            created = await _create(api, pod)
        elif copy_to:
            pod, container = copied_pod(
                obj,
                copy_to,
                changes,
                new_images,
                same_node=same_node,
                share_processes=share_processes,
                random=session.random,
            )
            if replace:
                await api.delete(
                    target.resource,
                    target.name,
                    target.namespace,
                    {"preconditions": {"uid": obj["metadata"]["uid"]}},
                    {},
                )
            created = await _create(api, pod)
        else:
            created, container = (
                target,
                await _add_ephemeral(api, target, obj, changes, target_container, session.random, say),
            )
        if not follow or not container:
            return 0
        return await attach_when_running(api, created, container, wait, stdin=changes.stdin, tty=changes.tty)

    return session.run(work)


async def _create(api: Api, pod: Object) -> Target:
    pods = await api.discovery.find("pods")
    created = await api.create(pods, pod, namespace=pod["metadata"].get("namespace", ""))
    return Target(pods, created["metadata"]["name"], created["metadata"]["namespace"])


async def _add_ephemeral(
    api: Api, target: Target, pod: Object, changes: DebugContainer, target_container: str, random: Random, say: Any
) -> str:
    """Add an ephemeral container to a pod; its name. Raises CommandError."""
    if not changes.image:
        raise CommandError(
            "--image is needed: the image of the container, unless --copy-to changes a container that is there"
        )
    if "ephemeralcontainers" not in target.resource.subresources:
        raise CommandError("the server has no ephemeral containers: debug a copy of the pod with --copy-to")
    names = [each["name"] for each in pod["spec"]["containers"]]
    if target_container and target_container not in names:
        raise CommandError(f"--target={target_container}: pod {target.name} has {', '.join(names)}")
    name = changes.container or _new_name(pod, random, say)
    container = changes.apply({"name": name})
    if target_container:
        container["targetContainerName"] = target_container
        say(
            f"Targeting container {target_container!r}. If its processes are not seen, the container runtime does "
            "not support this."
        )
    body = {"spec": {"ephemeralContainers": [container]}}
    await api.patch(
        target.resource,
        target.name,
        body,
        namespace=target.namespace,
        content_type=STRATEGIC,
        subresource="ephemeralcontainers",
    )
    return name


def _new_name(pod: Object, random: Random, say: Any) -> str:
    taken = {
        each["name"]
        for key in ("initContainers", "containers", "ephemeralContainers")
        for each in pod["spec"].get(key) or ()
    }
    name = f"debugger-{_suffix(random)}"
    while name in taken:
        name = f"debugger-{_suffix(random)}"
    say(f"Defaulting debug container name to {name}.")
    return name


def _suffix(random: Random) -> str:
    return "".join(random.choice(_ALPHABET) for _ in range(5))


def copied_pod(
    pod: Object,
    name: str,
    changes: DebugContainer,
    images: dict[str, str],
    *,
    same_node: bool,
    share_processes: bool | None,
    random: Random,
) -> tuple[Object, str]:
    """A copy of a pod, without its labels, so that no controller or service takes it for the pod; and the name of the
    container to attach to, "" if only images change. Raises CommandError."""
    metadata = {"name": name, "namespace": pod["metadata"]["namespace"], "annotations": fields.annotations_of(pod)}
    dropped = ("ephemeralContainers", *(() if same_node else ("nodeName",)))
    spec: Object = {key: value for key, value in pod["spec"].items() if key not in dropped}
    if share_processes is not None:
        spec["shareProcessNamespace"] = share_processes
    containers = [
        {**each, "image": images.get(each["name"], images.get("*", each.get("image", "")))}
        for each in spec["containers"]
    ]
    names = [each["name"] for each in containers]
    own = changes.container
    if own in names:
        at = names.index(own)
        containers[at] = changes.apply(containers[at])
    elif changes.image:
        own = own or _new_name(pod, random, output.note)
        containers.append(changes.apply({"name": own}))
    elif not images:
        raise CommandError("what is changed in the copy? Name a container with -c, or give --image or --set-image")
    else:
        own = ""
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "containers": containers}}, own


def node_pod(node: str, changes: DebugContainer, dialect: Dialect, random: Random) -> tuple[Object, str]:
    """A pod with the file system, processes and network of a node, and the name of its container. Raises
    CommandError."""
    if not changes.image:
        raise CommandError("--image is needed: the image of the container")
    name = changes.container or "debugger"
    container = changes.apply({"name": name, "volumeMounts": [{"name": "host-root", "mountPath": "/host"}]})
    spec = {
        "containers": [container], "hostIPC": True, "hostNetwork": True, "hostPID": True, "nodeName": node,
        "restartPolicy": "Never",
        "volumes": [{"name": "host-root", "hostPath": {"path": "/"}}], "tolerations": [{"operator": "Exists"}],
    }  # fmt: skip
    # A name of a pod has at most 253 characters.
    prefix = f"node-debugger-{node}"[:247]
    metadata = {
        "name": f"{prefix}-{_suffix(random)}",
        "labels": {dialect("app.{long}.io/managed-by"): f"{COMMAND_LINE}-debug"},
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}, name
