"""``api-versions``: groups and versions of the server."""

from __future__ import annotations

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.printing import output


@click.command("api-versions", cls=Command)
@pass_session
def api_versions(session: Session) -> None:
    """Print all versions of all groups, as apiVersion names them."""

    async def work(api: Api) -> None:
        api.discovery.forget()
        groups = await api.discovery.groups()
        core = (await api.document("/api")).get("versions") or ()
        for text in sorted(f"{name}/{each}" for name, (_, versions) in groups.items() for each in versions):
            output.line(text)
        for each in core:
            output.line(each)

    session.run(work)
