"""``version``: versions of this program and of the server."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version as installed
from typing import Any

import click

from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session, pass_session
from orchd.ctl.command import Command
from orchd.ctl.printing import output
from orchd.kinds.jsonvalues import Object


@click.command(cls=Command)
@click.option("--client", "client_only", is_flag=True, help="The version of this program only.")
@click.option("-o", "--output", "form", type=click.Choice(["", "yaml", "json"]), default="", help="yaml or json.")
@click.option("--short", is_flag=True, expose_value=False, hidden=True, help="Always on.")
@pass_session
def version(session: Session, client_only: bool, form: str) -> None:
    """Print the versions of this program and of the server."""
    number = installed("orchd")
    major, _, rest = number.partition(".")
    client = {
        "major": major, "minor": rest.partition(".")[0], "gitVersion": f"v{number}",
        "compiler": sys.implementation.name, "platform": f"{sys.platform}/{platform.machine()}",
    }  # fmt: skip
    versions: dict[str, Any] = {"clientVersion": client}

    async def work(api: Api) -> Object:
        response: Object = await api.document("/version")
        return response

    if not client_only:
        versions["serverVersion"] = session.run(work)
    if form:
        output.document(output.yaml_text(versions) if form == "yaml" else output.json_text(versions), form)
        return
    output.line(f"Client Version: {client['gitVersion']}")
    if not client_only:
        output.line(f"Server Version: {versions['serverVersion'].get('gitVersion')}")
