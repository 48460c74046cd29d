"""``set image``."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options, split_pairs
from orchd.ctl.objects.pod_templates import Edit, matching_containers
from orchd.ctl.objects.targets import Target
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME CONTAINER=IMAGE...")
@set_options
@pass_session
def image(session: Session, /, words: tuple[str, ...], **flags: Any) -> None:
    """Set images of containers; * is every container."""
    objects, images = split_pairs(words)
    if not images or not all(images.values()):
        raise CommandError("which image? Write CONTAINER=IMAGE, or *=IMAGE for all containers")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            for name, value in images.items():
                for container in matching_containers(obj, name, target):
                    container["image"] = value

        return work

    change_selected(session, objects, flags, edit, "image")
