"""``create rolebinding``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.rbac import binding_options, create_rbac, subjects_of


@click.command("rolebinding", cls=Command)
@click.argument("name")
@click.option("--role", default="", help="A role of the namespace.")
@click.option("--clusterrole", default="", help="A cluster role, for this namespace.")
@binding_options
@pass_session
def create_role_binding(
    session: Session,
    name: str,
    role: str,
    clusterrole: str,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    accounts: tuple[str, ...],
    dry_run: str,
    form: str,
) -> None:
    """Create a role binding, which grants a role to users, groups and service accounts in a namespace."""
    if bool(role) == bool(clusterrole):
        raise CommandError("give --role or --clusterrole, and not both")
    reference = {"kind": "Role" if role else "ClusterRole", "name": role or clusterrole}
    create_rbac(
        session,
        "RoleBinding",
        name,
        dry_run,
        form,
        None,
        roleRef=reference,
        subjects=subjects_of(users, groups, accounts),
    )
