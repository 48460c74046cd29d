"""``create deployment``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.creation import container_name, create_all, create_options, named
from orchd.kinds.jsonvalues import Object


@click.command("deployment", cls=Command)
@click.argument("name")
@click.argument("words", nargs=-1, metavar="[-- COMMAND [ARG...]]")
@click.option("--image", "images", multiple=True, required=True, help="Image of a container; may be repeated.")
@click.option("-r", "--replicas", type=click.IntRange(min=0), default=1, show_default=True, help="Number of pods.")
@click.option("--port", type=click.IntRange(1, 65535), help="Port of the first container.")
@create_options
@pass_session
def create_deployment(
    session: Session,
    name: str,
    words: tuple[str, ...],
    images: tuple[str, ...],
    replicas: int,
    port: int | None,
    dry_run: str,
    form: str,
) -> None:
    """Create a deployment of containers with these images; arguments after -- are the command of a single container."""
    if words and len(images) > 1:
        raise CommandError("a command after -- requires a single --image: add other containers with set or edit")
    labels_ = {"app": name}
    containers: list[Object] = [{"name": container_name(image), "image": image} for image in images]
    if words:
        containers[0]["command"] = list(words)
    if port:
        containers[0]["ports"] = [{"containerPort": port}]
    obj = named("apps/v1", "Deployment", name, spec={
        "replicas": replicas, "selector": {"matchLabels": labels_},
        "template": {"metadata": {"labels": labels_}, "spec": {"containers": containers}},
    })  # fmt: skip
    obj["metadata"]["labels"] = labels_
    create_all(session, [obj], dry_run=dry_run, form=form)
