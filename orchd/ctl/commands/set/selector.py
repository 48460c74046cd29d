"""``set selector``: the selector of a service."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options
from orchd.ctl.objects.pod_templates import Edit
from orchd.ctl.objects.targets import Target
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="service NAME | service/NAME KEY=VALUE,...")
@click.option("--resource-version", "version", default="", help="Only if the object has this version.")
@set_options
@pass_session
def selector(session: Session, /, words: tuple[str, ...], version: str, **flags: Any) -> None:
    """Replace the selector of a service."""
    if not words or (len(words) < 2 and not flags["files"]):
        raise CommandError("which selector? Write service NAME KEY=VALUE,KEY=VALUE")
    labels = {}
    for part in words[-1].split(","):
        key, mark, value = part.partition("=")
        if not mark or not key:
            raise CommandError(f"{words[-1]!r}: a service's selector is KEY=VALUE,KEY=VALUE")
        labels[key] = value

    def edit(target: Target) -> Edit:
        if target.resource.kind != "Service":
            raise CommandError(f"{target.label}: only selectors of services can be changed")

        def work(obj: Object) -> None:
            current = obj["metadata"].get("resourceVersion", "")
            if version and current != version:
                raise CommandError(f"{target.label} has version {current}, not {version}: read it again")
            obj["spec"]["selector"] = labels

        return work

    change_selected(session, list(words[:-1]), flags, edit, "selector")
