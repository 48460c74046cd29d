"""``set subject``: subjects of role bindings."""

from __future__ import annotations

from typing import Any

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.field_changes import change_selected, set_options
from orchd.ctl.objects.pod_templates import Edit
from orchd.ctl.objects.rbac import subjects_of
from orchd.ctl.objects.targets import Target
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.argument("words", nargs=-1, metavar="TYPE NAME | TYPE/NAME")
@click.option("--user", "users", multiple=True, help="A user; may be repeated.")
@click.option("--group", "groups", multiple=True, help="A group; may be repeated.")
@click.option(
    "--serviceaccount", "accounts", multiple=True, metavar="NAMESPACE:NAME", help="A service account; may be repeated."
)
@set_options
@pass_session
def subject(
    session: Session,
    /,
    words: tuple[str, ...],
    users: tuple[str, ...],
    groups: tuple[str, ...],
    accounts: tuple[str, ...],
    **flags: Any,
) -> None:
    """Add users, groups and service accounts to role bindings and cluster role bindings."""
    added = subjects_of(users, groups, accounts)
    if not added:
        raise CommandError("which subjects? Give --user, --group or --serviceaccount")

    def edit(target: Target) -> Edit:
        if target.resource.kind not in ("RoleBinding", "ClusterRoleBinding"):
            raise CommandError(f"{target.label}: only role bindings and cluster role bindings have subjects")

        def work(obj: Object) -> None:
            present = list(obj.get("subjects") or ())
            identities = {(each["kind"], each.get("namespace", ""), each["name"]) for each in present}
            for each in added:
                if (each["kind"], each.get("namespace", ""), each["name"]) in identities:
                    continue
                group = {} if each["kind"] == "ServiceAccount" else {"apiGroup": target.resource.group}
                present.append({**group, **each})
            obj["subjects"] = present

        return work

    change_selected(session, list(words), flags, edit, "subjects")
