"""``kustomize``: prints the objects of a kustomization."""

from __future__ import annotations

import click

from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.objects.kustomizations import build
from orchd.ctl.printing import output


@click.command(cls=Command)
@click.argument("folder", default=".", metavar="[DIR | URL]")
@pass_session
def kustomize(session: Session, folder: str) -> None:
    """Print the objects that the program kustomize, which must be installed, builds from a folder or URL."""
    output.document(build(session, folder), "yaml")
