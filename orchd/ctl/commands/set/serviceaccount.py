"""``set serviceaccount``."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options
from orchd.ctl.objects.pod_templates import Edit, pod_template
from orchd.ctl.objects.targets import Target
from orchd.kinds.jsonvalues import Object


@click.command("serviceaccount", cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME SERVICEACCOUNT")
@set_options
@pass_session
def service_account(session: Session, /, words: tuple[str, ...], **flags: Any) -> None:
    """Set the service account of a pod template."""
    if not words or (len(words) < 2 and not flags["files"]):
        raise CommandError("which service account? Write TYPE NAME SERVICEACCOUNT")

    def edit(target: Target) -> Edit:
        def work(obj: Object) -> None:
            spec = pod_template(obj).setdefault("spec", {})
            spec["serviceAccountName"] = words[-1]
            # The deprecated name of the same field: both are served, and must agree.
            spec["serviceAccount"] = words[-1]

        return work

    change_selected(session, list(words[:-1]), flags, edit, "serviceaccount")
