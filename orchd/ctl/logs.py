"""``logs``: what containers of a pod have written."""

from __future__ import annotations

import click

from orchd.client import paths
from orchd.client.interfaces import IByteStream, Object
from orchd.client.requests import Call
from orchd.ctl import output
from orchd.ctl.api import Api
from orchd.ctl.command import DURATION, Command
from orchd.ctl.discovery import Resource
from orchd.ctl.errors import CommandError
from orchd.ctl.session import Session, pass_session
from orchd.ctl.targets import Target, parse_targets


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="POD | TYPE/NAME")
@click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default.")
@click.option("--all-containers", is_flag=True, help="One container after the other.")
@click.option("-f", "--follow", is_flag=True, help="Go on until the container ends.")
@click.option("-p", "--previous", is_flag=True, help="The container's run before this one.")
@click.option("--since", type=DURATION, help="Only lines of this last time.")
@click.option("--since-time", default="", metavar="TIME", help="Only lines since a time such as 2024-01-31T10:00:00Z.")
@click.option("--prefix", is_flag=True, help="Pod and container in front of every line.")
@click.option("--tail", type=int, default=-1, help="Only so many lines from the end.")
@click.option("--limit-bytes", type=click.IntRange(min=1), help="At most so many bytes.")
@click.option("--timestamps", is_flag=True, help="The time in front of every line.")
@click.option("-l", "--selector", default="", help="All pods that this label selector chooses.")
@pass_session
def logs(
    session: Session, words: tuple[str, ...], container: str, all_containers: bool, follow: bool, previous: bool,
    since: float | None, since_time: str, prefix: bool, tail: int, limit_bytes: int | None, timestamps: bool, selector: str,
) -> None:
    """Print the log of a pod, of the pod of a deployment or job (TYPE/NAME), or of all pods of a selector."""  # fmt: skip
    query = {
        "follow": "true" if follow else "", "previous": "true" if previous else "",
        "timestamps": "true" if timestamps else "", "sinceSeconds": "" if since is None else str(max(1, round(since))),
        "tailLines": "" if tail < 0 else str(tail), "limitBytes": "" if limit_bytes is None else str(limit_bytes),
    }  # fmt: skip
    if since is not None and since_time:
        raise CommandError("--since and --since-time cannot be used together: leave out one")
    query["sinceTime"] = since_time
    given = {key: value for key, value in query.items() if value}
    if container and all_containers:
        raise CommandError("-c and --all-containers cannot be used together: leave out one")

    async def work(api: Api) -> None:
        resource = await api.discovery.find("pods")
        pods = await _pods(api, resource, words, selector)
        if follow and (len(pods) > 1 or all_containers):
            raise CommandError("-f follows one container: name the pod, and the container with -c")
        for pod in pods:
            for name in containers_of(pod, container, all_containers):
                path = paths.item(resource.ref, pod["metadata"]["namespace"], pod["metadata"]["name"], "log")
                stream = await api.stream(Call(method="GET", path=path, query={**given, "container": name}, accept="*/*"))
                mark = f"[pod/{pod['metadata']['name']}/{name}] ".encode() if prefix else b""
                try:
                    await _print(stream, mark)
                finally:
                    stream.close()

    session.run(work)


async def _print(stream: IByteStream, mark: bytes) -> None:
    """Print a log, with `mark` in front of every line."""
    at_start = True
    while (piece := await stream.next()) is not None:
        if mark:
            ended = piece.endswith(b"\n")
            body = piece[:-1] if ended else piece
            marked = body.replace(b"\n", b"\n" + mark)
            piece = (mark if at_start else b"") + marked + (b"\n" if ended else b"")
            at_start = ended
        output.raw(piece)


async def _pods(api: Api, resource: Resource, words: tuple[str, ...], selector: str) -> list[Object]:
    if selector:
        if words:
            raise CommandError("give pods by name or by selector, not both")
        found = await pods_of(api, selector)
        if not found:
            raise CommandError(f"no pods with {selector} in namespace {api.namespace}")
        return found
    if not words:
        raise CommandError("which pod? Give its name, TYPE/NAME, or a selector with -l")
    if len(words) == 1:
        return [await pod_named(api, resource, words[0])]
    targets = await parse_targets(api, words)
    return [await pod_of(api, target, resource) for target in targets]


async def pod_named(api: Api, pods: Resource, word: str) -> Object:
    """The pod of POD or TYPE/NAME. Raises ApiError and CommandError."""
    if "/" not in word:
        return await api.get(pods, word)
    [target] = await parse_targets(api, [word])
    return await pod_of(api, target, pods)


async def pods_of(api: Api, selector: str) -> list[Object]:
    """Pods by name."""
    pods = await api.discovery.find("pods")
    listed = await api.list(pods, query={"labelSelector": selector})
    return sorted(listed.get("items") or (), key=lambda pod: pod["metadata"]["name"])


async def pod_of(api: Api, target: Target, pods: Resource) -> Object:
    """A pod itself, or one of those that an object's selector chooses; running ones first."""
    obj = await api.get(target.resource, target.name, target.namespace)
    if target.resource.kind == "Pod" and not target.resource.group:
        return obj
    selector = selector_of(obj)
    if not selector:
        raise CommandError(f"{target.label} has no pods: name a pod")
    found = await pods_of(api, selector)
    if not found:
        raise CommandError(f"{target.label} has no pods yet: see its events with describe")
    return min(found, key=lambda pod: (pod.get("status") or {}).get("phase") != "Running")


def selector_of(obj: Object) -> str:
    """The label selector of a workload as text; "" without one."""
    selector = (obj.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels") if "matchLabels" in selector or "matchExpressions" in selector else selector
    parts = [f"{key}={value}" for key, value in sorted((labels or {}).items())]
    for each in selector.get("matchExpressions") or ():
        key, values = each["key"], ",".join(each.get("values") or ())
        forms = {"In": f"{key} in ({values})", "NotIn": f"{key} notin ({values})", "Exists": key, "DoesNotExist": f"!{key}"}
        parts.append(forms[each["operator"]])
    return ",".join(parts)


def containers_of(pod: Object, container: str, every: bool) -> list[str]:
    """Names of containers: the given one, all with `every`, else the pod's default. Raises CommandError."""
    spec, metadata = pod["spec"], pod["metadata"]
    names = [each["name"] for key in ("initContainers", "containers", "ephemeralContainers") for each in spec.get(key) or ()]
    if every:
        return names
    if container:
        if container not in names:
            raise CommandError(f"container {container} is not in pod {metadata['name']}: it has {', '.join(names)}")
        return [container]
    own = [each["name"] for each in spec["containers"]]
    chosen = [
        value for key, value in (metadata.get("annotations") or {}).items() if key.endswith("/default-container") and value in own
    ]
    if not chosen and len(own) > 1:
        click.echo(f"Defaulted container {own[0]} of: {', '.join(names)}", err=True)
    return chosen[:1] or own[:1]
