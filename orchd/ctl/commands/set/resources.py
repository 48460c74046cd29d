"""``set resources``: requests and limits of containers."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options
from orchd.ctl.objects.pod_templates import Edit, matching_containers
from orchd.ctl.objects.targets import Target
from orchd.kinds.jsonvalues import Object


def _quantities(text: str, flag: str) -> dict[str, str]:
    out = {}
    for part in filter(None, text.split(",")):
        name, mark, value = part.partition("=")
        if not mark or not name or not value:
            raise CommandError(f"{flag}={text}: write {flag}=cpu=200m,memory=512Mi")
        out[name] = value
    return out


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option(
    "-c", "--containers", "pattern", default="*", show_default=True, help="Containers; * stands for any text."
)
@click.option("--limits", default="", metavar="NAME=QUANTITY,...", help="What containers may use at most.")
@click.option("--requests", default="", metavar="NAME=QUANTITY,...", help="What containers are given.")
@set_options
@pass_session
def resources(
    session: Session, /, words: tuple[str, ...], pattern: str, limits: str, requests: str, **flags: Any
) -> None:
    """Set requests and limits of containers."""
    amounts = {"limits": _quantities(limits, "--limits"), "requests": _quantities(requests, "--requests")}
    if not any(amounts.values()):
        raise CommandError("which resources? Give --limits, --requests or both")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            for container in matching_containers(obj, pattern, target):
                now = container.setdefault("resources", {})
                for field, values in amounts.items():
                    if values:
                        now[field] = {**(now.get(field) or {}), **values}

        return work

    change_selected(session, list(words), flags, edit, "resource requirements")
