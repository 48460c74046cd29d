"""``create clusterrolebinding``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.rbac import binding_options, create_rbac, subjects_of


@click.command("clusterrolebinding", cls=Command)
@click.argument("name")
@click.option("--clusterrole", required=True, help="The cluster role.")
@binding_options
@pass_session
def create_cluster_role_binding(
    session: Session,
    name: str,
    clusterrole: str,
    users: tuple[str, ...],
    groups: tuple[str, ...],
    accounts: tuple[str, ...],
    dry_run: str,
    form: str,
) -> None:
    """Create a cluster role binding, which grants a cluster role to users, groups and service accounts everywhere."""
    create_rbac(
        session, "ClusterRoleBinding", name, dry_run, form, None,
        roleRef={"kind": "ClusterRole", "name": clusterrole}, subjects=subjects_of(users, groups, accounts),
    )  # fmt: skip
