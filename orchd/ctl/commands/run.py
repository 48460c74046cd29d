"""``run``: creates a pod, and attaches to it."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.flags import DURATION, key_values, save_config_option, write_options
from orchd.ctl.objects.creation import create_one
from orchd.ctl.objects.deletion import note_deleted
from orchd.ctl.objects.local_patches import overridden, override_type
from orchd.ctl.objects.targets import target_of
from orchd.ctl.printing import output
from orchd.ctl.printing.forms import form_option
from orchd.ctl.streams.standard_streams import attach_when_running
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command, context_settings={"allow_interspersed_args": True})
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- ARG...]")
@click.option("--image", required=True, help="Image of the container.")
@click.option(
    "--env", "variables", multiple=True, metavar="KEY=VALUE", help="A variable of the container; may be repeated."
)
@click.option("-l", "--labels", default="", metavar="KEY=VALUE,...", help="Labels of the pod; default: run=NAME.")
@click.option(
    "--annotations", "notes", multiple=True, metavar="KEY=VALUE", help="An annotation of the pod; may be repeated."
)
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the container.")
@click.option("--expose", is_flag=True, help="Create a service for --port as well.")
@click.option(
    "--restart",
    type=click.Choice(["Always", "OnFailure", "Never"]),
    default="Always",
    show_default=True,
    help="Restart policy of the container.",
)
@click.option(
    "--image-pull-policy",
    type=click.Choice(["", "Always", "IfNotPresent", "Never"]),
    default="",
    help="Image pull policy.",
)
@click.option(
    "--command", "is_command", is_flag=True, help="The arguments after -- are the command instead of its arguments."
)
@click.option("--privileged", is_flag=True, help="Run the container in privileged mode.")
@click.option("--overrides", default="", metavar="JSON", help="Fields of the pod, as a patch.")
@override_type
@click.option("-q", "--quiet", is_flag=True, help="Print nothing but what the container prints.")
@click.option(
    "--leave-stdin-open", is_flag=True, help="The container's input stays open when the first one attached leaves."
)
@click.option("-i", "--stdin", "stdin", is_flag=True, help="Keep standard input open, and attach.")
@click.option("-t", "--tty", is_flag=True, help="Allocate a terminal.")
@click.option("--attach", is_flag=True, default=None, help="Attach to the container; default with -i.")
@click.option("--rm", "remove", is_flag=True, help="Delete the pod when the attached container has ended.")
@click.option(
    "--pod-running-timeout", type=DURATION, default=60.0, help="Maximum wait for the pod before attaching; default 1m."
)
@write_options
@save_config_option
@form_option
@pass_session
def run(
    session: Session,
    /,
    name: str,
    words: tuple[str, ...],
    image: str,
    stdin: bool,
    tty: bool,
    attach: bool | None,
    remove: bool,
    dry_run: str,
    form: str,
    **flags: Any,
) -> int:
    """Create a pod with one container, and with -i or --attach attach to it."""
    follow = stdin if attach is None else attach
    if remove and not follow:
        raise CommandError("--rm needs -i or --attach: nothing is followed whose end could be waited for")
    if follow and dry_run != "none":
        raise CommandError("--dry-run makes no pod to attach to: leave out -i and --attach")
    if tty and not stdin:
        raise CommandError("-t needs -i: the terminal's input goes to the container")
    if flags["expose"] and not flags["port"]:
        raise CommandError("--expose needs --port: the port of the service")
    pod = overridden(
        _pod(name, image, words, stdin=stdin, tty=tty, **flags), flags["overrides"], flags["override_type"]
    )

    async def work(api: Api) -> int:
        if flags["expose"]:
            ports = [{"port": flags["port"], "targetPort": flags["port"], "protocol": "TCP"}]
            spec = {"selector": pod["metadata"]["labels"], "ports": ports}
            service = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}
            await create_one(api, session, service, form=form, dry_run=dry_run)
            if form and form not in ("name",):
                output.line("---")
        if not follow:
            await create_one(api, session, pod, form=form, dry_run=dry_run)
            return 0
        target = await target_of(api, pod)
        created = await api.create(target.resource, pod, namespace=target.namespace)
        try:
            return await attach_when_running(api, target, name, flags["pod_running_timeout"], stdin=stdin, tty=tty)
        finally:
            if remove:
                uid = {"preconditions": {"uid": created["metadata"]["uid"]}}
                await api.delete(target.resource, target.name, target.namespace, uid, {})
                if not flags["quiet"]:
                    note_deleted(api, target)

    return session.run(work)


def _pod(
    name: str, image: str, words: tuple[str, ...], *, variables: tuple[str, ...], labels: str, notes: tuple[str, ...],
    port: int | None, restart: str, image_pull_policy: str, is_command: bool, privileged: bool, stdin: bool, tty: bool,
    leave_stdin_open: bool, **_: Any,
) -> Object:  # fmt: skip
    container: Object = {"name": name, "image": image}
    if words:
        container["command" if is_command else "args"] = list(words)
    if variables:
        for each in variables:
            if not each.partition("=")[0] or "=" not in each:
                raise CommandError(f"--env={each}: write --env=KEY=VALUE")
        container["env"] = [dict(zip(("name", "value"), each.split("=", 1), strict=True)) for each in variables]
    if port:
        container["ports"] = [{"containerPort": port}]
    if image_pull_policy:
        container["imagePullPolicy"] = image_pull_policy
    if privileged:
        container["securityContext"] = {"privileged": True}
    if stdin:
        container |= {"stdin": True, "stdinOnce": not leave_stdin_open, "tty": tty}
    metadata: Object = {"name": name, "labels": key_values(labels, "--labels") or {"run": name}}
    annotations = {key: value for each in notes for key, value in key_values(each, "--annotations").items()}
    if annotations:
        metadata["annotations"] = annotations
    spec = {"containers": [container], "restartPolicy": restart}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
