"""``logs``: prints the logs of containers."""

from __future__ import annotations

import click

from orchd.client import paths
from orchd.client.interfaces import IByteStream
from orchd.client.requests import Call
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.discovery import Resource
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError, explain_api_error
from orchd.ctl.flags import DURATION
from orchd.ctl.objects.pods import containers_of, pod_named, pod_of, pod_wait_option, pods_of
from orchd.ctl.objects.targets import parse_targets
from orchd.ctl.printing import output
from orchd.errors import ApiError
from orchd.kinds.jsonvalues import Object
from orchd.txkit.for_each import for_each

#: Lines of each log that are printed for a selector, and bytes of a line after which its beginning is printed.
_TAIL_OF_SELECTOR, _LONG_LINE = 10, 1024 * 1024


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="POD [CONTAINER] | TYPE/NAME")
@click.option("-c", "--container", default="", help="Container; default: the only one, or the pod's default.")
@click.option(
    "--all-containers", is_flag=True, help="Logs of all containers: one after the other, or with -f all at once."
)
@click.option("-f", "--follow", is_flag=True, help="Follow the log until the container ends.")
@click.option("-p", "--previous", is_flag=True, help="Log of the container's previous run.")
@click.option("--since", type=DURATION, help="Only lines of this past duration.")
@click.option("--since-time", default="", metavar="TIME", help="Only lines since a time such as 2024-01-31T10:00:00Z.")
@click.option("--prefix", is_flag=True, help="Prefix every line with pod and container.")
@click.option(
    "--tail", type=click.IntRange(min=-1), help="Number of lines from the end; default all, with a selector 10."
)
@click.option("--limit-bytes", type=click.IntRange(min=1), help="Maximum number of bytes.")
@click.option("--timestamps", is_flag=True, help="Prefix every line with its time.")
@click.option("-l", "--selector", default="", help="Logs of all pods that match this label selector.")
@click.option(
    "--max-log-requests",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="With -f: maximum number of logs that are followed at once.",
)
@click.option("--ignore-errors", is_flag=True, help="Continue with other logs when one cannot be read.")
@click.option(
    "--insecure-skip-tls-verify-backend",
    "insecure_backend",
    is_flag=True,
    help="The server need not check the certificate of the node.",
)
@pod_wait_option
@pass_session
def logs(
    session: Session,
    words: tuple[str, ...],
    container: str,
    all_containers: bool,
    follow: bool,
    previous: bool,
    since: float | None,
    since_time: str,
    prefix: bool,
    tail: int | None,
    limit_bytes: int | None,
    timestamps: bool,
    selector: str,
    max_log_requests: int,
    ignore_errors: bool,
    insecure_backend: bool,
    pod_wait: float,
) -> None:
    """Print the log of a pod, of the pod of a deployment or job (TYPE/NAME), or of all pods of a selector."""
    if tail is None and selector:
        tail = _TAIL_OF_SELECTOR
    query = {
        "follow": "true" if follow else "", "previous": "true" if previous else "",
        "insecureSkipTLSVerifyBackend": "true" if insecure_backend else "", "timestamps": "true" if timestamps else "",
        "sinceSeconds": "" if since is None else str(max(1, round(since))),
        "tailLines": "" if tail in (None, -1) else str(tail),
        "limitBytes": "" if limit_bytes is None else str(limit_bytes),
    }  # fmt: skip
    if since is not None and since_time:
        raise CommandError("--since and --since-time cannot be used together: leave out one")
    query["sinceTime"] = since_time
    parameters = {key: value for key, value in query.items() if value}
    if container and all_containers:
        raise CommandError("-c and --all-containers cannot be used together: leave out one")

    if len(words) == 2 and not container and "/" not in words[0] and "," not in words[0]:
        # POD CONTAINER, as users of similar programs write it.
        container, words = words[1], words[:1]

    async def work(api: Api) -> None:
        resource = await api.discovery.find("pods")
        pods = await _pods(api, resource, words, selector, pod_wait)
        chosen = [(pod, name) for pod in pods for name in containers_of(pod, container, all_containers)]
        if follow and len(chosen) > max_log_requests:
            raise CommandError(
                f"{len(chosen)} logs would be followed at once: allow it with --max-log-requests={len(chosen)}"
            )
        several = len(chosen) > 1

        async def show(item: tuple[Object, str]) -> None:
            pod, name = item
            path = paths.item(resource.ref, pod["metadata"]["namespace"], pod["metadata"]["name"], "log")
            mark = output.printable(f"[pod/{pod['metadata']['name']}/{name}] ").encode() if prefix else b""
            try:
                stream = await api.stream(
                    Call(method="GET", path=path, query={**parameters, "container": name}, accept="*/*")
                )
                try:
                    await _print(stream, mark, whole_lines=several and follow)
                finally:
                    stream.close()
            except ApiError as error:
                if not ignore_errors:
                    raise
                output.note(f"error: {explain_api_error(error)}")

        # Logs that are followed never end, so that all of them are read at once.
        await for_each(chosen, show, at_once=len(chosen) if follow and chosen else 1)

    session.run(work)


async def _print(stream: IByteStream, mark: bytes, *, whole_lines: bool) -> None:
    """Print a log, with `mark` in front of every line. With `whole_lines` nothing is printed before its line has ended,
    unless the line is very long: lines of several logs do not get mixed up."""
    at_start, rest = True, b""
    while (piece := await stream.next()) is not None:
        if whole_lines:
            rest += piece
            end = rest.rfind(b"\n") + 1 or (len(rest) if len(rest) > _LONG_LINE else 0)
            piece, rest = rest[:end], rest[end:]
        at_start = _print_piece(piece, mark, at_start)
    _print_piece(rest + b"\n" if rest else b"", mark, at_start)


def _print_piece(piece: bytes, mark: bytes, at_start: bool) -> bool:
    """Print a part of a log; does what comes next begin a line?"""
    if not piece:
        return at_start
    ended = piece.endswith(b"\n")
    if mark:
        body = piece[:-1] if ended else piece
        piece = (mark if at_start else b"") + body.replace(b"\n", b"\n" + mark) + (b"\n" if ended else b"")
    output.raw(piece)
    return ended


async def _pods(api: Api, resource: Resource, words: tuple[str, ...], selector: str, seconds: float) -> list[Object]:
    if selector:
        if words:
            raise CommandError("give pods by name or by selector, not both")
        pods = await pods_of(api, selector)
        if not pods:
            output.note(f"No resources found in {api.namespace} namespace.")
        return pods
    if not words:
        raise CommandError("which pod? Give its name, TYPE/NAME, or a selector with -l")
    if len(words) == 1:
        return [await pod_named(api, resource, words[0], seconds)]
    targets = await parse_targets(api, words)
    return [await pod_of(api, target, seconds) for target in targets]
