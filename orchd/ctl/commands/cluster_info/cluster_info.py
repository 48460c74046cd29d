"""``cluster-info``: addresses of the server."""

from __future__ import annotations

import click

from orchd.ctl.cluster import configuration
from orchd.ctl.cluster.api import Api
from orchd.ctl.cluster.session import Session
from orchd.ctl.command import Group
from orchd.ctl.printing import output
from orchd.dialect import COMMAND_LINE
from orchd.errors import ApiError


@click.group("cluster-info", cls=Group, invoke_without_command=True)
@click.pass_context
def cluster_info(context: click.Context) -> None:
    """Print the addresses of the server and of cluster services."""
    if context.invoked_subcommand is not None:
        return
    session = context.find_object(Session)
    assert session is not None, "the program puts it there"
    server = configuration.load(session.flags, session.environment).server.rstrip("/")

    async def work(api: Api) -> None:
        dialect = await api.dialect()
        output.line(f"Control plane is running at {server}")
        services = await api.discovery.find("services")
        mark = dialect("{long}.io/cluster-service")
        query = {"labelSelector": f"{mark}=true"}
        try:
            listed = await api.list(services, everywhere=True, query=query)
        except ApiError as error:
            if error.code != 403:
                raise
            listed = {}
        for each in listed.get("items") or ():
            metadata = each["metadata"]
            name = (metadata.get("labels") or {}).get(dialect("{long}.io/name")) or metadata["name"]
            ports = each["spec"].get("ports") or ()
            port = f":{ports[0].get('name') or ports[0]['port']}" if ports else ""
            path = f"/api/v1/namespaces/{metadata['namespace']}/services/{metadata['name']}{port}/proxy"
            output.line(f"{name} is running at {server}{path}")
        output.line()
        output.line(
            f"To look further: {COMMAND_LINE} get --raw='/readyz?verbose', {COMMAND_LINE} events -A, "
            f"{COMMAND_LINE} get nodes."
        )

    session.run(work)
