"""``create role``."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.errors import CommandError
from orchd.ctl.objects.rbac import create_rbac, role_options, rules_of


@click.command("role", cls=Command)
@click.argument("name")
@role_options
@pass_session
def create_role(
    session: Session,
    name: str,
    verbs: tuple[str, ...],
    resources: tuple[str, ...],
    names: tuple[str, ...],
    dry_run: str,
    form: str,
) -> None:
    """Create a role that allows verbs on types."""
    if not resources or not verbs:
        raise CommandError("a role needs --verb and --resource")
    create_rbac(session, "Role", name, dry_run, form, lambda api: rules_of(api, verbs, resources, names))
